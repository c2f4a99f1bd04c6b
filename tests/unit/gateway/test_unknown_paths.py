"""Paths that no endpoint has: the versions of Elasticsearch say so differently."""

import pytest

from esproxy.cluster import Cluster
from esproxy.errors import Refusal
from esproxy.heads import Head
from esproxy.request import understand
from tests.unit.gateway.whole import gateway


def refusal(method: str, target: bytes, number: str) -> Refusal:
    cluster = Cluster("main", "elasticsearch", {"version": {"number": number}})
    with pytest.raises(Refusal) as refused:
        understand(gateway(), Head(method, target, [(b"x-tenant", b"acme")], "127.0.0.1"), cluster)
    return refused.value


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_path_of_two_segments_could_be_posted_to_before_9(method):
    older = refusal(method, b"/books/_nope", "8.19.13")
    assert (older.status, older.headers) == (405, [(b"allow", b"POST")])
    assert refusal(method, b"/books/_nope", "9.4.3").status == 400


@pytest.mark.parametrize(
    ("method", "target", "allowed"),
    [("DELETE", b"/books/_block/write", b"PUT"), ("POST", b"/_cat/count", b"GET"), ("POST", b"/_cat/count/books", b"GET")],
)
def test_method_that_came_with_9_is_none_before(method, target, allowed):
    older = refusal(method, target, "8.19.13")
    assert (older.status, older.headers) == (405, [(b"allow", allowed)])
    assert (
        older.reason == f"Incorrect HTTP method for uri [{target.decode()}] and method [{method}], allowed: [{allowed.decode()}]"
    )
    understand(gateway(), Head(method, target, [(b"x-tenant", b"acme")]), Cluster("main", "elasticsearch", {}))


@pytest.mark.parametrize(("method", "target"), [("POST", b"/books/_nope"), ("GET", b"/books/a/b"), ("GET", b"/a/b/c/d")])
def test_any_other_path_that_is_none_is_unknown_in_all_versions(method, target):
    for number in ("8.19.13", "9.4.3"):
        error = refusal(method, target, number)
        assert error.status == 400
        assert error.reason.startswith("no handler found for uri [")
