import pytest

from esproxy.api.target import build, parse
from esproxy.errors import Refusal


@pytest.mark.parametrize(
    ("raw", "path", "query"),
    [
        (b"/", [], {}),
        (b"/logs/_search/", ["logs", "_search"], {}),
        (b"/logs/_doc/a%2Fb", ["logs", "_doc", "a/b"], {}),
        (b"/logs%252D", ["logs%2D"], {}),
        (b"/a+b", ["a+b"], {}),
        (b"/x?a=1;b=2&c", ["x"], {"a": "1", "b": "2", "c": ""}),
        (b"/x?q=a+b%2Bc", ["x"], {"q": "a b+c"}),
        (b"/x?q=1&q=2", ["x"], {"q": "2"}),
        (b"/x?&&", ["x"], {}),
        (b"/x?a=/?b", ["x"], {"a": "/?b"}),
        (b"//", [], {}),
        (b"/x//y", ["x", "", "y"], {}),
        (b"/x/../y", ["x", "..", "y"], {}),
        (b"/l/_doc/%2e%2e", ["l", "_doc", ".."], {}),
        (b"/l/_doc/a%0Ab", ["l", "_doc", "a\nb"], {}),
    ],
)
def test_parse_takes_apart_once(raw, path, query):
    target = parse(raw)
    assert (target.path, target.query) == (path, query)


@pytest.mark.parametrize(
    "raw",
    [b"x", b"/%zz", b"/a%", b"/a%2", b"/%ff", b"http://h/x", b"/" + b"a" * 5000],
)
def test_parse_refuses_what_could_be_read_twice(raw):
    with pytest.raises(Refusal):
        parse(raw)


@pytest.mark.parametrize("raw", [b"/a/_doc/%2F%3F%23", b"/a?q=%26%3D%3B", b"/%E2%82%AC?x=%20", b"/l/_doc/%2E%2E", b"/l/_doc/%00"])
def test_build_then_parse_is_identity(raw):
    target = parse(raw)
    again = parse(build(target.path, target.query))
    assert (again.path, again.query) == (target.path, target.query)
