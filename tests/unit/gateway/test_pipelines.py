"""Ingest pipelines: two on the node for each of a client's, and nothing in them that reaches out."""

from __future__ import annotations

import orjson
import pytest

from esproxy.exchange import Need
from tests.unit.gateway.test_scripts import Played
from tests.unit.gateway.whole import ask, gateway, refused, sent

DONE = {"acknowledged": True}


@pytest.fixture
def gate():
    return gateway("opensearch")


def test_pipeline_is_kept_inside_one_that_knows_the_tenant(gate):
    moved = {"set": {"field": "_index", "value": "zenith.a"}}
    body = {"processors": [{"pipeline": {"name": "q"}}, {"script": {"id": "s"}}, moved]}
    played = Played(ask(gate, "PUT", "/_ingest/pipeline/p", body), DONE, DONE)
    inner, outer = played.sends
    assert (inner.target, outer.target) == (b"/_ingest/pipeline/acme~p", b"/_ingest/pipeline/acme.p")
    kept = orjson.loads(inner.body)["processors"]
    assert kept == [{"pipeline": {"name": "acme~q"}}, {"script": {"id": "acme.s"}}, moved]
    take, run, put = orjson.loads(outer.body)["processors"]
    assert run == {"pipeline": {"name": "acme~p"}} and take["script"]["params"] == put["script"]["params"] == {"p": "acme."}
    assert "ignore_failure" not in outer.body.decode() and "on_failure" not in outer.body.decode()


def test_pipeline_that_the_node_refuses_is_not_run(gate):
    error = {"error": {"type": "parse_exception", "reason": "pipeline [acme~p] is wrong"}, "status": 400}
    played = Played(ask(gate, "PUT", "/_ingest/pipeline/p", {"processors": []}), (400, error))
    assert played.reply.status == 400 and played.told["error"]["reason"] == "pipeline [p] is wrong"


@pytest.mark.parametrize("kind", ["reroute", "enrich", "inference", "geoip", "set_security_user", "nope", ""])
def test_processor_that_reaches_out_is_refused_however_deep(gate, kind):
    one = {kind: {}}
    for body in (
        {"processors": [one]},
        {"processors": [], "on_failure": [one]},
        {"processors": [{"set": {"field": "a"}, **one}]},
        {"processors": [{"fail": {"on_failure": [one]}}]},
        {"processors": [{"foreach": {"field": "a", "processor": {"foreach": {"field": "b", "processor": one}}}}]},
        {"processors": [{"foreach": {"field": "a", "processor": {"fail": {"on_failure": [one]}}}}]},
    ):
        status, told = refused(gate, "PUT", "/_ingest/pipeline/p", body)
        assert status == 400 and told["error"]["type"] == "parse_exception"
        assert refused(gate, "POST", "/_ingest/pipeline/_simulate", {"pipeline": body, "docs": []})[0] == 400


@pytest.mark.parametrize(
    "body",
    [{"processors": {"set": {}}}, {"processors": [[{"set": {}}]]}, {"processors": ["set"]}, {"processors": [], "on_failure": {}},
     {"processors": [{"pipeline": {"name": 1}}]}, {"processors": [{"user_agent": {"regex_file": "x"}}]}, {"nope": []}],
)  # fmt: skip
def test_pipeline_of_another_form_is_refused(gate, body):
    status, told = refused(gate, "PUT", "/_ingest/pipeline/p", body)
    assert (status, told["error"]["type"]) == (400, "parse_exception")


def test_pipelines_of_a_tenant_are_told_as_it_wrote_them(gate):
    kept = {"processors": [{"pipeline": {"name": "acme~q", "on_failure": [{"script": {"id": "acme.s"}}]}}]}
    step = ask(gate, "GET", "/_ingest/pipeline/p*,q")
    played = Played(step, {"acme~p": kept, "acme.p": {"processors": []}, "zenith~p": {"processors": []}})
    assert played.sends[0].target == b"/_ingest/pipeline/acme~p*,acme~q"
    assert played.told == {"p": {"processors": [{"pipeline": {"name": "q", "on_failure": [{"script": {"id": "s"}}]}}]}}
    assert Played(ask(gate, "GET", "/_ingest/pipeline"), (404, {})).reply.status == 404
    assert Played(ask(gateway(), "GET", "/_ingest/pipeline"), (404, {})).reply.status == 200


def test_both_pipelines_are_deleted_the_one_that_runs_first(gate):
    played = Played(ask(gate, "DELETE", "/_ingest/pipeline/p"), DONE, DONE)
    assert [send.target for send in played.sends] == [b"/_ingest/pipeline/acme.p", b"/_ingest/pipeline/acme~p"]
    error = {"error": {"type": "t", "reason": "pipeline [acme.p] is missing"}, "status": 404}
    assert Played(ask(gate, "DELETE", "/_ingest/pipeline/p"), (404, error), DONE).reply.status == 200
    gone = Played(ask(gate, "DELETE", "/_ingest/pipeline/p"), (404, error), (404, error))
    assert gone.reply.status == 404 and gone.told["error"]["reason"] == "pipeline [p] is missing"
    used = error | {"status": 400}
    assert len(Played(ask(gate, "DELETE", "/_ingest/pipeline/p"), (400, used)).sends) == 1


def test_simulation_is_in_logical_indices(gate):
    step = ask(gate, "POST", "/_ingest/pipeline/p/_simulate?verbose=true", {"docs": [{"_index": "a", "_source": {}}]})
    document = {"_source": {"x": "[acme~q]"}, "_ingest": {"pipeline": "acme~p"}}
    told = {"docs": [{"error": {"reason": "no pipeline [acme~q]"}}, {"doc": document}]}
    played = Played(step, told)
    assert played.sends[0].target == b"/_ingest/pipeline/acme~p/_simulate?verbose=true"
    assert orjson.loads(played.sends[0].body) == {"docs": [{"_index": "a", "_source": {}}]}
    assert played.told["docs"][0]["error"]["reason"] == "no pipeline [q]"
    assert played.told["docs"][1]["doc"] == {"_source": {"x": "[acme~q]"}, "_ingest": {"pipeline": "p"}}


def test_names_of_inside_pipelines_cannot_be_said(gate):
    assert sent(gate, "PUT", "/a/_doc/1?pipeline=acme~p", {}).target == "/acme.a/_doc/1?pipeline=acme.acme~p"
    one = sent(gate, "PUT", "/a", {"settings": {"index.default_pipeline": "acme~p"}})
    assert one.body["settings"]["index.default_pipeline"] == "acme.acme~p"
    assert isinstance(ask(gate, "GET", "/_ingest/pipeline/acme~p"), Need)
    placement = {"layout": "dedicated", "cluster": "main", "separator": "~"}
    assert gateway(placement=placement).tenants.get("acme").names.inside == "acme!"
