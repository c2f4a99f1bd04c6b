"""The catalogue under faults, on a node of its own: its primary is not there, it is deleted, the node stops or is killed while
names are changed. What needs it fails closed meanwhile, with an error of Elasticsearch's shape that names nothing physical, and
works again by itself afterwards."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from esproxy.catalogue import names
from esproxy.config import LAYOUTS_AVAILABLE
from esproxy.embedded import EmbeddedCluster, ProgressPrinter
from tests.fleet.players import client
from tests.fleet.proxies import Fleet
from tests.fleet.state import State, everything
from tests.integration.proxy import free_port

pytestmark = pytest.mark.wide
POOLED = [layout for layout in LAYOUTS_AVAILABLE if layout != "dedicated"]
LATER = 180.0  # seconds until what is broken has failed, and what is mended works; at most
LEASE = 5.0
UNSURE = (429, 500, 502, 503, 504)
CATALOGUE = names.behind(names.CATALOGUE)


@dataclass(slots=True)
class Place:
    """A node, a proxy with two workers in front of it, and a tenant in each layout that needs the catalogue."""

    cluster: EmbeddedCluster
    fleet: Fleet
    node: httpx.Client

    def tenant(self, layout: str) -> httpx.Client:
        return client(self.fleet.proxies[0].url, layout)


@pytest.fixture(scope="module")
def place(engine_name: str, on_progress: ProgressPrinter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder: Path = tmp_path_factory.mktemp("faults")
    with (
        EmbeddedCluster(engine_name, on_progress=on_progress) as cluster,
        Fleet(cluster.url, folder, {layout: layout for layout in POOLED}, [(free_port(), free_port())]) as fleet,
        httpx.Client(base_url=cluster.url, timeout=60) as node,
    ):
        yield Place(cluster, fleet, node)


@pytest.fixture
def tenants(place: Place) -> Iterator[list[httpx.Client]]:
    """Each with an index, ``kept``, and one document in it."""
    with ExitStack() as clients:
        made = [clients.enter_context(place.tenant(layout)) for layout in POOLED]
        for http in made:
            http.put("/kept/_doc/1?refresh=true", json={"a": "b"}).raise_for_status()
        yield made
        for http in made:
            for name in http.get("/_cat/indices?h=index").raise_for_status().text.split():
                http.delete(f"/{name}").raise_for_status()


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LATER
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def requests(tenant: httpx.Client) -> Iterator[httpx.Response]:
    """Of everything that needs to know the tenant's names, one."""
    yield tenant.get("/kept/_doc/1")
    yield tenant.post("/kept/_search", json={})
    yield tenant.post("/*/_search", json={})
    yield tenant.put("/kept/_doc/2", json={"a": "c"})
    yield tenant.put("/new/_doc/1", json={"a": "c"})
    yield tenant.put("/other")
    yield tenant.delete("/kept")
    yield tenant.get("/kept/_mapping")
    yield tenant.post("/_aliases", json={"actions": [{"add": {"index": "kept", "alias": "x"}}]})


def check_fails_closed(tenants: list[httpx.Client]) -> None:
    """Once what is in memory is not believed any more, every request is told so, in the shape that clients expect."""
    time.sleep(LEASE + 0.5)
    for answer in (answer for tenant in tenants for answer in requests(tenant)):
        assert answer.status_code == 503, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
        error = answer.json()
        assert error["status"] == 503
        assert set(error["error"]) == {"root_cause", "type", "reason"} and error["error"]["root_cause"][0]["reason"], answer.text
        assert "~" not in answer.text and "catalogue" in error["error"]["reason"], answer.text


def check_works(place: Place, tenants: list[httpx.Client]) -> None:
    for tenant in tenants:
        check_one_works(place, tenant)


def check_one_works(place: Place, tenant: httpx.Client) -> None:
    """As if nothing had been: what was there is there, what was refused is not, and everything can be done."""
    until(lambda: tenant.get("/kept/_doc/1").status_code == 200, "it heals by itself")
    place.fleet.wait_until_ready()
    assert tenant.get("/kept/_doc/1").json()["_source"] == {"a": "b"}
    assert tenant.get("/kept/_doc/2").status_code == 404
    until(lambda: tenant.put("/after").status_code == 200, "an index can be made")
    tenant.put("/after/_doc/1", json={"a": "d"}).raise_for_status()
    tenant.delete("/after").raise_for_status()
    listed = tenant.get("/_cat/indices?h=index").text.split()
    assert listed == ["kept"], "what was refused was not done"


def test_catalogue_without_its_primary_fails_closed_and_heals(place: Place, tenants: list[httpx.Client]) -> None:
    """The node comes back without the catalogue's shard, and later with it."""
    uuid = place.node.get(f"/{CATALOGUE}").json()[CATALOGUE]["settings"]["index"]["uuid"]
    (shard,) = place.cluster.nodes[0].folder.rglob(f"indices/{uuid}/0")
    restart(place, lambda: shard.rename(shard.with_name("away")))
    until(lambda: health(place) == "red", "the node is back, without this shard")
    check_fails_closed(tenants)
    restart(place, lambda: shard.with_name("away").rename(shard))
    place.cluster.wait_ready()
    check_works(place, tenants)


