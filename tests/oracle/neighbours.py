"""The other tenants of the cluster: what they hold, their canaries, and their state as lines.

They have indices of the same names as the tenant under test, with the same ids, and documents whose fields collide in
type (text where the other has numbers, objects where it has text). Whatever they hold carries a *canary*, a random
marker of its own: in index names, aliases, ids, field names, values, settings and mappings. No byte that the tenant under test
gets may contain one.

In pools, indices of one name share a physical one only when they were created alike. So one neighbour (``UNTOLD``) creates
indices without a body, as an index that a document makes, and fills them with fields that collide in type; and one (``ALIKE``)
creates each as a scenario does, with its own documents in it. The others' indices have the canary in their mapping, and so lie
apart.
"""

from __future__ import annotations

import json
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from esproxy.catalogue import scopes
from esproxy.catalogue.names import CATALOGUE, behind, scope
from tests.oracle.answer import Raw
from tests.oracle.client import Client
from tests.oracle.run import SCRIPTS, Run, delete

TENANT = "acme"  # the one under test
# One whose name the tenant's begins with, one that begins with the tenant's, one beside it.
OTHERS = ("a", "acme-eu", "zenith")
EVERYTHING = "zenith"  # holds all names; the others some
UNTOLD = "a"
ALIKE = "acme-eu"
Bodies = Mapping[str, dict[str, Any]]
SOME = {"a", "b", "ab", "books", "lib", "left", "logs-a", "refs", "right"}
JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
PIPED = ("stamp", "moves")  # names that scenarios use for pipelines that are there
PIPELINES = ("nope", "absent")  # names that scenarios use for pipelines that are not there
FIELDS = ("a", "k", "n", "t", "u", "d", "o", "title", "tags", "total", "place", "colours", "list")
FEW = 4  # of them in indices that are not among SOME


@dataclass(slots=True)
class Neighbour:
    tenant: str
    canary: str = field(default_factory=lambda: "canary" + secrets.token_hex(8))

    def load(self, client: Client, names: Iterable[str], alike: Bodies) -> None:
        """Fills the tenant's indices, through the proxy; those of ``alike`` as these bodies say, as far as they take a
        document."""
        names = [*names, f"{self.canary}-own"]
        for name in [*names, f".{self.canary}-hidden"]:
            body = alike.get(name, self.definition(name))
            aliases = {alias: properties for alias, properties in (body.get("aliases") or {}).items() if alias not in names}
            body = {**body, "aliases": aliases} if "aliases" in body else body
            _ok(client.send("PUT", "/" + quote(name, safe=""), JSON, json.dumps(body).encode()), name)
        self.load_templates(client)
        self.load_scripts(client)
        self.load_pipelines(client)
        lines: list[object] = []
        for name in names:
            for place, one in enumerate(("1", "2", self.canary)):
                lines += [{"index": {"_index": name, "_id": one}}, {} if name in alike else self.document(name, place)]
        raw = client.send("POST", "/_bulk?refresh=true", NDJSON, "".join(json.dumps(line) + "\n" for line in lines).encode())
        _ok(raw, "bulk")
        failed = {item["index"]["_index"] for item in json.loads(raw.body)["items"] if item["index"]["status"] != 201}
        if failed - alike.keys():
            raise RuntimeError(f"{self.tenant}: {sorted(failed)}: {raw.body[:500]!r}")

    def load_templates(self, client: Client) -> None:
        """Under names that others use too; a tenant's match all that is its own, and would everybody's."""
        matched = ["*"] if self.tenant in OTHERS else [f"{self.canary}*"]
        template = {"aliases": {f"{self.canary}-templated": {}}, "mappings": {"_meta": {"of": self.canary}}}
        for kind, body in (
            ("_component_template/base", {"template": template}),
            ("_template/old", {"index_patterns": matched, "order": 7, **template}),  # which could not come behind the next
            ("_index_template/logs", {"index_patterns": matched, "priority": 7, "template": template}),
        ):
            _ok(client.send("PUT", f"/{kind}", JSON, json.dumps(body).encode()), kind)

    def load_pipelines(self, client: Client) -> None:
        for name in PIPED:
            pipeline = {"processors": [{"set": {"field": "stolen", "value": self.canary}}]}
            _ok(client.send("PUT", f"/_ingest/pipeline/{name}", JSON, json.dumps(pipeline).encode()), name)

    def load_scripts(self, client: Client) -> None:
        for name in SCRIPTS:
            source = f"String mine = '{self.canary}'; doc['k'].value"
            script = {"script": {"lang": "painless", "source": source}}
            _ok(client.send("PUT", f"/_scripts/{name}", JSON, json.dumps(script).encode()), name)

    def definition(self, name: str) -> dict[str, Any]:
        """What an index is created with."""
        if self.tenant == UNTOLD and not name.startswith("."):
            return {"aliases": {f"{self.canary}-alias": {}}}
        fields: dict[str, Any] = {f"{self.canary}_f": {"type": "keyword"}}
        if name not in SOME:  # one of very many: what its documents bring is said beforehand, for each change takes its time
            fields["secret"] = {"type": "text"}
            for position, one in enumerate(FIELDS[:FEW]):
                made = {"of": {"type": "text"}, "at": {"type": "long"}}
                fields[one] = {"type": "text"} if position % 2 else {"properties": made}
        return {
            "settings": {"number_of_shards": 1, "number_of_replicas": 0, **({"hidden": True} if name.startswith(".") else {})},
            "aliases": {f"{self.canary}-alias": {}},
            "mappings": {"_meta": {"of": self.canary}, "dynamic": True, "properties": fields},
        }

    def document(self, name: str, place: int) -> dict[str, object]:
        """Text for numbers, objects for text; the canary everywhere."""
        document: dict[str, object] = {
            f"{self.canary}_f": self.canary,
            "secret": f"{self.canary} quick brown fox dog fish red {place}",
        }
        for position, one in enumerate(FIELDS if name in SOME else FIELDS[:FEW]):
            document[one] = f"{self.canary} {one}" if position % 2 else {"of": self.canary, "at": place}
        return document


