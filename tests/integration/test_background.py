"""What workers do for the catalogue by themselves, on real nodes, and how much is shared in the end: many tenants with like
indices, many deletes and recreations in small pools, and what is none of ours."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Caps, Catalogue, Times
from esproxy.catalogue.pools import Plan
from esproxy.catalogue.sharing import Sharing, lines, sharing
from esproxy.catalogue.store import Steps, Store
from esproxy.pools.alike import Full, Taken, put_everywhere
from esproxy.procedures.audit import audit
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.fields import add_fields
from esproxy.serve.follower import Follower, clock
from esproxy.serve.procedures import Procedures, carry_out
from esproxy.upstream.client import Engine
from esproxy.upstream.spec import ClusterSpec
from tests.processes import report

TENANTS, INDICES = 100, 10
# In ``per-tenant`` each creation changes the cluster's state: all of them take a minute, so by default there are fewer.
PER_TENANT = int(os.environ.get("SHARING_TENANTS", "30"))
AT_ONCE = 16  # creations
CYCLES = 95
MAPPING = {"properties": {"message": {"type": "text"}, "level": {"type": "keyword"}, "took": {"type": "long"}}}


@dataclass(slots=True)
class Worker:
    """A worker's background, without its clients."""

    cat: Catalogue
    procedures: Procedures

    async def run(self, steps: Steps[Any]) -> Any:
        return await carry_out(self.procedures, steps)


@asynccontextmanager
async def worker(url: str, prefix: str, caps: Caps | None = None) -> AsyncIterator[Worker]:
    engine = Engine({"main": ClusterSpec(nodes=[url])}, time.monotonic)
    store = Store("main", f"{prefix}~catalogue", f"{prefix}~members")
    times = Times(lease=1.0, poll=0.3, look=0.05, grace=0.2, upkeep=2.0)
    cat = Catalogue(
        store, Cache(clock), clock, lambda: int(time.time()), lambda: uuid4().hex, times, caps or Caps(), patterns(prefix)
    )
    procedures = Procedures(engine)
    follower = Follower(cat, procedures)
    try:
        await follower.first_poll()
        yield Worker(cat, procedures)
    finally:
        await follower.stop()
        await engine.aclose()


@pytest.fixture
def prefix(node_url: str):
    """In front of every name and tenant here, so that the rest of the node is not ours."""
    name = f"bg{uuid4().hex[:8]}"
    yield name
    with httpx.Client(base_url=node_url, timeout=60) as http:
        for found in physical(http, name, f"{name}~*"):
            http.delete(f"/{found}").raise_for_status()


def patterns(prefix: str) -> str:
    """The node is not ours alone."""
    return f"pool~{prefix}*,own~{prefix}*,one~{prefix}*"


def physical(http: httpx.Client, prefix: str, *more: str) -> list[str]:
    listed = http.get(
        f"/_cat/indices/{','.join([patterns(prefix), *more])}", params={"format": "json", "h": "index", "expand_wildcards": "all"}
    )
    return sorted(row["index"] for row in listed.raise_for_status().json())


async def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.2)


# --- sharing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "tenants", "most"),
    [("shared", TENANTS, INDICES), ("per-tenant", PER_TENANT, 2 * PER_TENANT)],
    ids=["shared", "per-tenant"],
)
def test_sharing_of_many_like_indices(
    node_url: str, engine_name: str, prefix: str, request: pytest.FixtureRequest, layout: str, tenants: int, most: int
) -> None:
    """``shared``: a pool per index name; ``per-tenant``: two physical indices per tenant at most."""

    async def run() -> tuple[Sharing, float]:
        async with worker(node_url, prefix) as one:
            wanted = [(f"{prefix}t{t}", f"{prefix}-{n}") for n in range(INDICES) for t in range(tenants)]
            plan = Plan(layout, MAPPING, {"index.number_of_replicas": 0})
            began = time.monotonic()
            await all_of([lambda t=t, n=n: one.run(create(one.cat, t, n, plan)) for t, n in wanted])
            return await one.run(sharing(one.cat.store)), time.monotonic() - began

    found, seconds = asyncio.run(run())
    with httpx.Client(base_url=node_url, timeout=60) as http:
        assert set(physical(http, prefix)) == found.layouts[layout].physical
    kept = found.layouts[layout]
    took = f"{tenants * INDICES} creations in {layout} took {seconds:.1f} s"
    report(request.config, "sharing", *(f"{engine_name}: {line}" for line in (took, *lines(found))))
    assert (kept.logical, kept.pooled, kept.share) == (tenants * INDICES, tenants * INDICES, 1.0) and not kept.alone
    assert len(kept.physical) <= most


async def all_of(starts: list[Callable[[], Awaitable[Any]]]) -> None:
    """All of them, a few at once."""
    waiting = iter(starts)

    async def go_on() -> None:
        for start in waiting:
            await start()

    await asyncio.gather(*(go_on() for _ in range(AT_ONCE)))


