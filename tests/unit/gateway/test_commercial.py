"""What only Elasticsearch's commercial part answers: made here where a node has it, and as the node says where it has not."""

from __future__ import annotations

import pytest

from esproxy.errors import Refusal
from tests.unit.gateway.test_scripts import Played
from tests.unit.gateway.whole import ask, gateway

LICENSE = {
    "status": "active", "uid": "the-operators", "type": "platinum", "issue_date": "2026-01-01T00:00:00.000Z",
    "issue_date_in_millis": 1767225600000, "expiry_date_in_millis": 1798761600000, "max_nodes": 1000, "issued_to": "Operator Inc",
    "issuer": "Elastic", "start_date_in_millis": -1,
}  # fmt: skip
XPACK = {
    "build": {"hash": "abc", "date": "2026-01-01"},
    "license": {"uid": "the-operators", "type": "platinum", "mode": "platinum", "status": "active", "expiry_date_in_millis": 1},
    "features": {"ml": {"available": True, "enabled": True}, "security": {"available": True, "enabled": True}},
    "tagline": "You know, for X",
}
NO_HANDLER = 400, {"error": "no handler found for uri [/as/it/was/sent] and method [GET]"}
OFF = {"available": False, "enabled": False}


@pytest.fixture
def gate():
    return gateway("elasticsearch")


def test_license_is_the_basic_one_and_not_the_operators(gate):
    played = Played(ask(gate, "GET", "/_license"), {"license": LICENSE})
    told = played.told["license"]
    assert (told["type"], told["status"], told["issued_to"]) == ("basic", "active", "c")
    assert not {"the-operators", "Operator Inc", "Elastic", "platinum"} & {str(one) for one in told.values()}
    assert "expiry_date_in_millis" not in told
    other = Played(ask(gate, "GET", "/_license", tenant="zenith"), {"license": LICENSE})
    assert other.told["license"]["uid"] != told["uid"]


def test_license_is_written_indented_but_where_it_is_not_wanted(gate):
    assert b"\n" in Played(ask(gate, "GET", "/_license"), {"license": LICENSE}).reply.body
    assert b"\n" not in Played(ask(gate, "GET", "/_license?pretty=false"), {"license": LICENSE}).reply.body


def test_features_are_those_of_the_node_and_none_is_there(gate):
    played = Played(ask(gate, "GET", "/_xpack?categories=build,features&human"), XPACK)
    assert [send.target for send in played.sends] == [b"/_xpack?categories=build,features&human="]
    assert played.told["features"] == {"ml": OFF, "security": OFF}
    assert "the-operators" not in str(played.told) and played.told["license"]["type"] == "basic"
    used = {"ml": {"available": True, "jobs": {"_all": {"count": 7}}}}
    assert Played(ask(gate, "GET", "/_xpack/usage"), used).told == {"ml": OFF}


def test_user_is_the_tenant(gate):
    operator = {"username": "proxy", "roles": ["superuser"], "email": "operator@example.org", "enabled": True}
    told = Played(ask(gate, "GET", "/_security/_authenticate"), operator).told
    assert (told["username"], told["roles"], told["email"], told["enabled"]) == ("acme", [], None, True)


@pytest.mark.parametrize("path", ["/_license", "/_xpack?pretty", "/_xpack/usage", "/_security/_authenticate?filter_path=a"])
def test_node_without_that_part_has_no_handler_for_what_the_client_wrote(gate, path):
    with pytest.raises(Refusal) as raised:
        Played(ask(gate, "GET", path), NO_HANDLER)
    assert raised.value.status == 400
    assert raised.value.payload() == {"error": f"no handler found for uri [{path}] and method [GET]"}


@pytest.mark.parametrize("path", ["/_xpack/usage?pretty", "/_security/_authenticate?filter_path=a"])
def test_path_of_two_segments_without_that_part_could_be_posted_to_before_9(gate, path):
    older = 405, {"error": "Incorrect HTTP method for uri [/as/it] and method [GET], allowed: [POST]", "status": 405}
    with pytest.raises(Refusal) as raised:
        Played(ask(gate, "GET", path), older)
    error = raised.value
    assert (error.status, error.headers) == (405, [(b"allow", b"POST")])
    assert error.reason == f"Incorrect HTTP method for uri [{path}] and method [GET], allowed: [POST]"


def test_error_of_the_node_is_the_clients(gate):
    cause = {"type": "illegal_state_exception", "reason": "failed to find action"}
    played = Played(ask(gate, "GET", "/_xpack"), (500, {"error": {"root_cause": [cause], **cause}, "status": 500}))
    assert played.reply.status == 500 and played.told["error"]["reason"] == "failed to find action"