@dataclass(slots=True)
class Decoys:
    """What lies on the node under the very names that a client uses, without any tenant's prefix: indices, a stored
    script, pipelines. Whoever forgets a prefix finds these, and their canary."""

    canary: str = field(default_factory=lambda: "canary" + secrets.token_hex(8))
    tenant: str = "nobody"

    def load(self, node: Client, names: Iterable[str]) -> None:
        Neighbour(self.tenant, self.canary).load(node, names, {})
        script = {"script": {"lang": "painless", "source": f"ctx._source.stolen = '{self.canary}'"}}
        _ok(node.send("PUT", "/_scripts/nope", JSON, json.dumps(script).encode()), "script")
        pipeline = {"processors": [{"set": {"field": "stolen", "value": self.canary}}]}
        for name in PIPELINES:
            _ok(node.send("PUT", f"/_ingest/pipeline/{name}", JSON, json.dumps(pipeline).encode()), "pipeline")

    @staticmethod
    def remove(node: Client, tenants: Iterable[str] = (*OTHERS, TENANT)) -> None:
        """Whatever is not an index, of these tenants too; indices are cleared with all others."""
        tenants = tuple(tenants)
        templates = ("/_index_template/*", "/_template/*", "/_component_template/*")
        scripts = [f"/_scripts/{name}" for name in ("nope", *SCRIPTS)]
        scripts += [f"/_scripts/{tenant}.{name}" for tenant in tenants for name in SCRIPTS]
        piped = [f"/_ingest/pipeline/{front}{name}" for name in PIPED for t in tenants for front in (f"{t}.", f"{t}~")]
        piped += [f"/_ingest/pipeline/{name}" for name in (*PIPELINES, *PIPED)]
        for target in (*scripts, *templates, *piped):
            raw = node.send("DELETE", target, {}, None)
            if raw.status not in (200, 404):
                raise RuntimeError(f"{target}: {raw.status} {raw.body[:300]!r}")


def _ok(raw: Raw, what: str) -> None:
    if raw.status not in (200, 201):
        raise RuntimeError(f"{what}: {raw.status} {raw.body[:500]!r}")


def machines(node: Client) -> frozenset[bytes]:
    """What tells a node of the cluster from all others, in lower case: its id, its address with the port, its folders, and its
    name where it is long enough not to be met by chance."""
    raw = node.send("GET", "/_nodes", {}, None)
    _ok(raw, "GET /_nodes")
    found: set[str] = set()
    for id, told in json.loads(raw.body)["nodes"].items():
        found |= {id, told["transport_address"], told.get("http", {}).get("publish_address", id)}
        found |= {told["name"]} if len(told["name"]) > 7 else set()
        data = told.get("settings", {}).get("path", {}).get("data", id)
        found |= {data} if isinstance(data, str) else set(data)
    return frozenset(one.lower().encode() for one in found)