# --- deletes and recreations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["shared", "per-tenant"])
def test_index_deleted_and_recreated_often_never_runs_out_of_fields(node_url: str, prefix: str, layout: str) -> None:
    """Fields never leave a mapping, so every recreation with five new definitions fills its pool a little; full pools are sealed,
    drained ones dropped, the last one too."""
    tenant, used = f"{prefix}t", set()

    async def run() -> None:
        async with worker(node_url, prefix, Caps(fields=60, node_fields=80)) as one:
            for cycle in range(CYCLES):
                fields = {f"f{n}": {"type": "keyword", "ignore_above": cycle + 1} for n in range(5)}
                mapping = {"properties": fields} if layout == "per-tenant" else {}
                entry = await one.run(create(one.cat, tenant, prefix, Plan(layout, mapping, {"index.number_of_replicas": 0})))
                used.add(entry.physical)
                if layout == "shared":
                    added = await one.run(add_fields(one.cat, tenant, prefix, entry.n, entry.physical, fields))
                    assert added.keys() == fields.keys()
                await one.run(delete(one.cat, tenant, [prefix]))
            with httpx.Client(base_url=node_url, timeout=60) as http:
                await until(lambda: physical(http, prefix) == [], "drained pools are dropped")

                def claims() -> int:  # what was claimed goes after the physical index
                    http.post(f"/{prefix}~catalogue-1/_refresh").raise_for_status()
                    query = {"query": {"term": {"kind": "claims"}}}
                    return http.post(f"/{prefix}~catalogue-1/_count", json=query).raise_for_status().json()["count"]

                await until(lambda: claims() == 0, "what was claimed in dropped pools is given back")

    asyncio.run(run())
    assert len(used) > 3, used


def test_aliases_of_searches_leave_a_pool_room_for_fields(node_url: str, prefix: str) -> None:
    """Whoever makes many of them finds no room any more; indices in the pool get their new fields as before."""
    fields = {f"f{n}": {"type": "keyword"} for n in range(20)}

    async def run() -> None:
        async with worker(node_url, prefix, Caps(fields=10, node_fields=30)) as one:
            entry = await one.run(create(one.cat, f"{prefix}t", prefix, Plan("shared", {}, {"index.number_of_replicas": 0})))
            first = dict(list(fields.items())[:4])
            added = await one.run(add_fields(one.cat, f"{prefix}t", prefix, entry.n, entry.physical, first))
            wanted = {entry.physical: added["f0"].physical}
            for n in range(6):
                await one.run(put_everywhere(one.cat, f"f0~{n}~000", wanted))
            for name in ("f0~6~000", "f0~7~000"):
                with pytest.raises(Full):
                    await one.run(put_everywhere(one.cat, name, wanted))
            await one.run(put_everywhere(one.cat, "f0~5~000", wanted))
            one.cat.alike.clear()
            await one.run(put_everywhere(one.cat, "f0~5~000", wanted))
            with pytest.raises(Taken):
                await one.run(put_everywhere(one.cat, "f0~5~000", {entry.physical: added["f1"].physical}))
            added = await one.run(add_fields(one.cat, f"{prefix}t", prefix, entry.n, entry.physical, fields))
            assert added.keys() == fields.keys()
            with httpx.Client(base_url=node_url, timeout=60) as http:
                mapping = http.get(f"/{entry.physical}/_mapping").raise_for_status().json()[entry.physical]["mappings"]
            assert len([each for each in mapping["properties"].values() if each["type"] == "alias"]) == 6

    asyncio.run(run())


# --- what is not ours -------------------------------------------------------------------------------------------


def test_audit_leaves_alone_what_this_catalogue_never_gave_out(
    node_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Pools of another catalogue, and documents of a number that was never given out here, are reported and stay; a dropped
    generation that a late write made anew goes."""
    caplog.set_level(logging.WARNING, logger="esproxy.catalogue")

    async def run() -> None:
        async with worker(node_url, prefix) as one:
            plan = Plan("shared", {}, {"index.number_of_replicas": 0})
            kept = await one.run(create(one.cat, "acme", prefix, plan))
            gone = await one.run(create(one.cat, "acme", f"{prefix}-gone", plan))
            await one.run(delete(one.cat, "acme", [f"{prefix}-gone"]))
            with httpx.Client(base_url=node_url, timeout=60) as http:
                await until(lambda: physical(http, prefix) == [kept.physical], "an empty pool is dropped")
                foreign = [f"pool~{prefix}-other-0123456789abcdef-1", f"{kept.family}-1", f"{kept.family}-9999999999"]
                for name in (*foreign, gone.physical):
                    http.put(f"/{name}/_doc/acme.1:x?routing=acme.1&refresh=true", json={}).raise_for_status()
                strange = f"acme.{kept.n + 1000}"
                http.put(f"/{kept.physical}/_doc/{strange}:x?routing={strange}&refresh=true", json={}).raise_for_status()
                await until(lambda: gone.physical not in physical(http, prefix), "what a late write made anew is dropped")
                found = await one.run(audit(one.cat))
                assert set(foreign) <= set(found.foreign) and found.strange == [(kept.physical, strange)]
                await until(lambda: strange in caplog.text and "look like pools" in caplog.text, "what is odd is reported")
                assert physical(http, prefix) == sorted([kept.physical, *foreign])
                assert http.get(f"/{kept.physical}/_count").json()["count"] == 1

    asyncio.run(run())
