"""Stored scripts and search templates: whose names they have, what is sent of them, and what a template becomes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.exchange import Answer, Call, Calls, Need, Reply, Send
from tests.unit.gateway.whole import JSON, ask, gateway, refused, sent

NDJSON = [(b"content-type", b"application/x-ndjson")]


@pytest.fixture
def gate():
    return gateway("opensearch")


def _stored(gate, source: str, target: str = "/_scripts/s") -> tuple[str, str]:
    one = sent(gate, "PUT", target, {"script": {"lang": "painless", "source": source}})
    return one.target, one.body["script"]["source"]


def test_stored_script_has_the_tenants_name(gate):
    assert _stored(gate, "doc['k'].value") == ("/_scripts/acme.s", "doc['k'].value")
    assert _stored(gate, "1", "/_scripts/_none/update") == ("/_scripts/acme._none/update", "1")
    assert sent(gate, "GET", "/_scripts/a,b").target == "/_scripts/acme.a,b"
    assert sent(gate, "POST", "/a/_update/1", {"script": {"id": "_none"}}).body == {"script": {"id": "acme._none"}}


@pytest.mark.parametrize("source", ["doc['_index'].value + 'x'", "ctx._index = 'b'", "if (ctx['_index'] == 'b') {}", "params.a"])
def test_stored_script_comes_back_as_it_was(gate, source):
    written = _stored(gate, source)[1]
    assert (written == source) is ("_index" not in source)
    told = {"_id": "acme.s", "found": True, "script": {"lang": "painless", "source": written}}
    answer = orjson.loads(sent(gate, "GET", "/_scripts/s").answer(told).body)
    assert answer == {"_id": "s", "found": True, "script": {"lang": "painless", "source": source}}


def test_stored_script_that_is_none_is_refused(gate):
    status, body = refused(gate, "PUT", "/_scripts/s", {"script": {"lang": "painless", "source": "doc['_index"}})
    assert status == 400 and body["error"]["type"] == "script_exception"


def test_stored_script_of_another_withholds_the_answer(gate):
    told = {"_id": "zenith.s", "found": True, "script": {"lang": "painless", "source": "1"}}
    assert sent(gate, "GET", "/_scripts/s").answer(told).status in (200, 500)


def test_template_is_stored_as_it_is(gate):
    script = {"lang": "mustache", "source": {"query": {"term": {"_index": "{{i}}"}}}}
    assert sent(gate, "PUT", "/_scripts/t", {"script": script}).body == {"script": script}


class Played:
    """A procedure's calls, answered one after the other."""

    def __init__(self, need: Any, *answers: Any) -> None:
        assert isinstance(need, Need), need
        self.sends: list[Send] = []
        left, value = list(answers), None
        try:
            while True:
                wish = need.procedure.send(value)
                calls = wish.calls if isinstance(wish, Calls) else [wish]
                value = [self._answer(call, left.pop(0)) for call in calls]
                value = value if isinstance(wish, Calls) else value[0]
        except StopIteration as end:
            self.reply: Reply = end.value

    def _answer(self, call: Call, told: Any) -> Answer:
        self.sends.append(call.send)
        status, body = told if isinstance(told, tuple) else (200, told)
        return Answer(status, JSON, body if isinstance(body, bytes) else orjson.dumps(body))

    @property
    def told(self) -> Any:
        return orjson.loads(self.reply.body)


HITS = {"took": 1, "hits": {"hits": [{"_index": "acme.logs", "_id": "1"}]}}


def test_template_is_rendered_then_searched_with(gate):
    lookup = {"query": {"terms": {"k": {"index": "users", "id": "1", "path": "k"}}}}
    step = ask(gate, "POST", "/logs/_search/template?routing=r", {"id": "t", "params": {"a": 1.0}})
    played = Played(step, b'{"template_output":' + orjson.dumps(lookup) + b"}", HITS)
    rendered, search = played.sends
    assert (rendered.target, orjson.loads(rendered.body)) == (b"/_render/template", {"id": "acme.t", "params": {"a": 1.0}})
    assert search.target == b"/acme.logs/_search?routing=r"
    assert orjson.loads(search.body)["query"]["terms"]["k"]["index"] == "acme.users"
    assert played.told["hits"]["hits"][0]["_index"] == "logs" and played.told["status"] == 200


def test_template_without_an_index_is_about_the_tenants(gate):
    played = Played(ask(gate, "POST", "/_search/template", {"source": {}}), {"template_output": {"size": 0}}, HITS)
    assert played.sends[1].target == b"/acme.*/_search"


@pytest.mark.parametrize(
    "made",
    [b"{", b"nothing", b'{"query":{}},"x":{}', b'{"query":{}} {}', b'{"query":{},"query":{}}', b"/* */{}", b'{"nope":1}', b""],
)
def test_what_is_no_search_goes_nowhere(gate, made):
    step = ask(gate, "POST", "/logs/_search/template", {"source": "{{x}}"})
    with pytest.raises(Exception, match=r".") as found:
        Played(step, b'{"template_output":' + made + b"}", HITS)
    assert type(found.value).__name__ == "Refusal"


def test_flags_of_a_template_go_before_the_searchs(gate):
    step = ask(gate, "POST", "/logs/_search/template", {"source": {}, "explain": True, "profile": False})
    played = Played(step, {"template_output": {"explain": False, "size": 1}}, HITS)
    assert orjson.loads(played.sends[1].body) == {"size": 1, "explain": True, "profile": False}


def test_foreign_hit_of_a_template_is_withheld(gate):
    step = ask(gate, "POST", "/logs/_search/template", {"source": {}})
    with pytest.raises(Exception, match="withheld"):
        Played(step, {"template_output": {}}, {"hits": {"hits": [{"_index": "zenith.logs", "_id": "1"}]}})


def test_template_that_is_not_there_is_named_as_the_client_does(gate):
    error = {"error": {"root_cause": [], "type": "resource_not_found_exception", "reason": "unable to find script [acme.t]"}}
    played = Played(ask(gate, "POST", "/logs/_search/template", {"id": "t"}), (404, error))
    assert played.reply.status == 404 and played.told["error"]["reason"] == "unable to find script [t]"


def test_each_of_several_templates_has_an_answer(gate):
    headers = [{"index": "logs"}, {}, {"index": "a"}, {"index": "<a'b>"}]
    templates = [{"id": "t"}, {"source": "{"}, {"source": {}}, {"source": {}}]
    lines = [line for both in zip(headers, templates, strict=True) for line in both]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    error = {"error": {"root_cause": [], "type": "t", "reason": "unable to find script [acme.t]"}, "status": 404}
    fine = {"template_output": {"size": 0}}
    answer = {"took": 2, "responses": [HITS | {"status": 200}]}
    step = ask(gate, "POST", "/_msearch/template", body, NDJSON)
    played = Played(step, (404, error), b'{"template_output":{}', fine, fine, answer)
    assert played.sends[-1].body == b'{"index":["acme.a"]}\n{"size":0}\n'
    told = played.told["responses"]
    assert [one["status"] for one in told] == [404, 400, 200, 400]
    assert told[0]["error"]["reason"] == "unable to find script [t]" and told[2]["hits"]["hits"][0]["_index"] == "logs"
