"""Calls and sequences of calls, by chance and yet by a seed.

A call begins as one that a scenario has: its path gets names of the world, its body grows, parameters are added that the
endpoint has had. Writes make the next calls of the sequence see something else, so what is written is refreshed at once; what
ends an index (deleting, closing, blocks) is done to indices that the sequence itself has made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import parse_qsl, quote

from esproxy.api.kinds import Kind
from tests.oracle.generated.grow import Grower
from tests.oracle.generated.material import WORLD, Material, Taken, parts
from tests.oracle.run import SCRIPTS
from tests.oracle.scenario import Call, shared

READS = 0.85
LENGTH = 100  # calls of a sequence
APART = 0.1  # of the sequences also have what pools do not offer yet, which changes what comes behind it
LATER = ("search_pipeline.", "reindex", "tasks.", "get_all_pits", "delete_all_pits")
WRITES = {
    "index": 12, "bulk": 10, "update": 8, "create": 3, "delete": 3, "update_by_query": 6, "delete_by_query": 3,
    "indices.put_mapping": 6, "indices.put_alias": 4, "indices.update_aliases": 4, "indices.delete_alias": 2, "indices.create": 5,
    "indices.put_settings": 3, "indices.delete": 1, "indices.close": 1, "indices.open": 1, "indices.add_block": 1,
    "indices.remove_block": 1, "indices.rollover": 1, "indices.put_index_template": 1, "indices.put_template": 1,
    "cluster.put_component_template": 1, "indices.delete_index_template": 0.5, "indices.delete_template": 0.5,
    "cluster.delete_component_template": 0.5, "put_script": 2, "delete_script": 0.5, "reindex": 3,
    "ingest.put_pipeline": 4, "ingest.delete_pipeline": 1, "search_pipeline.put": 3, "search_pipeline.delete": 1,
    "indices.shrink": 1, "indices.split": 1, "indices.clone": 1,
}  # fmt: skip
OFTEN = {"search": 60, "msearch": 5, "count": 6, "mget": 4, "get": 4, "explain": 3, "field_caps": 3, "indices.validate_query": 3,
         "termvectors": 2, "terms_enum": 2, "search_template": 2, "scroll": 2}  # fmt: skip
# What changes the cluster, and what is told by the clock, also of when a node has refreshed, or of machines.
NEVER = frozenset(
    (
        "cluster.put_settings",
        "cluster.pending_tasks",
        "indices.forcemerge",
        "tasks.cancel",
        "info",
        "ping",
        "indices.segments",
        "cat.segments",
        "cat.nodes",
        "cat.fielddata",
    )
)
ENDING = frozenset(("indices.delete", "indices.close", "indices.open", "indices.add_block", "indices.remove_block",
                    "indices.rollover", "indices.shrink", "indices.split", "indices.clone", "indices.put_settings"))  # fmt: skip
TOKENS = {"create_pit": "pit_id", "open_point_in_time": "id"}
ONE = ("lib",) * 5 + ("left", "right", "refs", "rich", "kin", "shelf", "few")
SEVERAL = ("lib,left", "left,right", "both", "_all", "*", "l*", "r*,-right", "left,both", "lib,rich", "shelf,left", "kin,lib",
           "few,right")  # fmt: skip
IDS = (*"1234" * 4, "5", "7", "a-b", "ü/x")
ALIASES, TEMPLATES, PIPELINES = ("extra", "shelf", "more"), ("t1", "t2"), ("p1", "p2")
# Parameters that wait for what does not come, run on behind the answer, or tell of how a node is made.
LEFT_OUT = frozenset(
    """wait_for_completion pipeline search_pipeline wait_for_active_shards wait_for_status wait_for_nodes wait_for_events
    wait_for_no_relocating_shards wait_for_no_initializing_shards wait_for_completion_timeout requests_per_second
    refresh error_trace format if_seq_no if_primary_term timeout master_timeout cluster_manager_timeout op_type source
    source_content_type v level require_alias require_data_stream cancel_after_time_interval scroll routing index""".split()
)


@dataclass(slots=True)
class Sequence:
    """``calls``: those of the world first, and refreshes between; ``counted`` are the places of the generated ones."""

    name: str
    calls: list[Call]
    counted: list[int]


@dataclass(slots=True)
class Generator:
    material: Material
    random: Random
    grower: Grower = field(init=False)
    made: int = 0  # indices that the sequence has made
    scrolled: bool = False
    later: bool = False

    def __post_init__(self) -> None:
        self.grower = Grower(self.material, self.random)

    def begin(self, seed: str) -> None:
        """A sequence of its own, whatever came before."""
        self.random.seed(seed)
        self.made, self.scrolled, self.later = 0, False, self.random.random() < APART

    def call(self) -> Call:
        while True:
            found = self.attempt()
            if found is not None:
                return found

    def attempt(self) -> Call | None:
        write = self.random.random() >= READS
        names = [name for name in sorted(self.material.calls) if (name in WRITES) is write and self.offered(name)]
        weights = [(WRITES if write else OFTEN).get(name, 0.6) for name in names]
        taken = self.random.choice(self.material.calls[self.random.choices(names, weights)[0]])
        index = self.index()
        body = self.body(taken, index)
        text = "" if body is None else json.dumps(body)
        if "${" in text and taken.endpoint not in ("scroll", "clear_scroll"):
            return None
        parameters = self.parameters(taken)
        path = self.path(taken, index, text)
        save: dict[str, str] = {}
        if taken.endpoint == "search" and self.random.random() < 0.04 and '"pit"' not in text:
            parameters["scroll"], save["scroll"], self.scrolled = "1m", "_scroll_id", True
        if taken.endpoint in TOKENS:
            parameters.pop("filter_path", None)
            save["pit"] = TOKENS[taken.endpoint]
        if "refresh" in self.material.tables.endpoints[taken.endpoint].query and taken.endpoint in WRITES:
            parameters["refresh"] = "true"
        query = "&".join(f"{name}={quote(value, safe=',*:')}" for name, value in parameters.items())
        framed = self.material.tables.endpoints[taken.endpoint].framing is not None
        if taken.endpoint == "index" and not taken.template.endswith("{id}"):
            return None  # ids by chance come in another order each time
        raw = None if body is None else _payload(body, framed)
        media = None if body is None else "application/x-ndjson" if framed else "application/json"
        return Call(taken.method, path + (query and f"?{query}"), {}, raw, media, {"*": "2xx"}, save)

    def offered(self, name: str) -> bool:
        if name in NEVER or (name.startswith(LATER) and not self.later):
            return False
        if name in ("scroll", "clear_scroll"):
            return self.scrolled
        return self.made > 0 if name in ENDING else True

    # --- bodies ------------------------------------------------------------------------------------------------

    def body(self, taken: Taken, index: str) -> Any:
        endpoint = self.material.tables.endpoints[taken.endpoint]
        if taken.body is None or endpoint.request is None:
            return taken.body
        if taken.endpoint in ("scroll", "clear_scroll"):
            return json.loads(re.sub(r"\$\{\w+\}", "${scroll}", json.dumps(taken.body)))
        if taken.endpoint in ("index", "create"):
            return self.document(index)
        if endpoint.framing is None:
            return self.names(endpoint.request, self.grower.body(endpoint.request, taken.body))
        out = []
        for state, part in parts(self.material.tables, taken.endpoint, taken.body):
            if state == self.material.tables.roots["bulk.doc"]:
                out.append(self.document(index))
                continue
            if state == self.material.tables.roots["bulk.action"]:
                verb, line = next(iter(part.items()))
                grown = {verb: {"_id": self.random.choice(IDS), **line}}
            else:
                grown = self.grower.body(state, part)
            out.append(self.names(state, grown))
        return out

    def names(self, state: int, body: Any) -> Any:
        """With names of the world for those that are none."""
        return self.material.renamed(state, body, self.name)

    def name(self, kind: Kind, name: str) -> str:
        if kind in (Kind.INDEX, Kind.EXPR) and not set(name.split(",")) <= {*ONE, *SEVERAL}:
            return self.index()
        listed = {Kind.ALIAS: ALIASES, Kind.TEMPLATE: TEMPLATES, Kind.PIPELINE: PIPELINES, Kind.SEARCH_PIPELINE: PIPELINES}
        if kind in listed:
            return self.random.choice(listed[kind])
        if kind is Kind.STORED_SCRIPT and name.replace("-", "").isalnum():
            return self.random.choice(SCRIPTS)
        return name

    def document(self, index: str) -> dict[str, Any]:
        """One of the index's, with values of others in some fields, and now and then a field that is new; seldom another's."""
        documents = self.material.documents.get(index, self.material.documents["lib"])
        if self.random.random() < 0.08:
            documents = self.material.documents[self.random.choice(sorted(self.material.documents))]
        document = dict(self.random.choice(documents))
        for key in list(document):
            others = [one[key] for one in documents if key in one]
            if self.random.random() < 0.3:
                document[key] = self.random.choice(others)
            elif self.random.random() < 0.1:
                del document[key]
        if self.random.random() < 0.1:
            values = (1, 2.5, "word", "2020-05-05", True, [1, 2], {"x": 1, "y": "z"}, "two words", None, [])
            document[f"new{self.random.randrange(4)}"] = self.random.choice(values)
        return document

    # --- targets -----------------------------------------------------------------------------------------------

    def index(self) -> str:
        if self.material.engine.kind == "es" and self.random.random() < 0.05:
            return "vec"
        return self.random.choice(ONE)

    def own(self) -> str:
        return f"made-{self.random.randint(1, max(self.made, 1))}"

    def path(self, taken: Taken, index: str, body: str) -> str:
        endpoint = self.material.tables.endpoints[taken.endpoint]
        sent = [part for part in taken.target.partition("?")[0].split("/") if part]
        out = []
        for part, given in zip([part for part in taken.template.split("/") if part], sent, strict=True):
            if not part.startswith("{"):
                out.append(part)
                continue
            kind = endpoint.path.get(part[1:-1], Kind.COPY)
            out.append(self.segment(taken, kind, given, index, body))
        return "/" + "/".join(out)

    def segment(self, taken: Taken, kind: Kind, given: str, index: str, body: str) -> str:
        if taken.endpoint == "indices.create":
            self.made += 1
            return f"made-{self.made}"
        if kind in (Kind.INDEX, Kind.EXPR):
            if taken.endpoint in ENDING or (self.made and self.random.random() < 0.05):
                return self.own()
            if any(f'"{field}"' in body for field in ("comp", "plain", "jn")) and self.random.random() < 0.7:
                return "kin"
            if taken.ours and taken.endpoint not in ("index", "create", "bulk") and given in ONE and self.random.random() < 0.7:
                return given
            return self.random.choice(SEVERAL) if kind is Kind.EXPR and self.random.random() < 0.25 else index
        if kind is Kind.ID:
            return quote(self.random.choice(IDS), safe="")
        if kind in (Kind.ALIAS, Kind.TEMPLATE, Kind.PIPELINE, Kind.SEARCH_PIPELINE):
            return self.name(kind, given)
        if kind is Kind.STORED_SCRIPT:
            return self.random.choice(SCRIPTS)
        if kind is Kind.CURSOR:
            return "${scroll}"
        return given

    def parameters(self, taken: Taken) -> dict[str, str]:
        given = dict(parse_qsl(taken.target.partition("?")[2], keep_blank_values=True))
        found = {name: value for name, value in given.items() if name not in LEFT_OUT or name == "routing"}
        had = self.material.parameters.get(taken.endpoint, {})
        known = {name: values for name, values in had.items() if name not in LEFT_OUT}
        while known and self.random.random() < 0.2:
            name = self.random.choice(sorted(known))
            if known[name]:
                found.setdefault(name, self.random.choice(known[name]))
        return found


def _payload(body: Any, framed: bool) -> bytes:
    lines = body if framed else [body]
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + (b"\n" if framed else b"") for line in lines)


def sequences(material: Material, seed: int, calls: int) -> Iterator[Sequence]:
    """As many as hold this number of calls. The same seed gives the same."""
    generator = Generator(material, Random())
    world = [call for call in shared(WORLD) if material.engine.is_one_of(call.engines)]
    for number in range((calls + LENGTH - 1) // LENGTH):
        generator.begin(f"{seed}/{number}")
        found = Sequence(f"{seed}/{number}", list(world), [])
        for _ in range(min(LENGTH, calls - number * LENGTH)):
            found.counted.append(len(found.calls))
            found.calls.append(generator.call())
        yield found