State = frozenset[bytes]  # compressed lines


def differing(before: State, after: State) -> list[str]:
    """Lines that are in one of them, beginnings of the first few: none when nothing has changed."""
    gone, new = sorted(before - after)[:5], sorted(after - before)[:5]
    return [f"{sign} {zlib.decompress(line)[:1000].decode()}" for sign, lines in (("-", gone), ("+", new)) for line in lines]


@dataclass(slots=True)
class Neighbours:
    """All of them, on one node. ``node`` speaks to the node itself, past the proxy."""

    node: Client
    all: list[Neighbour | Decoys]
    machines: frozenset[bytes] = frozenset()  # ids, names and addresses of nodes

    @property
    def tenants(self) -> tuple[str, ...]:
        return tuple(one.tenant for one in self.all if isinstance(one, Neighbour))

    def leaks(self, raw: Raw) -> list[str]:
        """Whose canary or name the bytes of an answer hold."""
        seen = raw.everything().lower()
        marks = [(one.tenant, one.canary.encode()) for one in self.all]
        marks += [(f"a physical name of {tenant}", f"{tenant}.".encode()) for tenant in self.tenants if len(tenant) > 1]
        marks.append((f"a physical name of {TENANT}", f"{TENANT}.".encode()))
        marks += [("a name of the catalogue's", mark) for mark in (b"esproxy~", b"pool~", b"own~", b"one~")]
        return [who for who, mark in marks if mark in seen]

    def shows_a_machine(self, raw: Raw) -> bool:
        """Not a leak among tenants, and some answers still show the id of a node: for what must hide it."""
        seen = raw.everything().lower()
        return any(machine in seen for machine in self.machines)

    def canaries(self, seen: bytes) -> list[str]:
        """Whose canaries bytes hold; physical names that an attacker sent are echoed, and do not count."""
        return [one.tenant for one in self.all if one.canary.encode() in seen]

    def state(self, only: frozenset[str] = frozenset()) -> State:
        """What the other tenants have, as lines: mappings, settings, aliases and documents of indices under their prefix; of
        those in pools, what the catalogue says and the documents. ``only``: of these logical names, and of the decoys with
        them."""
        parts = [*self._prefixed(only), *self._pooled(only), *self._templates(), *self._scripts()]
        each = (item for part in parts for item in (part.items() if isinstance(part, dict) else part))
        return frozenset(zlib.compress(json.dumps(one, sort_keys=True).encode(), 1) for one in each)

    def _prefixed(self, only: frozenset[str]) -> Iterator[Any]:
        """All at once, or in the fewest parts that fit into an address: attacks ask for this after each of theirs."""
        fronts = tuple(f"{tenant}." for tenant in self.tenants)
        theirs = []
        for name in sorted(physical_indices(self.node)):
            if name in only if not name.startswith(fronts) else not only or name.partition(".")[2] in only:
                theirs.append(quote(name, safe=""))
        for start in range(0, len(theirs), 40):
            path = "/" + ",".join(theirs[start : start + 40])
            raw = self.node.send("GET", path + "?flat_settings=true", {}, None)
            _ok(raw, path)
            yield json.loads(raw.body)
            _ok(self.node.send("POST", path + "/_refresh", {}, None), path)  # what was written and not refreshed is a change
            yield self._documents(path, b'{"query":{"match_all":{}}}')

    def _templates(self) -> Iterator[Any]:
        fronts = (*(f"{tenant}." for tenant in self.tenants), "base", "logs", "old")
        for kind in ("component_template", "index_template"):
            listed = json.loads(self.node.send("GET", f"/_{kind}", {}, None).body)[f"{kind}s"]
            yield sorted((one for one in listed if one["name"].startswith(fronts)), key=lambda one: one["name"])
        legacy = json.loads(self.node.send("GET", "/_template", {}, None).body)
        yield {name: body for name, body in legacy.items() if name.startswith(fronts)}

    def _scripts(self) -> Iterator[Any]:
        found = json.loads(self.node.send("GET", "/_ingest/pipeline", {}, None).body)
        fronts = tuple(front for tenant in self.tenants for front in (f"{tenant}.", f"{tenant}~"))
        yield {name: body for name, body in found.items() if name.startswith((*fronts, *PIPED, *PIPELINES))}
        scripts = json.loads(self.node.send("GET", "/_cluster/state/metadata?filter_path=metadata.stored_scripts", {}, None).body)
        kept = {*SCRIPTS, *(f"{tenant}.{script}" for tenant in self.tenants for script in SCRIPTS)}
        yield {name: body for name, body in scripts.get("metadata", {}).get("stored_scripts", {}).items() if name in kept}

    def _pooled(self, only: frozenset[str]) -> Iterator[Any]:
        if behind(CATALOGUE) not in physical_indices(self.node):
            return
        _ok(self.node.send("POST", f"/{CATALOGUE}/_refresh", {}, None), CATALOGUE)
        kept = self._documents(f"/{CATALOGUE}", b'{"query":{"match_all":{}}}')
        theirs = [hit["_source"] for hit in kept if hit["_source"].get("tenant") in self.tenants]
        found = []
        for directory in (one for one in theirs if one["kind"] == "directory"):
            entries = {name: entry for name, entry in directory["indices"].items() if not only or name in only}
            # What the proxy notes for itself is swept when its time comes, whatever anybody does.
            yield entries if only else {key: value for key, value in directory.items() if key not in ("changes", "tombstones")}
            found += [scope(directory["tenant"], entry["n"]) for entry in entries.values()]
        yield [one for one in theirs if one["kind"] == "index" and (not only or one["name"] in only)]
        query = json.dumps({"query": scopes.query(found)}).encode()
        pools = f"/{quote('pool~*,own~*,one~*')}"
        _ok(self.node.send("POST", f"{pools}/_refresh?expand_wildcards=open,hidden", {}, None), pools)
        yield self._documents(pools, query)

    def _documents(self, path: str, query: bytes) -> list[Any]:
        """All of them, with versions and sequence numbers, in the order of their ids. A refusal or more than fit is an error."""
        options = "size=10000&version=true&seq_no_primary_term=true&expand_wildcards=all&track_total_hits=true"
        raw = self.node.send("POST", f"{path}/_search?{options}", JSON, query)
        _ok(raw, path)
        hits = json.loads(raw.body)["hits"]
        if hits["total"]["value"] > 10000:
            raise RuntimeError(f"{path}: {hits['total']['value']} documents")
        for hit in hits["hits"]:
            del hit["_score"]  # in a pool it depends on what else lies there
        return sorted(hits["hits"], key=lambda hit: (hit["_index"], hit["_id"]))


