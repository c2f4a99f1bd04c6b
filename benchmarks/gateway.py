"""What the Gateway itself costs of a request, in each layout: no socket, no shell, no engine.

    python benchmarks/gateway.py                                   # all layouts and rows, about a minute
    python benchmarks/gateway.py --layout shared --row "get by id" --seconds 5
    python benchmarks/gateway.py --layout shared --profile 25      # which functions the time goes to

The requests are those of the wire benchmark (cases.py), several tenants and answers in turn, and a document that is indexed. The
node is played by answers made here, with the tenant's physical names, ids, routings and nesting in them; what the client must get
is made the same way without them. So what is compared, byte by byte, does not come from the code that is measured: the client's
answer, and what is asked of the node, which is read as JSON and stripped of the scope (``asked``). The catalogue is in memory and
may be believed, as it is in a worker nearly always.

Each figure is CPU time (of this process, per exchange, the median over rounds), beside two yardsticks that take turns with
it: reading and writing the bodies of request and answer with orjson, and copying them. Compare ratios, not microseconds.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import orjson
import report
from cases import HEADER, ROWS, TENANTS, VARIANTS, Call, Wrong, calls, creating, document, first_difference

from esproxy.catalogue import names
from esproxy.catalogue.documents import OPEN, Directory, Entry, Field, Index
from esproxy.catalogue.store import Stored
from esproxy.cluster import Cluster
from esproxy.config import LAYOUTS_AVAILABLE, Settings
from esproxy.exchange import Answer, Need, Reply, Send
from esproxy.exchange import Call as Asked
from esproxy.gateway import Gateway
from esproxy.heads import AnswerHead, Head
from esproxy.serve.follower import new_catalogue

INDEX = "books"
LOGS = f"{INDEX}-logs"
NUMBERS = {INDEX: 17, LOGS: 18}  # of the logical indices in their tenant's directory
INDEXED = "index"  # the row that cases.py does not have
NAMES = [row.name for row in ROWS] + [INDEXED]
ROUNDS = 9
ANSWERED = [(b"content-type", b"application/json; charset=UTF-8"), (b"x-opensearch-version", b"OpenSearch/3.8.0")]
INFO = {"name": "n", "cluster_name": "c", "cluster_uuid": "u" * 22, "version": {"distribution": "opensearch", "number": "3.8.0"}}


# --- a Gateway whose tenants have their indices ---------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a tenant's index lies: in ``dedicated`` under its prefix, in pools with a scope."""

    layout: str
    tenant: str
    index: str

    @property
    def physical(self) -> str:
        if self.layout == "dedicated":
            return f"{self.tenant}.{self.index}"
        return f"pool~{self.index}-1" if self.layout == "shared" else f"pool~{self.tenant}-{self.index}-1"

    @property
    def scope(self) -> str:
        return "" if self.layout == "dedicated" else f"{self.tenant}.{NUMBERS[self.index]}:"

    def stored(self, source: Any) -> Any:
        return {f"n{NUMBERS[self.index]}": source} if self.layout == "per-tenant" else source


def made_gateway(layout: str) -> Gateway:
    settings = Settings.model_validate(
        {
            "clusters": {"main": {"nodes": ["http://127.0.0.1:9"]}},
            "tenants": {"ids": list(TENANTS)},
            "identity": {"header": HEADER},
            "placement": {"layout": layout, "cluster": "main"},
        }
    )
    catalogue = None if layout == "dedicated" else new_catalogue("main")
    gateway = Gateway(settings, catalogue)
    gateway.clusters["main"] = Cluster("main", "opensearch", INFO)
    if catalogue is not None:
        cache = catalogue.cache
        cache.settled_from = float("-inf")
        cache.grant(cache.clock(), 1e9, True)
        for tenant in TENANTS:
            entries = {}
            for index, number in NUMBERS.items():
                physical = Place(layout, tenant, index).physical
                entries[index] = Entry(number, layout, physical.removesuffix("-1"), physical, OPEN)
                id = names.index_id(tenant, number)
                cache.docs[id] = Stored(id, number, 1, index_document(layout, tenant, index))
            id = names.directory_id(tenant)
            cache.docs[id] = Stored(id, 1, 1, Directory(tenant, 100, indices=entries))
    return gateway


def index_document(layout: str, tenant: str, index: str) -> Index:
    """As it is after ``cases.creating``."""
    made = json.loads(creating(index).body)
    fields = {}
    for name, definition in made["mappings"]["properties"].items():
        fields[name] = Field(definition, name)
        for below, its in definition.get("fields", {}).items():
            fields[f"{name}.{below}"] = Field(its, f"{name}.{below}")
    settings = {"index.number_of_shards": 1, "index.number_of_replicas": 0}
    number, family = NUMBERS[index], Place(layout, tenant, index).physical.removesuffix("-1")
    return Index(tenant, index, number, layout, family, made["mappings"], settings, fields=fields)


