"""Each binding, rewriting and verification of `dedicated` switched off is noticed: how good the oracle is, measured."""

from __future__ import annotations

import json
from contextlib import closing, nullcontext

import pytest

from tests.integration.laboratory import Laboratory
from tests.integration.proxy import BUSY, own_clear
from tests.oracle.attack import VICTIM
from tests.oracle.mutants import FAULT, PROBE, UNREACHABLE, VERIFICATIONS, Mutant, anybodys_heads, anybodys_tasks, mutants
from tests.oracle.neighbours import JSON, NDJSON, TENANT

HERE = pytest.mark.placement("dedicated")
BOTH = pytest.mark.placement("dedicated", "shared")


@HERE
@pytest.mark.parametrize("mutant", mutants(), ids=str)
def test_mutant_is_caught(laboratory: Laboratory, mutant: Mutant) -> None:
    assert laboratory.caught_by(mutant) is not None


@HERE
@pytest.mark.parametrize("mutant", VERIFICATIONS, ids=str)
def test_verification_withholds_what_is_not_the_tenants(laboratory: Laboratory, mutant: Mutant) -> None:
    """The fault alone is withheld; without the verification it would have come through."""
    node = laboratory.cluster.neighbours.node
    method, _, target = mutant.first[0].partition(" ")
    body = b"{}" if method == "PUT" else None
    headers = {"content-type": "application/json"} if body else {}
    node.send("PUT", f"/{PROBE}", {}, None)
    try:
        with FAULT.make(), closing(laboratory.app()) as client:
            faulty = client.send(method, target, headers, body)
        with mutant.make(), closing(laboratory.app()) as client:
            through = client.send(method, target, headers, body)
    finally:
        node.send("DELETE", f"/{PROBE}", {}, None)
    assert faulty.status == 500
    assert b"failed verification" in faulty.body
    assert not laboratory.cluster.neighbours.canaries(faulty.everything())
    assert through.status in (200, 201)


@BOTH
def test_request_of_one_tenant_is_no_anothers(laboratory: Laboratory) -> None:
    """What is kept of a head is its tenant's: two tenants ask the same of one proxy."""
    victim = next(one for one in laboratory.cluster.neighbours.all if one.tenant == VICTIM)
    seen = []
    with closing(laboratory.cluster.served.client()) as client:
        assert client.send("PUT", "/books/_doc/1?refresh=true", JSON, b'{"a":{"own":1}}').status in (200, 201)
    for mutated in (False, True):
        with anybodys_heads() if mutated else nullcontext(), closing(laboratory.app()) as client:
            for tenant in (VICTIM, TENANT):
                raw = client.send("POST", "/books/_search", {"x-tenant": tenant, **JSON}, b'{"query":{"match_all":{}}}')
                seen.append(victim.canary.encode() in raw.body)
    with closing(laboratory.cluster.served.client()) as client:
        own_clear(client)
    assert seen == [True, False, True, True]


@HERE
def test_task_of_one_tenant_is_no_anothers(laboratory: Laboratory) -> None:
    """A neighbour's task is not listed, and not cancelled, as it would be where nobody looks whose it is."""
    with closing(laboratory.cluster.served.client(BUSY)) as busy:
        lines = b"".join(b'{"index":{}}\n{"n":%d}\n' % n for n in range(3))
        assert busy.send("POST", "/tasked/_bulk?refresh=true", NDJSON, lines).status == 200
        slow = "wait_for_completion=false&requests_per_second=0.01&scroll_size=1"
        started = busy.send("POST", f"/tasked/_update_by_query?{slow}", {}, None)
        task = json.loads(started.body)["task"]
        try:
            shown, ended = [], []
            for mutated in (False, True):
                with anybodys_tasks() if mutated else nullcontext(), closing(laboratory.app()) as client:
                    listed = client.send("GET", "/_tasks?actions=*byquery&group_by=none", {}, None)
                    shown.append(len(json.loads(listed.body)["tasks"]))
                    client.send("POST", "/_tasks/_cancel?actions=*byquery", {}, None)
                told = busy.send("GET", f"/_tasks/{task}?wait_for_completion={str(mutated).lower()}", {}, None)
                ended.append(json.loads(told.body)["completed"])
        finally:
            busy.send("POST", "/_tasks/_cancel", {}, None)
            busy.send("DELETE", "/tasked", {}, None)
    assert shown == [0, 1]
    assert ended == [False, True]


def test_bindings_that_no_scenario_reaches_are_few_and_told() -> None:
    assert len(UNREACHABLE) <= 12
    assert all(UNREACHABLE.values())
