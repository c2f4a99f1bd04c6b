"""Ten other tenants on the node: what they hold, and a fingerprint of it that is cheap enough for every test.

They have indices under the names that the suite uses most, with the same ids, and whatever they hold carries a random canary
(tests/oracle/neighbours.py loads them). No answer may hold one of these, nor a physical name.

**The fingerprint** needs no content. A write to a document takes the next sequence number of its shard: an index of one's own
is unchanged when its number and its metadata's version are. In a pool other tenants' writes take numbers too: there each of the
others' documents has the number it was written with, and the catalogue's documents about them are read whole. Templates, scripts
and pipelines of theirs come from the cluster state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue import scopes
from esproxy.catalogue.names import CATALOGUE, PHYSICAL, behind, scope
from tests.conformance.wire import Answer, Target
from tests.oracle.client import WireClient
from tests.oracle.neighbours import Neighbour

TENANT = "acme"  # the one under test
TENANTS = ("a", "acme-eu", "acme_eu", "ac", "0zone", "birch", "cedar", "larch", "maple", "zenith")
NAMES = (
    *("test", "test_1", "test_index", "test-index", "source", "test_2", "test1", "goodbad", "index1", "test_scroll"),
    *("test_index1", "foo", "test_3", "logs-1", "index_1", "target"),
)
EACH = 5  # of these names, a different stretch for each
NUMBERED = ("templates", "stored_scripts")
NESTED = (("index_template", "index_template"), ("component_template", "component_template"), ("ingest", "pipeline"))
MOST = 5000


@dataclass(slots=True)
class Others:
    """``node`` speaks to the node itself, past the proxy."""

    node: Target
    all: list[Neighbour] = field(default_factory=lambda: [Neighbour(tenant) for tenant in TENANTS])
    before: dict[str, Any] = field(default_factory=dict)

    def settle(self, client: Callable[[str], WireClient]) -> None:
        """Loads them through the proxy."""
        for place, one in enumerate(self.all):
            names = [NAMES[(place * EACH + step) % len(NAMES)] for step in range(EACH)]
            with closing(client(one.tenant)) as tenant:
                one.load(tenant, names, {})
        self.before = self.state()

    def marks(self) -> list[bytes]:
        """What no answer to the tenant under test may hold."""
        canaries = [one.canary.encode() for one in self.all]
        return [*canaries, *(f"{tenant}.test".encode() for tenant in (*TENANTS, TENANT)), b"esproxy~", b"pool~", b"own~", b"one~"]

    def seen_in(self, answer: Answer) -> list[str]:
        return [mark.decode() for mark in self.marks() if answer.holds(mark)]

    def changed(self) -> list[str]:
        """What of theirs is not as it was, since they were loaded or since the last change that was told."""
        now = self.state()
        different = [name for name in sorted(self.before.keys() | now.keys()) if self.before.get(name) != now.get(name)]
        self.before = now
        return different

    def state(self) -> dict[str, Any]:
        """By name of what it is about."""
        fronts = ",".join(f"{tenant}.*" for tenant in TENANTS)
        kept = "metadata.indices.*.version,metadata.indices.*.state,metadata.templates,metadata.index_template"
        kept += ",metadata.component_template,metadata.ingest,metadata.stored_scripts"
        told = self._read("GET", f"/_cluster/state/metadata/{fronts}?expand_wildcards=all&filter_path={kept}")
        metadata = told.get("metadata", {})
        found: dict[str, Any] = {f"index {name}": one for name, one in metadata.get("indices", {}).items()}
        found |= _theirs(metadata)
        if any(name.startswith("index ") for name in found):
            numbers = "filter_path=indices.*.uuid,indices.*.shards.seq_no,indices.*.shards.*.seq_no"
            stats = self._read("GET", f"/{fronts}/_stats/docs?level=shards&expand_wildcards=all&{numbers}")
            found |= {f"numbers {name}": one for name, one in stats.get("indices", {}).items()}
        return found | self._pooled()

    def _pooled(self) -> dict[str, Any]:
        if self.node.send("HEAD", f"/{behind(CATALOGUE)}").error:
            return {}
        query = {"size": MOST, "query": {"terms": {"tenant": list(TENANTS)}}}
        self._read("POST", f"/{CATALOGUE}/_refresh")
        told = [hit["_source"] for hit in self._hits(CATALOGUE, query) if hit["_source"].get("tenant") in TENANTS]
        found: dict[str, Any] = {f"catalogue {one['tenant']} {one['kind']} {one.get('n', '')}": one for one in told}
        directories = [one for one in told if one["kind"] == "directory"]
        owned = [scope(one["tenant"], entry["n"]) for one in directories for entry in one["indices"].values()]
        self._read("POST", f"/{PHYSICAL}/_refresh?expand_wildcards=all")
        query = {"size": MOST, "query": scopes.query(owned), "seq_no_primary_term": True, "_source": False}
        for hit in self._hits(PHYSICAL, query):
            found[f"document {hit['_index']} {hit['_id']}"] = hit["_seq_no"]
        return found

    def _hits(self, indices: str, query: dict[str, Any]) -> list[dict[str, Any]]:
        hits = self._read("POST", f"/{indices}/_search?expand_wildcards=all", query)["hits"]
        if hits["total"]["value"] > MOST:
            raise RuntimeError(f"{indices}: {hits['total']} documents, more than a fingerprint takes")
        return list(hits["hits"])

    def _read(self, method: str, target: str, body: Any = None) -> dict[str, Any]:
        answer = self.node.json(method, target, body)
        if answer.error or (answer.body and not isinstance(answer.body, dict)):
            raise RuntimeError(f"{method} {target}: {answer.status} {answer.text[:300]}")
        return answer.body or {}


def _theirs(metadata: dict[str, Any]) -> dict[str, Any]:
    """Templates, scripts and pipelines by name. A cluster's state lists pipelines, and names the rest."""
    fronts = tuple(front for tenant in TENANTS for front in (f"{tenant}.", f"{tenant}~"))
    named: list[tuple[str, str, Any]] = [(kind, name, one) for kind in NUMBERED for name, one in metadata.get(kind, {}).items()]
    for kind, inner in NESTED:
        held = metadata.get(kind, {}).get(inner, {})
        items: Iterable[tuple[str, Any]] = held.items() if isinstance(held, dict) else [(one["id"], one) for one in held]
        named += [(kind, name, one) for name, one in items]
    return {f"{kind} {name}": json.dumps(one, sort_keys=True) for kind, name, one in named if name.startswith(fronts)}
