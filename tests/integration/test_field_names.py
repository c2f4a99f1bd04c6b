"""Names of fields that other tenants have: an attacker who guesses one is answered as if nobody had it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.integration.proxy import SharedCluster
from tests.oracle.answer import Raw
from tests.oracle.client import WireClient
from tests.oracle.neighbours import EVERYTHING
from tests.oracle.positions import INDEX, PAIRS, Asked, asked, victims

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
OWN = {"k": {"type": "keyword"}, "own_": {"properties": {"y": {"type": "long"}}}, "both": {"type": "text"}}
# What is never the same twice, and where a text is cut that shows a script: names in it need not be as long.
VARYING = re.compile(rb'"took":\d+|"_seq_no":\d+|"_?version":\d+|"x":0\.\d+|EString@[0-9a-f]+')
CUT = re.compile(rb'"script_stack":\[[^]]*\]|"position":\{[^}]*\}|"script":"(?:[^"\\]|\\.)*"')


def canary_of(cluster: SharedCluster) -> str:
    return next(one.canary for one in cluster.neighbours.all if one.tenant == EVERYTHING)


def made(client: WireClient, properties: dict[str, Any], document: dict[str, Any]) -> None:
    """An index made like the other's, whatever templates a tenant has, so that it shares its physical one; with fields of its
    own."""
    alike = {"mappings": {"_meta": {"of": "both"}}}
    for target, body in ((f"/{INDEX}", alike), (f"/{INDEX}/_mapping", {"properties": properties})):
        raw = client.send("PUT", target, JSON, json.dumps(body).encode())
        assert raw.status == 200, raw.body
    raw = client.send("PUT", f"/{INDEX}/_doc/1?refresh=true", JSON, json.dumps(document).encode())
    assert raw.status == 201, raw.body


@pytest.fixture(scope="module")
def attacker(cluster: SharedCluster) -> Iterator[WireClient]:
    canary = canary_of(cluster)
    with closing(cluster.served.client(EVERYTHING)) as victim, closing(cluster.served.client()) as own:
        values = {"f_date": f"2024{canary}01", "f_long": 7, "f_word": canary, "f_text": canary, "f_bool": True}
        made(victim, victims(canary), values)
        made(own, OWN, {"k": "red", "own_": {"y": 1}, "both": "two"})
        yield own
        for client in (own, victim):
            assert client.send("DELETE", f"/{INDEX}", {}, None).status == 200


def answer(client: WireClient, one: Asked) -> Raw:
    headers = NDJSON if one.lines else JSON
    return client.send(one.method, one.target, headers if one.payload() else {}, one.payload())


def test_victim_shares_the_attackers_physical_index(cluster: SharedCluster, attacker: WireClient) -> None:
    """Else nothing below would show anything."""
    found = json.loads(cluster.neighbours.node.send("GET", f"/pool~{INDEX}*/_mapping", {}, None).body)
    shared = [told["mappings"]["properties"] for told in found.values()]
    if cluster.placement == "shared":
        assert any({"f_date", "k"} <= properties.keys() for properties in shared), list(found)


@pytest.mark.parametrize("name", PAIRS)
def test_field_of_a_victim_is_answered_as_one_that_nobody_has(cluster: SharedCluster, attacker: WireClient, name: str) -> None:
    nobody = PAIRS[name]
    differ = []
    for guessed, absent in zip(asked(name), asked(nobody), strict=True):
        one, other = answer(attacker, guessed), answer(attacker, absent)
        assert canary_of(cluster).encode() not in one.everything(), (guessed, one.body)
        assert b"~" not in one.body, (guessed, one.body)
        if (one.status, bare(one, name)) != (other.status, bare(other, nobody)):
            differ.append((guessed, one.status, one.body[:400], other.status, other.body[:400]))
    assert not differ, f"{len(differ)}: {differ[:3]}"


def bare(raw: Raw, name: str) -> bytes:
    """An answer with the name of the field taken out."""
    body = CUT.sub(b"", VARYING.sub(b"", raw.body))
    for form in (name, name.replace(".", "\\\\."), name[:-1] + "*", name[:-1] + "\\\\*", f"{name[:2]}' + '{name[2:]}"):
        body = body.replace(form.encode(), b"<field>")
    return body


def test_honest_use_of_own_fields_goes_on(attacker: WireClient) -> None:
    for body in (
        {"query": {"query_string": {"query": "k:red AND own_.y:1"}}, "sort": ["own_.y"]},
        {"query": {"query_string": {"query": "red"}}},
        {"query": {"multi_match": {"query": "two"}}},
        {"query": {"multi_match": {"query": "two", "fields": ["b*"]}}},
        {"query": {"exists": {"field": "own_.*"}}, "aggs": {"a": {"terms": {"field": "k"}}}},
        {"query": {"script": {"script": {"source": "doc['k'].value == 'red'"}}}, "fields": ["*"]},
    ):
        raw = attacker.send("POST", f"/{INDEX}/_search", JSON, json.dumps(body).encode())
        assert raw.status == 200 and json.loads(raw.body)["hits"]["total"]["value"] == 1, (body, raw.body)
