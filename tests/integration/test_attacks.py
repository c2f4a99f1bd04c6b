"""Hostile requests, byte for byte: nothing of a victim shows, nothing of it changes, and honest use goes on."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from tests.integration.proxy import SharedCluster
from tests.oracle.attack import RAW, VICTIM, Attack, request
from tests.oracle.attacks import ATTACKS
from tests.oracle.neighbours import TENANT, Neighbours, State, differing

WATCHED = frozenset({"books", "logs-a"})  # the names whose indices an attack may have changed, the others' and the decoys
LOOK_EVERY = 10  # attacks
NOT_YET = (b"is not available yet for indices in pools", b"there are no tasks to ask for the outcome")  # what pools lack
# Words of what attacks make that is no index, and what takes it away again; refused where the tenant has pools.
OUTLIVES = {
    b"template": ("/_index_template/*", "/_template/*", "/_component_template/*"),
    b"pipeline": ("/_ingest/pipeline/*", "/_search/pipeline/*"),
}


def exchange(url: str, sent: bytes) -> bytes:
    """Everything that comes back on one connection."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    answer = b""
    with socket.create_connection((parts.hostname, parts.port), timeout=15) as connection:
        try:
            connection.sendall(sent)
            connection.settimeout(3 if b"connection: close" not in sent.lower() else 30)
            while chunk := connection.recv(1 << 16):
                answer += chunk
        except (TimeoutError, ConnectionResetError, BrokenPipeError):
            pass  # kept open, or cut: what has come is what there is
    return answer


def status_of(answer: bytes) -> int | None:
    if not answer.startswith(b"HTTP/1."):
        return None
    return int(final(answer).split(b" ", 2)[1])


def final(answer: bytes) -> bytes:
    """Without interim answers."""
    while answer.startswith(b"HTTP/1.1 1"):
        answer = answer.partition(b"\r\n\r\n")[2]
    return answer


def body_of(answer: bytes) -> bytes:
    return final(answer).partition(b"\r\n\r\n")[2]


def not_in_pools(cluster: SharedCluster, sent: bytes, answer: bytes) -> bool:
    """Whether the tenant has pools and the answer says that they do not have the endpoint yet."""
    if cluster.placement == "dedicated" or status_of(answer) != 400:
        return False
    if sent.startswith(b"HEAD"):  # its answer has no room for words
        answer = exchange(cluster.served.url, sent.replace(b"HEAD", b"GET", 1))
    return any(words in body_of(answer) for words in NOT_YET)


@dataclass(slots=True)
class Watch:
    """The others' state as the last look found it. A look costs more than an attack, so there is one after every few of them and
    one at the end: it names all that may have made a difference, and each of those played alone shows which did."""

    neighbours: Neighbours
    state: State
    since: list[Attack] = field(default_factory=list)

    def after(self, attack: Attack) -> None:
        self.since.append(attack)
        if len(self.since) >= LOOK_EVERY:
            self.look()

    def look(self) -> None:
        before, self.state = self.state, self.neighbours.state(WATCHED)
        since, self.since = self.since, []
        changed = differing(before, self.state)
        assert not changed, "\n".join(["others' state is another after one of: " + "; ".join(map(str, since)), *changed])


@pytest.fixture(scope="module")
def own(cluster: SharedCluster) -> Iterator[SharedCluster]:
    """The attacker has an index with a document, as the victim has."""
    with closing(cluster.served.client()) as client:
        headers = {"content-type": "application/json"}
        body = {
            "mappings": {
                "properties": {
                    "k": {"type": "keyword"},
                    "o": {"type": "nested", "properties": {"x": {"type": "long"}}},
                    "gp": {"type": "geo_point"},
                }
            }
        }
        assert client.send("PUT", "/books", headers, json.dumps(body).encode()).status == 200
        assert client.send("PUT", "/books/_doc/1?refresh=true", headers, b'{"a":"quick fox","k":"red"}').status == 201
        assert client.send("PUT", "/refs/_doc/1?refresh=true", headers, b'{"secret":"quick fox"}').status == 201
    yield cluster
    with closing(cluster.served.client()) as client:
        assert client.send("DELETE", "/*?expand_wildcards=all", {}, None).status == 200


@pytest.fixture(scope="module")
def watch(own: SharedCluster) -> Iterator[Watch]:
    watch = Watch(own.neighbours, own.neighbours.state(WATCHED))
    yield watch
    watch.look()


