"""All points in time: whose one is, is read from its id."""

from __future__ import annotations

import base64
import json

import orjson
import pytest

from esproxy.metadata.pits import indices_of, is_own
from tests.unit.gateway.test_scripts import Played
from tests.unit.gateway.whole import ask, gateway, refused, sent

# As OpenSearch 3.8 made them: over two shards by a filtered alias, and over two indices.
ALIASED = (
    "o_-7QQIHYWNtZS5wcBY0aUJJVXhsSlR3YW1VenlsQW00WG5nARZxblRadHRIQlNOS3JTVWlMbjZhblh3AAAAAAAAAE-tFnRaeXhCVEhlVGZxYUdZWmxVQmdsWncH"
    "YWNtZS5wcBY0aUJJVXhsSlR3YW1VenlsQW00WG5nABZxblRadHRIQlNOS3JTVWlMbjZhblh3AAAAAAAAAE-sFnRaeXhCVEhlVGZxYUdZWmxVQmdsWncBFjRpQklV"
    "eGxKVHdhbVV6eWxBbTRYbmcBB2FjbWUuYWwBBHRlcm0_gAAAAAFrFQF4AA=="
)
THEIRS = (
    "o_-7QQIJemVuaXRoLnFxFkVNTnhEQmx3VDRxWkM0eEhRVW5YZEEAFnFuVFp0dEhCU05LclNVaUxuNmFuWHcAAAAAAAAAT64WdFp5eEJUSGVUZnFhR1labFVCZ2xa"
    "dwh6ZW5pdGguw6kWQ2ZDU2ozcEJTQ3FWZnlSU0FqMG54ZwAWcW5UWnR0SEJTTktyU1VpTG42YW5YdwAAAAAAAABPrxZ0Wnl4QlRIZVRmcWFHWVpsVUJnbFp3AhZF"
    "TU54REJsd1Q0cVpDNHhIUVVuWGRBAAAWQ2ZDU2ozcEJTQ3FWZnlSU0FqMG54ZwAA"
)


def made(*names: str, version: bytes = b"\xa3\xff\xbbA", count: int | None = None, cluster: bytes = b"\0") -> str:
    def text(value: str) -> bytes:
        return bytes([len(value)]) + value.encode()

    shards = [text(one) + text("u" * 22) + b"\0" + text("n" * 22) + cluster + b"\0" * 8 + text("s") for one in names]
    raw = version + bytes([len(names) if count is None else count]) + b"".join(shards) + b"\0"
    return base64.urlsafe_b64encode(raw).decode()


def told(*pits: str) -> dict:
    return {"pits": [{"pit_id": one, "creation_time": 1, "keep_alive": 2} for one in pits]}


@pytest.fixture
def gate():
    return gateway("opensearch")


def test_indices_are_read_from_an_id_as_nodes_make_it():
    assert indices_of(ALIASED) == ["acme.pp", "acme.pp"] and indices_of(THEIRS) == ["zenith.qq", "zenith.é"]
    assert indices_of(made("acme.a", "acme.b")) == ["acme.a", "acme.b"]
    wide = b"\x01\x01\x03\xe2\x82\xacxy" + b"\0" * 13
    assert indices_of(base64.urlsafe_b64encode(wide).decode()) == ["€xy"]


def test_it_is_ones_own_when_all_of_its_indices_are():
    assert is_own(ALIASED, "acme.") and is_own(made(".ds-acme.s-000001", "acme.b"), "acme.")
    others = [made("acme.a", "zenith.b"), made("acmes.a"), made(), made("acme.a", cluster=b"\x01\x01c"), made(".ds-zenith.s")]
    for other in (THEIRS, *others):
        assert not is_own(other, "acme.")


def test_id_that_reads_otherwise_is_nobodys():
    raw = base64.urlsafe_b64decode(ALIASED)
    for cut in range(raw.index(b"\x01\x164iBI", 120)):  # up to where the shards end
        assert indices_of(base64.urlsafe_b64encode(raw[:cut]).decode()) is None
    broken = [made("acme.a", count=2), made("acme.a", version=b"\xff" * 5), made("acme.a", cluster=b"\2")]
    for other in ("", "nope", "AAAA", "é", ALIASED[:-1], *broken):
        assert not is_own(other, "acme.")


def test_list_holds_ones_own_as_they_were_told(gate):
    opened = sent(gate, "POST", "/pp/_search/point_in_time?keep_alive=1m").answer({"pit_id": ALIASED})
    played = Played(ask(gate, "GET", "/_search/point_in_time/_all"), told(THEIRS, ALIASED))
    assert played.told["pits"] == [{"pit_id": orjson.loads(opened.body)["pit_id"], "creation_time": 1, "keep_alive": 2}]
    assert [send.target for send in played.sends] == [b"/_search/point_in_time/_all"]


def test_ones_own_are_deleted_by_their_ids(gate):
    gone = {"pits": [{"successful": True, "pit_id": ALIASED}]}
    played = Played(ask(gate, "DELETE", "/_search/point_in_time/_all"), told(THEIRS, ALIASED, made("acme.x", "zenith.y")), gone)
    deleted = played.sends[1]
    assert (deleted.method, deleted.target) == ("DELETE", b"/_search/point_in_time")
    assert json.loads(deleted.body) == {"pit_id": [ALIASED]}
    assert played.told["pits"][0]["successful"] is True and ALIASED.encode() not in played.reply.body


def test_nothing_is_deleted_where_nothing_is_ones_own(gate):
    played = Played(ask(gate, "DELETE", "/_search/point_in_time/_all"), told(THEIRS))
    assert played.told == {"pits": []} and len(played.sends) == 1


def test_parameters_that_are_none_are_refused(gate):
    with pytest.raises(Exception, match="unrecognized parameter"):
        Played(ask(gate, "GET", "/_search/point_in_time/_all?nope=1"))
    assert refused(gateway("elasticsearch"), "GET", "/_search/point_in_time/_all")[0] in (400, 405)
