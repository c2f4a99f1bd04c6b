"""What comes again and again with the same head takes a way of its own through the proxy (``esproxy/shortcut.py``): hostile reads
are answered there as they were the first time, and show nothing either; plain reads do go there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import httpx
import pytest

from tests.integration.proxy import SharedCluster
from tests.oracle.answer import Raw
from tests.oracle.attack import Attack
from tests.oracle.attacks import ATTACKS
from tests.oracle.client import WireClient

SOON = 3  # seconds, in which workers have reported what they count
ROUNDS = 5  # on a busy machine a body often comes after its head, and the request goes the long way
TIMES = 4  # the first is understood, the second finds it understood, the third has a way of its own and so has the fourth
HEAD = re.compile(
    rb"(GET|POST) (/\S*_(?:search|count|doc/|source/|explain/|validate/query|field_caps)\S*) HTTP/1\.1\r\n((?:.+\r\n)*)\r\n"
)
FRAMING = ("host", "connection", "content-length", "x-tenant", "transfer-encoding")
VARIES = re.compile(rb'"took":\d+|"_scroll_id":"[^"]+"|"(pit_)?id":"[\w-]{40,}=*"')


def read(attack: Attack) -> tuple[str, str, dict[str, str], bytes | None] | None:
    """What an attack sends, where that only reads, is ordinary HTTP and is not told with times."""
    found = HEAD.match(attack.sent)
    if found is None or attack.http or attack.before or attack.ran or b"by_query" in attack.sent or b"profile" in attack.sent:
        return None
    if found[1] == b"POST" and b"/_doc/" in found[2]:
        return None
    lines = [line.partition(": ") for line in found[3].decode("latin-1").splitlines()]
    headers = {name: value for name, _, value in lines if name.lower() not in FRAMING}
    try:
        found[2].decode("ascii")
    except UnicodeDecodeError:
        return None
    return found[1].decode(), found[2].decode(), headers, attack.sent[found.end() :] or None


READS = [(str(attack), sent) for attack in ATTACKS if (sent := read(attack)) is not None]


@pytest.fixture(scope="module")
def client(cluster: SharedCluster) -> Iterator[WireClient]:
    """Of an attacker with an index and a document of the names that attacks are about."""
    with closing(cluster.served.client()) as client:
        media = {"content-type": "application/json"}
        assert client.send("PUT", "/books/_doc/1?refresh=true", media, b'{"a":"quick fox","k":"red"}').status == 201
        yield client
        assert client.send("DELETE", "/*?expand_wildcards=all", {}, None).status == 200


def test_there_are_reads_among_the_attacks() -> None:
    assert len(READS) > 300


def test_hostile_read_is_answered_the_same_again_and_again(cluster: SharedCluster, client: WireClient, transport: str) -> None:
    if transport != "engine":
        pytest.skip("there is one way by way of httpx")
    wrong: list[str] = []
    before = short(cluster)
    for label, sent in READS:
        answers = [client.send(*sent) for _ in range(TIMES)]
        wrong += [f"{label}: {said(one)!r} and then {said(two)!r}" for one, two in pairwise(answers) if said(one) != said(two)]
        wrong += [
            f"{label} shows {answer.body[:300]!r}" for answer in answers if cluster.neighbours.canaries(answer.everything())
        ]
    assert wrong == []
    time.sleep(SOON)
    if cluster.placement == "dedicated":  # what is hostile needs thought in pools
        assert short(cluster) - before > len(READS) / 10


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/books/_search", b'{"query":{"match_all":{}}}'),
        ("POST", "/books/_search", b'{"query":{"term":{"k":"red"}},"_source":["k"]}'),
        ("POST", "/books/_count", b'{"query":{"term":{"k":"red"}}}'),
        ("GET", "/books/_doc/1", None),
    ],
)
def test_plain_read_goes_the_short_way(
    cluster: SharedCluster, client: WireClient, transport: str, method: str, target: str, body: bytes | None
) -> None:
    if transport != "engine" or cluster.placement not in ("dedicated", "shared"):
        pytest.skip("there is one way by way of httpx, and nothing sure of mixtures")
    if cluster.placement == "shared" and body is not None and b'"k"' in body:
        pytest.skip("neighbours have made the field of the index go by another name")
    before = short(cluster)
    headers = {"content-type": "application/json"} if body else {}
    answers = set()
    for _ in range(ROUNDS):
        answers |= {said(client.send(method, target, headers, body)) for _ in range(20)}
        time.sleep(SOON)
        if short(cluster) - before > 10:
            break
    else:
        pytest.fail(f"of {20 * ROUNDS} requests {short(cluster) - before} went the short way")
    assert len(answers) == 1, answers
    assert b"red" in answers.pop()[1] or target.endswith("_count")


def said(answer: Raw) -> tuple[int, bytes]:
    return answer.status, VARIES.sub(b"", answer.body)


def short(cluster: SharedCluster) -> int:
    """How many requests have gone the short way so far."""
    told = httpx.get(f"http://127.0.0.1:{cluster.served.admin}/metrics").raise_for_status().text
    (count,) = re.findall(r"^esproxy_requests_short_total ([\d.e+]+)$", told, re.M)
    return int(float(count))