@pytest.fixture
def tidy(own: SharedCluster, attack: Attack) -> Iterator[SharedCluster]:
    """What an attack has made in the attacker's own space is gone before the next one."""
    yield own
    if attack.only_reads:
        return
    with closing(own.served.client()) as client:
        assert client.send("DELETE", "/*,-books,-refs?expand_wildcards=all", {}, None).status == 200
        assert client.send("DELETE", "/books/_alias/*", {}, None).status in (200, 404)
        sent = (*attack.before, attack.sent, attack.twin)
        made = [target for word, targets in OUTLIVES.items() if any(word in one for one in sent) for target in targets]
        made += [match[1].decode() for one in sent if (match := re.match(rb"PUT (/_scripts/[^/? ]+)", one))]
        for target in made:
            assert client.send("DELETE", target, {}, None).status in (200, 400, 404, 405)
    node = f"http://{own.neighbours.node.host}"
    for sent in attack.ran:
        if found := re.match(rb"PUT (/_scripts/[^/? ]+)", sent):
            assert status_of(exchange(node, request("DELETE", found[1].decode()))) in (200, 404)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_attack_shows_and_changes_nothing(tidy: SharedCluster, watch: Watch, attack: Attack) -> None:
    own = tidy
    unmade = False
    node = f"http://{own.neighbours.node.host}"
    for sent in attack.ran:
        assert status_of(exchange(node, sent)) is not None
    for sent in attack.before:
        said = exchange(own.served.url, sent)
        assert not own.neighbours.canaries(said), said[:2000]
        unmade |= not_in_pools(own, sent, said)
    answer = exchange(own.served.url, attack.sent)
    watch.after(attack)
    assert not own.neighbours.canaries(answer), answer[:2000]
    sent_raw = any(
        form in attack.sent.lower() for form in (b"zenith", b"%7a", b"\\u007a", b"zw5pdgguym9va3", b"emvuaxro")
    )  # the last two are base64
    assert sent_raw or f"{VICTIM}.".encode() not in answer, answer[:2000]
    assert not any(machine in answer.lower() for machine in own.neighbours.machines), answer[:2000]
    assert f"{TENANT}.".encode() not in answer or f"{TENANT}.".encode() in attack.sent, answer[:2000]
    status = status_of(answer)
    unbuilt = not_in_pools(own, attack.sent, answer)
    assert unbuilt or status in attack.safe, answer[:2000]
    assert unbuilt or unmade or attack.shows in answer, answer[:2000]
    if status is not None and status >= 400 and not attack.http and not attack.sent.startswith(b"HEAD"):
        said = json.loads(body_of(answer))  # a 404 can be a document's, or that of a list of templates with nothing in it
        assert not said or said.keys() & {"error", "_id", "index_templates", "component_templates", "failures"}, answer[:2000]
    twin = exchange(own.served.url, attack.twin)
    assert unmade or status_of(twin) in attack.twin_status or not_in_pools(own, attack.twin, twin), twin[:2000]


@pytest.mark.parametrize(
    ("method", "foreign", "absent"),
    [
        ("GET", f"/{RAW}/_search", "/absent.books/_search"),
        ("GET", f"/{RAW}/_search?ignore_unavailable=true", "/absent.books/_search?ignore_unavailable=true"),
        ("HEAD", f"/{RAW}", "/absent.books"),
        ("GET", f"/{RAW}/_mapping", "/absent.books/_mapping"),
        ("GET", f"/{RAW}/_doc/1", "/absent.books/_doc/1"),
        ("DELETE", f"/{RAW}", "/absent.books"),
        ("GET", f"/_cat/indices/{RAW}", "/_cat/indices/absent.books"),
        ("GET", f"/_cluster/health/{RAW}?timeout=1ms", "/_cluster/health/absent.books?timeout=1ms"),
    ],
)
def test_foreign_and_absent_index_have_one_answer(own: SharedCluster, method: str, foreign: str, absent: str) -> None:
    """A30, I16: whether another tenant has it cannot be told."""
    one, two = (exchange(own.served.url, request(method, target)) for target in (foreign, absent))
    assert status_of(one) == status_of(two)

    def shape(answer: bytes) -> object:
        body = body_of(answer).replace(RAW.encode(), b"X").replace(b"absent.books", b"X")
        tree = json.loads(body) if body else None
        return {key: value for key, value in tree.items() if key != "took"} if isinstance(tree, dict) else tree

    assert shape(one) == shape(two)


def test_tenant_of_a_request_is_the_requests_own(own: SharedCluster) -> None:
    """G21: two tenants one after the other on one connection."""
    parts = urlsplit(own.served.url)
    victim = next(one for one in own.neighbours.all if one.tenant == VICTIM)
    with socket.create_connection((parts.hostname, parts.port), timeout=15) as connection:
        seen = []
        for tenant in (TENANT, VICTIM, TENANT):
            head = f"GET /books/_search?size=100 HTTP/1.1\r\nhost: x\r\nx-tenant: {tenant}\r\n\r\n"
            connection.sendall(head.encode())
            seen.append(_one_answer(connection))
    assert [victim.canary.encode() in answer for answer in seen] == [False, True, False]


def _one_answer(connection: socket.socket) -> bytes:
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(1 << 16)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    while len(body) < length:
        body += connection.recv(1 << 16)
    return body


def test_pipelined_requests_are_answered_in_order(own: SharedCluster) -> None:
    """G14: a hundred at once, tenants mixed; no answer is another's."""
    parts = urlsplit(own.served.url)
    victim = next(one for one in own.neighbours.all if one.tenant == VICTIM)
    tenants = [VICTIM if place % 3 == 0 else TENANT for place in range(100)]
    head = "".join(f"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: {tenant}\r\n\r\n" for tenant in tenants[:-1])
    last = f"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: {tenants[-1]}\r\nconnection: close\r\n\r\n"
    answer = exchange(f"http://{parts.hostname}:{parts.port}", (head + last).encode())
    found = answer.split(b"HTTP/1.1 ")[1:]
    assert len(found) == 100
    assert [victim.canary.encode() in one for one in found] == [tenant == VICTIM for tenant in tenants]
