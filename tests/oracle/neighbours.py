"""The other tenants of the cluster: what they hold, their canaries, and their state as one hash.

They have indices of the same names as the tenant under test, with the same ids, and documents whose fields collide in
type (text where the other has numbers, objects where it has text). Whatever they hold carries a *canary*, a random
marker of its own: in index names, aliases, ids, field names, values, settings and mappings. No byte that the tenant under test
gets may contain one.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote

from tests.oracle.answer import Raw
from tests.oracle.client import Client

TENANT = "acme"  # the one under test
# One whose name the tenant's begins with, one that begins with the tenant's, one beside it.
OTHERS = ("a", "acme-eu", "zenith")
EVERYTHING = "zenith"  # holds all names; the others some
SOME = {"a", "b", "ab", "books", "lib", "left", "logs-a", "refs", "right"}
JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
PIPELINES = ("nope", "absent")  # names that scenarios use for pipelines that are not there
FIELDS = ("a", "k", "n", "t", "u", "d", "o", "title", "tags", "total", "place", "colours", "list")


@dataclass(slots=True)
class Neighbour:
    tenant: str
    canary: str = field(default_factory=lambda: "canary" + secrets.token_hex(8))

    def load(self, client: Client, names: Iterable[str]) -> None:
        """Fills the tenant's indices, through the proxy."""
        for name in [*names, f"{self.canary}-own", f".{self.canary}-hidden"]:
            hidden = name.startswith(".")
            body = {
                "settings": {"number_of_shards": 1, "number_of_replicas": 0, **({"hidden": True} if hidden else {})},
                "aliases": {f"{self.canary}-alias": {}},
                "mappings": {"_meta": {"of": self.canary}, "dynamic": True, "properties": {f"{self.canary}_f": {"type": "keyword"}}},
            }
            _ok(client.send("PUT", "/" + quote(name, safe=""), JSON, json.dumps(body).encode()), name)
        lines: list[object] = []
        for name in [*names, f"{self.canary}-own"]:
            for place, one in enumerate(("1", "2", self.canary)):
                lines += [{"index": {"_index": name, "_id": one}}, self.document(place)]
        body_bytes = "".join(json.dumps(line) + "\n" for line in lines).encode()
        raw = client.send("POST", "/_bulk?refresh=true", NDJSON, body_bytes)
        _ok(raw, "bulk")
        if b'"errors":false' not in raw.body:
            raise RuntimeError(f"{self.tenant}: {raw.body[:500]!r}")

    def document(self, place: int) -> dict[str, object]:
        """Text for numbers, objects for text; the canary everywhere."""
        document: dict[str, object] = {f"{self.canary}_f": self.canary, "secret": f"{self.canary} quick brown fox dog fish red {place}"}
        for position, name in enumerate(FIELDS):
            document[name] = f"{self.canary} {name}" if position % 2 else {"of": self.canary, "at": place}
        return document


@dataclass(slots=True)
class Decoys:
    """What lies on the node under the very names that a client uses, without any tenant's prefix: indices, a stored
    script, pipelines. Whoever forgets a prefix finds these, and their canary."""

    canary: str = field(default_factory=lambda: "canary" + secrets.token_hex(8))
    tenant: str = "nobody"

    def load(self, node: Client, names: Iterable[str]) -> None:
        Neighbour(self.tenant, self.canary).load(node, names)
        script = {"script": {"lang": "painless", "source": f"ctx._source.stolen = '{self.canary}'"}}
        _ok(node.send("PUT", "/_scripts/nope", JSON, json.dumps(script).encode()), "script")
        pipeline = {"processors": [{"set": {"field": "stolen", "value": self.canary}}]}
        for name in PIPELINES:
            _ok(node.send("PUT", f"/_ingest/pipeline/{name}", JSON, json.dumps(pipeline).encode()), "pipeline")

    @staticmethod
    def remove(node: Client) -> None:
        """Whatever is not an index; those are cleared with all others."""
        for target in ("/_scripts/nope", *(f"/_ingest/pipeline/{name}" for name in PIPELINES)):
            raw = node.send("DELETE", target, {}, None)
            if raw.status not in (200, 404):
                raise RuntimeError(f"{target}: {raw.status} {raw.body[:300]!r}")


def _ok(raw: Raw, what: str) -> None:
    if raw.status not in (200, 201):
        raise RuntimeError(f"{what}: {raw.status} {raw.body[:500]!r}")


@dataclass(slots=True)
class Neighbours:
    """All of them, on one node. ``node`` speaks to the node itself, past the proxy."""

    node: Client
    all: list[Neighbour | Decoys]

    def leaks(self, raw: Raw) -> list[str]:
        """Whose canary or name the bytes of an answer hold."""
        seen = raw.everything().lower()
        marks = [(one.tenant, one.canary.encode()) for one in self.all]
        marks += [(f"a physical name of {tenant}", f"{tenant}.".encode()) for tenant in OTHERS if len(tenant) > 1]
        marks.append((f"a physical name of {TENANT}", f"{TENANT}.".encode()))
        return [who for who, mark in marks if mark in seen]

    def canaries(self, seen: bytes) -> list[str]:
        """Whose canaries bytes hold; physical names that an attacker sent are echoed, and do not count."""
        return [one.tenant for one in self.all if one.canary.encode() in seen]

    def state(self, only: frozenset[str] = frozenset()) -> str:
        """Mappings, settings, aliases and documents of the other tenants (``only``: of the physical names given), as one hash."""
        listed = self.node.send("GET", "/_cat/indices?h=index&expand_wildcards=all", {}, None).body.decode()
        names = sorted(name for name in listed.splitlines() if name.startswith(tuple(f"{tenant}." for tenant in OTHERS)))
        if only:
            names = [name for name in listed.splitlines() if name.rstrip() in only]
        digest = hashlib.sha256()
        for name in (one.rstrip() for one in names):
            path = "/" + quote(name, safe="")
            definition = json.loads(self.node.send("GET", path + "?flat_settings=true", {}, None).body)
            digest.update(json.dumps(definition, sort_keys=True).encode())
            found = json.loads(self.node.send("GET", path + "/_search?size=100&version=true&seq_no_primary_term=true&sort=_doc", {}, None).body)
            digest.update(json.dumps(found.get("hits", found), sort_keys=True).encode())
        return digest.hexdigest()


def clear(node: Client) -> None:
    """Empties a node that was empty before: by names, for a node may forbid deleting by patterns."""
    listed = node.send("GET", "/_cat/indices?h=index&expand_wildcards=all", {}, None).body.decode()
    names = [line.rstrip() for line in listed.split("\n") if line.strip()]
    for start in range(0, len(names), 50):
        part = ",".join(quote(name, safe="") for name in names[start : start + 50])
        _ok(node.send("DELETE", "/" + part, {}, None), "DELETE")