# --- cases --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """A request of one tenant, and both sides' answers to it."""

    row: str
    place: Place
    call: Call
    answer: bytes
    expected: bytes

    @property
    def head(self) -> Head:
        call = self.call
        headers = [(b"host", b"127.0.0.1:8080"), (HEADER.encode(), self.place.tenant.encode())]
        if call.body:
            headers += [(b"content-type", call.media.encode()), (b"content-length", b"%d" % len(call.body))]
        return Head(call.method, call.target.encode(), headers, "127.0.0.1")


def cases(layout: str, row: str) -> list[Made]:
    found = []
    for tenant, call, wanted in _asked(row):
        place = Place(layout, tenant, LOGS if row == "bulk of 100" else INDEX)
        answers = [orjson.dumps(_answer(row, wanted, place, physical)) for physical in (True, False)]
        found.append(Made(row, place, call, *answers))
    return found


def _asked(row: str) -> Generator[tuple[str, Call, Any]]:
    if row == INDEXED:
        for variant in range(VARIANTS):
            for tenant in TENANTS:
                stored = document(tenant, variant)
                call = Call("PUT", f"/{INDEX}/_doc/{tenant}-{variant}", json.dumps(stored).encode(), "application/json")
                yield tenant, call, [(f"{tenant}-{variant}", stored)]
        return
    kind = next(one for one in ROWS if one.name == row)
    for tenant, variant, call in calls(kind, INDEX):
        yield tenant, call, kind.wanted(tenant, variant)


def _answer(row: str, wanted: list[tuple[str, Any]], place: Place, physical: bool) -> dict[str, Any]:
    """The node's answer, or the client's."""
    index, scope = (place.physical, place.scope) if physical else (place.index, "")
    routing = {"_routing": scope} if scope else {}
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    if row.startswith("search"):
        hits = [
            {"_index": index, "_id": scope + id, "_score": None, **routing, "_source": _source(place, source, physical),
             "sort": [source["number"]]}
            for id, source in wanted
        ]  # fmt: skip
        total = {"value": len(hits), "relation": "eq"}
        return {"took": 3, "timed_out": False, "_shards": shards, "hits": {"total": total, "max_score": None, "hits": hits}}
    if row == "get by id":
        ((id, source),) = wanted
        version = {"_version": 1, "_seq_no": 5, "_primary_term": 1}
        own = _source(place, source, physical)
        return {"_index": index, "_id": scope + id, **version, **routing, "found": True, "_source": own}
    done = {"total": 1, "successful": 1, "failed": 0}
    created = {"_version": 1, "result": "created", "_shards": done}
    written = [
        {"_index": index, "_id": scope + id, **created, "_seq_no": number, "_primary_term": 1}
        for number, (id, _) in enumerate(wanted)
    ]
    if row == INDEXED:
        return written[0]
    return {"took": 3, "errors": False, "items": [{"index": {**item, "status": 201}} for item in written]}


def _source(place: Place, source: Any, physical: bool) -> Any:
    return place.stored(source) if physical else source


# --- what the node is asked -------------------------------------------------------------------------------


def check_asked(case: Made, send: Send) -> None:
    """Raises Wrong unless it is the client's request, for this tenant's documents alone."""
    place, call = case.place, case.call
    target, _, query = send.target.decode().partition("?")
    body = send.body if isinstance(send.body, bytes) else b""
    path = call.target.replace(f"/{INDEX}/", f"/{place.physical}/")
    scoped = {f"routing={place.scope}"} if place.scope else set()
    if case.row in ("get by id", INDEXED):
        front, id = path.rsplit("/", 1)
        path = f"{front}/{place.scope}{id}"
    wanted: Any = [orjson.loads(line) for line in call.body.splitlines()]
    got = [orjson.loads(line) for line in body.splitlines()]
    if case.row.startswith("search"):
        wanted = [_searched(wanted[0], place)]
    elif case.row == INDEXED:
        wanted = [_nested(wanted[0], place)]
    elif case.row == "bulk of 100":
        wanted = [_line(line, place) for line in wanted]
        scoped = set()
    if send.method != call.method or target != path or set(filter(None, query.split("&"))) - scoped or got != wanted:
        raise Wrong(f"[{case.row}] of {place.tenant}: the node is asked {send.method} {send.target!r} {body[:600]!r}")
    if scoped and case.row in ("get by id", INDEXED) and not query:
        raise Wrong(f"[{case.row}] of {place.tenant}: the node is asked without the scope's routing")


def _searched(tree: dict[str, Any], place: Place) -> dict[str, Any]:
    if not place.scope:
        return tree
    query = _nested_names(tree["query"], place)
    only = {"bool": {"filter": [{"prefix": {"_routing": place.scope}}], "must": [query]}}
    return {**tree, "query": only, "sort": _nested_names(tree["sort"], place)}


def _nested_names(tree: Any, place: Place) -> Any:
    """Names of fields in the queries of cases.py, where documents lie in an object."""
    if place.layout != "per-tenant":
        return tree
    fields = document(TENANTS[0], 0).keys()
    front = f"n{NUMBERS[place.index]}."
    if isinstance(tree, dict):
        return {front + key if key in fields else key: _nested_names(value, place) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_nested_names(value, place) for value in tree]
    return front + tree if tree in fields else tree