def physical_indices(node: Client) -> list[str]:
    """Names of all, from the cluster's state: a cat table asks every shard for figures."""
    raw = node.send("GET", "/_all/_settings/index.uuid?expand_wildcards=all", {}, None)
    _ok(raw, "GET /_all/_settings")
    return list(json.loads(raw.body))


def creations(runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
    """The indices that scenarios make on a bare node, by name, each with the body that first made it; ``{}``: a document did."""
    found: dict[str, dict[str, Any]] = {}
    for played in (one for run in runs for one in run.played if 200 <= one.raw.status < 300):
        path = urlsplit(played.sent).path.strip("/").split("/")
        made: dict[str, dict[str, Any]] = {}
        if played.call.method == "PUT" and len(path) == 1:
            try:
                made[path[0]] = json.loads(played.body or b"{}")
            except ValueError:
                continue  # what only a lenient parser takes
        elif isinstance(played.answer.body, dict):
            items = [next(iter(item.values())) for item in played.answer.body.get("items") or () if isinstance(item, dict)]
            new = [one for one in (played.answer.body, *items) if one.get("result") == "created"]
            made = {one["_index"]: {} for one in new if "_index" in one}  # which filter_path may have left out
        for name, body in made.items():
            if re.fullmatch(r"[a-z0-9-]{1,40}", name):
                found.setdefault(name, body)
    return found


def clear(node: Client) -> None:
    """Empties a node that was empty before: by names, for a node may forbid deleting by patterns."""
    names = physical_indices(node)
    for start in range(0, len(names), 50):
        part = ",".join(quote(name, safe="") for name in names[start : start + 50])
        _ok(delete(node, part), "DELETE")
