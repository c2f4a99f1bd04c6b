"""The load's requests: the same for the proxy and for a bare node, whole documents, answers that are looked at."""

from __future__ import annotations

import json
import random
from collections import Counter

import mix
import pytest
from cases import HEADER

TENANTS = ["load-0", "load-1", "load-2"]
DECKS = {name: [mix.deck(tenant, naming) for tenant in TENANTS] for name, naming in mix.NAMINGS.items()}


def test_kinds_are_asked_as_often_as_the_mix_says():
    group_of = {one.kind: group for group, requests in DECKS["proxied"][0].items() for one in requests}
    asked = mix.Mix(DECKS["proxied"], 1)
    groups = Counter(group_of[asked.pick().kind] for _ in range(4000))
    assert {kind: count / 40 for kind, count in groups.items()} == pytest.approx(mix.WEIGHTS, abs=3)
    assert set(group_of) == set(mix.KINDS)


def test_both_targets_are_asked_the_same_but_for_names():
    direct, proxied = (mix.Mix(DECKS[name], 7) for name in ("direct", "proxied"))
    for _ in range(300):
        one, other = direct.pick(), proxied.pick()
        assert (one.kind, one.tenant, one.method) == (other.kind, other.tenant, other.method)
        prefix = mix.by_prefix(one.tenant, "")
        assert (prefix in one.target) != (one.target == "/_bulk")
        assert one.target.replace(prefix, "") == other.target
        assert one.body.replace(prefix.encode(), b"") == other.body
        assert prefix.encode() not in other.body


def test_requests_of_a_deck_are_json_with_ids_and_name_their_tenant():
    for kind, requests in DECKS["direct"][1].items():
        assert len(requests) == mix.DECK[kind]
        for request in requests:
            assert request.headers[HEADER] == "load-1"
            lines = [json.loads(line) for line in request.body.splitlines()]
            if kind == "bulk":
                assert all(line["index"]["_id"] and line["index"]["_index"] == "direct-load-1-logs" for line in lines[::2])
                assert all(line["owner"] == "load-1" for line in lines[1::2])


@pytest.mark.parametrize("index", mix.INDICES)
def test_mapping_has_the_fields_of_documents(index):
    assert mix.MAPPINGS[index].keys() == mix.MAKERS[index]("load-1", 3).keys()


def test_documents_of_tenants_differ():
    assert mix.place("load-1", 3) == mix.place("load-1", 3) != mix.place("load-2", 3)


def test_writes_leave_alone_what_is_read():
    for request in DECKS["proxied"][0]["write"]:
        if request.kind in ("index", "delete"):
            assert int(request.target.rpartition("/")[2]) >= mix.DOCUMENTS


def test_zipf_gives_shares_that_fall_by_its_law():
    zipf, chance = mix.Zipf(1000), random.Random(3)
    drawn = Counter(zipf.pick(chance) for _ in range(40_000))
    assert drawn[0] / drawn[3] == pytest.approx(4**mix.EXPONENT, rel=0.2)
    assert min(drawn) == 0 and max(drawn) < 1000
    assert mix.Zipf(1).pick(chance) == 0


@pytest.mark.parametrize(
    ("kind", "status", "body", "told"),
    [
        ("search", 200, b'{"timed_out":false,"hits":[{"owner":"load-1"}]}', None),
        ("search", 200, b'{"timed_out":false,"hits":[{"owner":"load-2"}]}', "a document of load-2"),
        ("search", 200, b'{"timed_out":true}', "without"),
        ("search", 503, b"{}", "status 503"),
        ("bulk", 200, b'{"errors":true}', "without"),
        ("delete", 404, b"{}", None),
        ("get", 404, b'{"found":false}', "status 404"),
        ("index", 201, b"{}", None),
        ("admin", 201, b"{}", "status 201"),
    ],
)
def test_fault_of_an_answer(kind, status, body, told):
    found = mix.fault(mix.Request(kind, "load-1", "GET", "/"), status, body)
    assert found is None if told is None else found is not None and found.startswith(told)