def _nested(tree: dict[str, Any], place: Place) -> dict[str, Any]:
    own: dict[str, Any] = place.stored(tree)
    return own


def _line(line: dict[str, Any], place: Place) -> dict[str, Any]:
    if "index" not in line:
        return _nested(line, place)
    meta = line["index"]
    routing = {"routing": place.scope} if place.scope else {}
    return {"index": {**meta, "_index": place.physical, "_id": place.scope + meta["_id"], **routing}}


# --- an exchange ------------------------------------------------------------------------------------------


def exchange(gateway: Gateway, case: Made, head: Head, seen: Callable[[Send], None] | None = None) -> Reply:
    """From the request's bytes to the answer's, as a shell drives it, with one upstream call."""
    under_way, step = gateway.open(head, case.call.body, True)
    if isinstance(step, Send):
        if seen is not None:
            seen(step)
        step = under_way.open_answer(AnswerHead(200, ANSWERED, len(case.answer)), 1, case.answer, True)
    elif isinstance(step, Need):
        wish = step.procedure.send(None)
        assert isinstance(wish, Asked), wish
        if seen is not None:
            seen(wish.send)
        try:
            step.procedure.send(Answer(200, ANSWERED, case.answer))
        except StopIteration as end:
            step = under_way.resume(end.value)
    assert isinstance(step, Reply), step
    return step


def check(gateway: Gateway, found: list[Made]) -> None:
    """Every case, byte by byte. Raises Wrong."""
    for case in found:
        reply = exchange(gateway, case, case.head, lambda send, case=case: check_asked(case, send))  # type: ignore[misc]
        if reply.status != 200 or reply.body != case.expected:
            difference = first_difference(reply.body, case.expected)
            raise Wrong(f"[{case.row}] of {case.place.tenant}: status {reply.status}, {difference}")


# --- figures ------------------------------------------------------------------------------------------------


def timed(work: Callable[[], None], seconds: float) -> float:
    """CPU seconds of one call."""
    times, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < seconds:
        work()
        times += 1
    return spent / times


def figures(gateway: Gateway, found: list[Made], seconds: float) -> dict[str, list[float]]:
    """Of one exchange: µs, how many times reading and writing the bodies, how many times copying them; [median, least, most]."""
    bodies = [body for case in found for body in (case.call.body, case.answer)]
    lines = [line for body in bodies for line in body.splitlines()]

    def exchanges() -> None:
        for case in found:
            exchange(gateway, case, case.head)

    def rewritten() -> None:
        for line in lines:
            orjson.dumps(orjson.loads(line))

    def copied() -> None:
        for body in bodies:
            bytearray(body)

    rounds = []
    for _ in range(ROUNDS):
        own, tree, copy = (timed(work, seconds / ROUNDS / 3) for work in (exchanges, rewritten, copied))
        rounds.append((own / len(found) * 1e6, own / tree, own / copy))
    return dict(zip(("cpu_us", "to_orjson", "to_copy"), map(report.spread, map(list, zip(*rounds, strict=True))), strict=True))


def profile(gateway: Gateway, found: list[Made], seconds: float, lines: int) -> None:
    prepared = [(case, case.head) for case in found]
    profiler = cProfile.Profile()
    profiler.enable()
    timed(lambda: [exchange(gateway, case, head) for case, head in prepared] and None, seconds)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(lines)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--layout", action="append", choices=LAYOUTS_AVAILABLE, help="may be given again (default: all)")
    options.add_argument("--row", action="append", choices=NAMES, help="may be given again (default: all)")
    options.add_argument("--seconds", type=float, default=2.0, help="of CPU for each figure, yardsticks included (default: 2)")
    options.add_argument("--profile", type=int, metavar="LINES", help="show where the time goes instead")
    options.add_argument("--store", metavar="NAME", help="keep the figures in benchmarks/results/NAME.json")
    args = options.parse_args()
    results = report.circumstances(None, None) | {"rows": {}}
    print(f"{'':<14}{'':<20}{'CPU µs':>10}{'× orjson':>10}{'× copy':>10}")
    try:
        for layout in args.layout or LAYOUTS_AVAILABLE:
            gateway = made_gateway(layout)
            for row in args.row or NAMES:
                found = cases(layout, row)
                check(gateway, found)
                if args.profile:
                    profile(gateway, found, args.seconds, args.profile)
                    continue
                got = results["rows"].setdefault(row, {})[layout] = figures(gateway, found, args.seconds)
                check(gateway, found)
                own, tree, copy = (got[name][0] for name in ("cpu_us", "to_orjson", "to_copy"))
                print(f"{layout:<14}{row:<20}{own:>10.1f}{tree:>10.2f}{copy:>10.1f}", flush=True)
    except Wrong as wrong:
        print(f"gateway: WRONG: {wrong}", file=sys.stderr)
        return 1
    print("every answer and every upstream request was compared; none was wrong")
    if args.store:
        report.store(args.store, results, "gateway")
    return 0


if __name__ == "__main__":
    sys.exit(main())
