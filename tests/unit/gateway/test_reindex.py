"""Copying from index to index, and rating hits: what is read behind the pass."""

from __future__ import annotations

import orjson
import pytest

from esproxy.languages.painless_guard import guarded
from tests.unit.gateway.test_scripts import Played
from tests.unit.gateway.whole import ask, gateway, refused, sent

DONE = {"took": 1, "created": 1, "failures": []}
LOOKUP = {"query": {"terms": {"k": {"index": "users", "id": "1", "path": "k"}}}}
PHYSICAL = {"query": {"terms": {"k": {"index": "acme.users", "id": "1", "path": "k"}}}}


@pytest.fixture
def gate():
    return gateway("opensearch")


def copy(script=None, **dest):
    body = {"source": {"index": ["a", "b*"], **LOOKUP}, "dest": {"index": "c", **dest}}
    return body if script is None else {**body, "script": script}


def test_names_of_a_copy_are_the_tenants(gate):
    failure = {"index": "acme.c", "id": "1", "cause": {"type": "x", "reason": "index [acme.c]"}, "status": 409}
    played = Played(ask(gate, "POST", "/_reindex?refresh=true", copy(pipeline="p")), (409, {**DONE, "failures": [failure]}))
    (call,) = played.sends
    assert call.target == b"/_reindex?refresh=true"
    assert orjson.loads(call.body) == {
        "source": {"index": ["acme.a", "acme.b*"], **PHYSICAL}, "dest": {"index": "acme.c", "pipeline": "acme.p"},
    }  # fmt: skip
    assert played.reply.status == 409 and played.told["failures"][0]["index"] == "c"
    assert played.told["failures"][0]["cause"]["reason"] == "index [c]"


def test_script_is_kept_in_the_tenants_indices(gate):
    source = "ctx['_in' + 'dex'] = 'zenith.books'"
    played = Played(ask(gate, "POST", "/_reindex", copy({"source": source, "params": {"a": 1.0}})), DONE)
    script = orjson.loads(played.sends[0].body)["script"]
    assert script == {"source": guarded(source, "acme."), "lang": "painless", "params": {"a": 1.0}}


def test_stored_script_is_fetched_and_kept_so_too(gate):
    written = sent(gate, "PUT", "/_scripts/s", {"script": {"lang": "painless", "source": "ctx._index = 'x'"}}).body["script"]
    stored = {"_id": "acme.s", "found": True, "script": written}
    played = Played(ask(gate, "POST", "/_reindex", copy({"id": "s", "params": {}})), stored, DONE)
    fetched, call = played.sends
    assert fetched.target == b"/_scripts/acme.s"
    script = orjson.loads(call.body)["script"]
    assert script == {"source": guarded("ctx._index = 'x'", "acme."), "lang": "painless", "params": {}}


@pytest.mark.parametrize(
    "script",
    [{"lang": "expression", "source": "1"}, {"lang": "mustache", "source": "{}"}, {}, {"source": "}"}, {"id": "s", "source": "1"},
     {"id": "s", "lang": "painless"}],
)  # fmt: skip
def test_script_that_cannot_be_kept_goes_nowhere(gate, script):
    with pytest.raises(Exception, match=r".") as found:
        Played(ask(gate, "POST", "/_reindex", copy(script)))
    assert type(found.value).__name__ == "Refusal"


def test_stored_script_that_is_not_there_is_a_404(gate):
    with pytest.raises(Exception, match=r"unable to find script \[s\] in cluster state"):
        Played(ask(gate, "POST", "/_reindex", copy({"id": "s"})), (404, {"_id": "acme.s", "found": False}))


def test_remote_cluster_is_refused(gate):
    body = copy()
    body["source"]["remote"] = {"host": "http://127.0.0.1:9200"}
    assert refused(gate, "POST", "/_reindex", body)[0] == 400


def test_error_quotes_the_clients_script(gate):
    source = guarded("ctx.nope = 1", "acme.")
    stack = ["ctx.nope = 1} String esproxyGiven = ctx._index; String esproxyPrefix = 'acme.'; ", "        ^---- HERE"]
    error = {"type": "script_exception", "reason": "runtime error", "script_stack": stack, "script": source[:256] + " ..."}
    played = Played(ask(gate, "POST", "/_reindex", copy({"source": "ctx.nope = 1"})), (400, {"error": error, "status": 400}))
    assert played.told["error"]["script"] == "ctx.nope = 1" and b"acme." not in played.reply.body


def test_ratings_are_of_the_tenants_documents(gate):
    rated = {"id": "q", "request": LOOKUP, "ratings": [{"_index": "a", "_id": "1", "rating": 1}]}
    hit = {"hit": {"_index": "acme.a", "_id": "1", "_score": 1.0}, "rating": 1}
    details = {"q": {"unrated_docs": [{"_index": "acme.a", "_id": "2"}], "hits": [hit]}}
    told = {"metric_score": 1.0, "details": details, "failures": {}}
    played = Played(ask(gate, "POST", "/a/_rank_eval", {"requests": [rated], "metric": {"recall": {}}}), told)
    sent_body = orjson.loads(played.sends[0].body)["requests"][0]
    assert sent_body["ratings"][0]["_index"] == "acme.a" and sent_body["request"] == PHYSICAL
    assert b"acme." not in played.reply.body
    foreign = {**told, "details": {"q": {"hits": [{"hit": {"_index": "zenith.a", "_id": "1"}}]}}}
    with pytest.raises(Exception, match="withheld"):
        Played(ask(gate, "POST", "/a/_rank_eval", {"requests": [rated], "metric": {"recall": {}}}), foreign)


def test_template_to_rate_is_rendered_and_read(gate):
    asked = {
        "requests": [{"id": "q", "template_id": "t", "params": {"i": "users"}, "ratings": []}],
        "templates": [{"id": "t", "template": {"source": "{{i}}"}}], "metric": {"recall": {}},
    }  # fmt: skip
    made = b'{"template_output":' + orjson.dumps(LOOKUP) + b"}"
    played = Played(ask(gate, "GET", "/_rank_eval", asked), made, {"metric_score": 0.0, "details": {}, "failures": {}})
    rendered, call = played.sends
    assert orjson.loads(rendered.body) == {"source": "{{i}}", "params": {"i": "users"}}
    assert call.target == b"/acme.*/_rank_eval"
    assert orjson.loads(call.body) == {"requests": [{"id": "q", "ratings": [], "request": PHYSICAL}], "metric": {"recall": {}}}


def test_terms_are_of_the_tenants_indices():
    call = sent(gateway("elasticsearch"), "POST", "/a/_terms_enum", {"field": "k", "index_filter": LOOKUP["query"]})
    assert call.target == "/acme.a/_terms_enum" and call.body["index_filter"] == PHYSICAL["query"]