def restart(place: Place, meanwhile: Callable[[], object]) -> None:
    place.cluster.nodes[0].kill()
    meanwhile()
    place.cluster.nodes[0].start()


def health(place: Place) -> str:
    """Of the catalogue's index."""
    try:
        found = place.node.get(f"/_cluster/health/{CATALOGUE}?timeout=1s").json()
    except httpx.TransportError:
        return "the node does not answer"
    return str(found.get("status"))


def test_catalogue_deleted_fails_closed_until_it_is_put_back(place: Place, tenants: list[httpx.Client]) -> None:
    """Neither a worker that runs nor one that starts begins an empty one where pools are left."""
    described: dict[str, Any] = place.node.get(f"/{CATALOGUE}").json()[CATALOGUE]
    assert described["aliases"].keys() == {names.CATALOGUE}
    copied(place, names.CATALOGUE, "copy", described)
    place.node.delete(f"/{CATALOGUE}").raise_for_status()
    check_fails_closed(tenants)
    os.kill(place.fleet.proxies[0].workers()[0], signal.SIGKILL)
    place.fleet.wait_until_ready()
    check_fails_closed(tenants)
    assert place.node.head(f"/{names.CATALOGUE}").status_code == 404, "no write made it anew, and no worker did"
    assert "put it back from a snapshot" in place.fleet.logs()
    copied(place, "copy", f"{names.CATALOGUE}-2", described)
    place.node.delete("/copy").raise_for_status()
    actions = [{"add": {"index": f"{names.CATALOGUE}-2", "alias": names.CATALOGUE, "is_hidden": True}}]
    place.node.post("/_aliases", json={"actions": actions}).raise_for_status()
    check_works(place, tenants)
    # For the next test, as it was.
    copied(place, names.CATALOGUE, CATALOGUE, described)
    change = [{"remove_index": {"index": f"{names.CATALOGUE}-2"}}, {"add": {**actions[0]["add"], "index": CATALOGUE}}]
    place.node.post("/_aliases", json={"actions": change}).raise_for_status()
    check_works(place, tenants)


def copied(place: Place, source: str, target: str, described: dict[str, Any]) -> None:
    settings = {"number_of_shards": 1, "number_of_replicas": 0, "hidden": True, "refresh_interval": -1}
    made = {"settings": {"index": settings}, "mappings": described["mappings"]}
    place.node.put(f"/{target}", json=made).raise_for_status()
    place.node.post(f"/{source}/_refresh").raise_for_status()
    body = {"source": {"index": source}, "dest": {"index": target}}
    place.node.post("/_reindex?refresh=true", json=body).raise_for_status()


def test_members_deleted_are_counted_again_after_a_lease(place: Place, tenants: list[httpx.Client]) -> None:
    place.node.delete(f"/{names.behind(names.MEMBERS)}").raise_for_status()
    began = time.monotonic()
    until(lambda: place.node.head(f"/{names.MEMBERS}").status_code == 200, "it is made anew")
    assert time.monotonic() - began >= LEASE - 1.5, "not before every lease has ended; the deletion may be seen a poll later"
    place.node.get(f"/_cluster/health/{names.behind(names.MEMBERS)}?wait_for_status=yellow").raise_for_status()
    until(lambda: len(list(everything(place.node, names.MEMBERS))) == 2, "both workers are there again")
    check_works(place, tenants)
    mappings = place.node.get(f"/{names.MEMBERS}/_mapping").json()[names.behind(names.MEMBERS)]["mappings"]
    assert mappings["dynamic"] == "false"


@pytest.mark.parametrize("fault", ["paused", "killed"])
def test_node_lost_while_names_change_leaves_nothing_half_done(place: Place, tenants: list[httpx.Client], fault: str) -> None:
    """What was acknowledged is there; what was not can be done again, and what is left agrees."""
    told: dict[str, list[int]] = {}
    over = threading.Event()

    def change(layout: str, name: str) -> None:
        statuses = told[f"{layout}/{name}"] = []
        with place.tenant(layout) as http:
            while not over.is_set():
                for call in (http.put, http.delete):
                    try:
                        statuses.append(call(f"/{name}").status_code)
                    except httpx.TimeoutException:
                        statuses.append(0)

    threads = [threading.Thread(target=change, args=(layout, name)) for layout in POOLED for name in ("i", "j")]
    for thread in threads:
        thread.start()
    time.sleep(1.5)
    if fault == "paused":
        place.cluster.nodes[0].pause()
        time.sleep(LEASE + 2)
        place.cluster.nodes[0].resume()
    else:
        restart(place, lambda: time.sleep(1.0))
        place.cluster.wait_ready()
    until(lambda: all(status in (200, 404, 400) for statuses in list(told.values()) for status in statuses[-2:]), "all go on")
    over.set()
    for thread in threads:
        thread.join()
    assert any(status == 200 for statuses in told.values() for status in statuses)
    assert all(status in (0, 200, 400, 404, *UNSURE) for statuses in told.values() for status in statuses), told
    check_works(place, tenants)
    until(lambda: not State(place.cluster.url).busy(), "nothing is left to be done")
    assert State(place.cluster.url).disagreements() == []
