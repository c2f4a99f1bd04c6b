"""Writes through ingest pipelines, for indices in pools.

A pipeline works on the document that its client wrote: under the client's own names of index and fields, with its id and routing.
In a pool none of these are so on the node. So no pipeline runs where the node writes. The node is asked beforehand what one makes
of the documents, as for ``_simulate``, which writes nothing; what comes out is written like any document of the client's::

    the request's pipeline, the record's own, or its index's default ─▶ simulated ─▶ the last one of the index it is for by then
        ─▶ simulated ─▶ a document, perhaps for another index, by another id or routing: as if its client had sent it so
                    └─▶ nothing: it was dropped, it failed, there is no such pipeline

So nothing that a pipeline makes of a document can leave its tenant: the name that comes out is one of the client's, and is
resolved as one; ids and routing values get their scope behind all that a pipeline can do.

**What comes to nothing is told by the node.** Such a record is sent as one of an index outside of pools is: through the outside
pipeline (``esproxy.metadata.ingest``), to the name under the prefix, and only if that is an alias, which no pipeline can change.
So the answer is the node's own, and a pipeline that makes a document of it this time (it may go by the clock) has it written
nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from esproxy import core, exact
from esproxy.answer import Walk
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.errors import EsproxyError, Failed, Refusal
from esproxy.exchange import Answer, Call, Send
from esproxy.plan import Plan
from esproxy.pools.bodies import no_document
from esproxy.pools.bulk_lines import Record
from esproxy.pools.creation import settings_of_templates
from esproxy.pools.pooled import Pooled
from esproxy.rewriting.places import text_of
from esproxy.tenancy.expressions import concrete
from esproxy.tenancy.one_name import behind, check_new_name
from esproxy.tenancy.placement import DEDICATED
from esproxy.tenancy.target import UNFILTERED, Target

JSON = [(b"content-type", b"application/json")]
NO_PIPELINE = "_none"
NO_ALIAS = "[require_alias] request flag is [true]"
# Metadata as pipelines call it → as an action line does.
CONDITIONS = {
    "_version": "version",
    "_version_type": "version_type",
    "_if_seq_no": "if_seq_no",
    "_if_primary_term": "if_primary_term",
}
NOBODYS = ("-3", "-4", "internal", "")  # what a node makes of them where nobody has given any
AT_ONCE = 1 << 20  # bytes of documents in one simulation, whose answer is read as a tree
MOST = 1_000  # simulations for one request: each pipeline is one at least, and so is each document that no node reads
TOO_LARGE = "unexpected value type [class java.math.BigInteger]"


class Pipelines(NamedTuple):
    """Of an index: the one that runs where none is asked for, and the one that runs at the end."""

    first: str | None = None
    last: str | None = None


def _named(pipeline: Any) -> str | None:
    return None if pipeline in (None, NO_PIPELINE) else str(pipeline)


def ingest(request: Pooled, records: list[Record]) -> Steps[bool]:
    """Every record as its pipelines make it, in place; what is ``stopped`` came to nothing. Tells whether any pipeline ran. For
    what lies outside of pools the node runs them."""
    own: dict[str, Pipelines | None] = {}
    runs: list[Run] = []
    for record in records:
        if record.verb == "delete" or record.source is None:
            continue
        if record.name not in own:
            own[record.name] = yield from _pipelines(request, record.name, makes=not record.aliased)
        of_index = own[record.name]
        if of_index is not None:
            run = _run_of(request, record, of_index)
            if run is not None:
                runs.append(run)
    _check_names(runs)
    yield from _run(request, [(run.record, run.first) for run in runs if run.first is not None])
    for run in runs:
        name = run.record.name
        if name != run.before and not run.record.settled:
            if run.part:
                run.record.name = run.before  # an update is of one document, whatever becomes of what it brings
                continue
            if name not in own:
                own[name] = yield from _pipelines(request, name, makes=not run.record.aliased)
            run.before, run.last = name, (own[name] or Pipelines()).last  # outside of pools the node runs it
    last = [(run, run.last) for run in runs if run.last is not None and not run.record.settled]
    yield from _run(request, [(run.record, pipeline) for run, pipeline in last])
    for run, pipeline in last:
        if run.record.name != run.before and not run.record.settled and not run.part:
            run.record.error = _moved(request, pipeline, run)
    for run in runs:
        _fold(run)
    return any(run.record.piped for run in runs)


class Run:
    """One record on its way. ``part``: of an update, the member of its body that goes through pipelines, as a record of its own;
    ``whole`` and ``body`` are the update then."""

    __slots__ = ("before", "body", "first", "last", "part", "record", "whole")

    def __init__(self, record: Record, first: str | None, last: str | None) -> None:
        self.record = record
        self.before = record.name
        self.first = first
        self.last = last
        self.part = ""
        self.whole = record
        self.body: dict[str, Any] = {}


def _run_of(request: Pooled, record: Record, own: Pipelines) -> Run | None:
    asked = asked_for(request, record)
    first = own.first if asked is None else _named(text_of(asked))
    if first is None and own.first is None and own.last is None:
        return None
    if record.verb != "update":
        return Run(record, first, own.last)
    body = _object(record.source)
    part = "doc" if body.get("doc_as_upsert") is True else "upsert"
    if not isinstance(body.get(part), dict):
        return None
    run = Run(Record("index", {}, exact.dumps(body[part]), record.name), own.first if part == "doc" else first, own.last)
    run.part, run.whole, run.body = part, record, body
    return run


def _object(raw: bytes | None) -> dict[str, Any]:
    try:
        tree = exact.loads(raw or b"")
    except ValueError:  # which is told behind
        return {}
    return tree if isinstance(tree, dict) else {}


def _fold(run: Run) -> None:
    """Put what has become of a part into its update."""
    part, whole = run.record, run.whole
    if not run.part or not part.piped:
        return
    whole.piped, whole.error, whole.stopped = True, part.error, part.stopped
    made = {"doc": {}, "upsert": exact.loads(part.source or b"")} if part.stopped else {}
    whole.source = exact.dumps(made or {**run.body, run.part: exact.loads(part.source or b"")})


def _check_names(runs: list[Run]) -> None:
    """Raises Refusal, in the nodes' words, for pipelines without a name."""
    empty = [run for run in runs if run.first == "" and not run.part]
    if empty:
        told = "".join(f" {number}: pipeline cannot be an empty string;" for number in range(1, len(empty) + 1))
        raise Refusal(f"Validation Failed:{told}", type="action_request_validation_exception")


def asked_for(request: Pooled, record: Record) -> Any:
    """The pipeline that a record, or the request, names; None where the index's default is wanted."""
    asked = record.meta.get("pipeline", request.plan.query.get("pipeline"))
    if asked is not None:
        record.meta.pop("pipeline", None)
    return asked


def _moved(request: Pooled, pipeline: str, run: Run) -> Refusal:
    reason = f"FINAL pipeline [{pipeline}] can't change the target index"
    if request.product:
        told = f"from [{run.before}] to [{run.record.name}]) for document [{run.record.meta.get('_id')}]"
        reason = f"final pipeline [{pipeline}] can't change the target index ({told}"
    return Refusal(reason, type="illegal_state_exception", status=500)


def _pipelines(request: Pooled, name: str, *, makes: bool) -> Steps[Pipelines | None]:
    """None for what lies, or would be made, outside of pools. A name that is none has none: its error is told behind. ``makes``:
    one that is not there would be made."""
    try:
        name = yield from request.dated(name, single=True)
        directory = yield from request.directory([name])
        if concrete(directory, name):
            if name in directory.aliases:
                directory = yield from request.look_beside(directory, [name])
                name = behind(name, directory, True)
            entry = directory.indices[name]
            if entry.layout == DEDICATED:
                return None
            settings = (yield from request.index_document(entry.n)).settings
        elif request.apart(name, directory) or (yield from request.is_beside(name)):
            return None
        else:
            check_new_name(name, request.product)
            settings = (yield from settings_of_templates(request, name, directory)) if makes else {}
    except Refusal:
        return Pipelines()
    return Pipelines(_named(settings.get("index.default_pipeline")), _named(settings.get("index.final_pipeline")))


def check_not_piped(plan: Plan, targets: list[Target]) -> None:
    """Raises Refusal for an operation whose documents are made by the node, so that no pipeline can be run before it writes."""
    asked = plan.query.get("pipeline", NO_PIPELINE) != NO_PIPELINE
    if asked or any(target.piped for target in targets):
        raise Refusal(f"[{plan.route.row.name}] through pipelines is not available yet for indices in pools")


# --- what they make of documents ---------------------------------------------------------------------------


def _run(request: Pooled, runs: list[tuple[Record, str]]) -> Steps[None]:
    """One call for records that share a pipeline, and whether they have an id."""
    groups: dict[tuple[str, bool], list[Record]] = defaultdict(list)
    for record, pipeline in runs:
        record.piped = True
        if _is_document(request, record, pipeline):
            groups[pipeline, "_id" in record.meta].append(record)
    for (pipeline, known), group in groups.items():
        for part in _parts(group, AT_ONCE):
            yield from _simulated(request, pipeline, part, known=known)


def _is_document(request: Pooled, record: Record, pipeline: str) -> bool:
    """Whether the source can be simulated; the record is refused, or left to the node, where not."""
    assert record.source is not None
    grammar, state = request.plan.cluster.engine.grammar, request.plan.cluster.engine.tables.roots["bulk.doc"]
    run = core.Pass(grammar, state, UNFILTERED, lambda kind, raw: raw, max_depth=request.pools.max_depth)
    try:
        run.feed(record.source, True)
        if run.status is core.Status.OK and record.source.lstrip()[:1] == b"{":
            return True
        sent = record.source if run.status is core.Status.OK else no_document(run, record.source, request.plan)
    except Refusal as error:
        sent = error
    if isinstance(sent, Refusal):
        record.error = sent
    else:
        record.stopped = pipeline
    return False


def _parts(records: list[Record], most: int) -> Iterator[list[Record]]:
    """As many at once as have ``most`` bytes together, and at least one."""
    part: list[Record] = []
    size = 0
    for record in records:
        assert record.source is not None
        if part and size + len(record.source) > most:
            yield part
            part, size = [], 0
        part.append(record)
        size += len(record.source)
    if part:
        yield part


def _simulated(request: Pooled, pipeline: str, records: list[Record], *, known: bool) -> Steps[None]:
    """``known``: they have an id; where none is given, simulations make one up, which is taken away first."""
    plan = request.plan
    request.simulations += 1
    if request.simulations > MOST:
        for record in records:
            record.error = too_many()
        return
    run: list[dict[str, Any]] = [{"pipeline": {"name": plan.owner().names.inside + pipeline}}]
    processors = run if known else [{"script": {"lang": "painless", "source": "ctx._id = null"}}, *run]
    body = b'{"pipeline":' + orjson.dumps({"processors": processors}) + b',"docs":['
    body += b",".join(map(_document, records)) + b"]}"
    send = Send(plan.cluster.name, "POST", build(["_ingest", "pipeline", "_simulate"], {}), JSON, body, True, True)
    answer: Answer = yield Call(send, request.pools.max_body, claim=request.claim)
    if answer.status == 400:  # one of them is none that a node reads
        if len(records) == 1:
            records[0].stopped = pipeline
        else:
            half = len(records) // 2
            yield from _simulated(request, pipeline, records[:half], known=known)
            yield from _simulated(request, pipeline, records[half:], known=known)
        return
    if answer.status != 200:
        raise Failed("the cluster does not run pipelines now", status=429 if answer.status == 429 else 503)
    with request.pools.answers.tree(request.tenant, answer.body):
        told = exact.loads(answer.body)["docs"]
        if len(told) != len(records):
            raise Failed("the node's answer has another number of documents than it was asked for", status=502)
        for record, one in zip(records, told, strict=True):
            _take(record, one if isinstance(one, dict) else {}, pipeline)
        del told


def too_many() -> Refusal:
    told = f"the documents of one bulk go through more pipelines, or more of them cannot be read, than [{MOST}] calls can tell"
    return Refusal(told, type="es_rejected_execution_exception", status=429)


def _document(record: Record) -> bytes:
    assert record.source is not None
    meta: dict[str, Any] = {"_index": record.name}
    if "_id" in record.meta:
        meta["_id"] = text_of(record.meta["_id"])
    if record.routing is not None:
        meta["_routing"] = record.routing
    given = {name: record.meta[key] for name, key in CONDITIONS.items() if record.meta.get(key) is not None}
    meta |= {"_version": -4 if record.verb == "create" else -3, "_version_type": "internal", **given}
    return orjson.dumps(meta)[:-1] + b',"_source":' + record.source + b"}"


def _take(record: Record, one: dict[str, Any], pipeline: str) -> None:
    """What a pipeline has made of a record."""
    made = one.get("doc")
    if not isinstance(made, dict) or not isinstance(made.get("_source"), dict):
        if TOO_LARGE in exact.dumps(one.get("error")).decode():  # simulations alone do not know what to make of it
            record.error = Refusal("a document with a number beyond 64 bits cannot go through a pipeline, for an index in a pool")
        else:
            record.stopped = pipeline
        return
    if not made.get("_index"):
        record.error = Refusal("the document is in no index")
        return
    record.executed.append(pipeline)
    record.source = exact.dumps(made["_source"])
    record.name = text_of(made["_index"])
    record.routing = None if made.get("_routing") is None else text_of(made["_routing"])
    record.meta.pop("_id", None)
    if made.get("_id") is not None:
        record.meta["_id"] = text_of(made["_id"])
    for name, key in CONDITIONS.items():
        told = text_of(made.get(name, ""))
        record.meta.pop(key, None)
        if told not in NOBODYS:
            record.meta[key] = told if key == "version_type" else _number(record, pipeline, told)


def _number(record: Record, pipeline: str, told: str) -> int:
    try:
        return int(told)
    except ValueError:
        record.error = Refusal(f"the pipeline [{pipeline}] has made a version of the document that is none")
        return 0


# --- what comes to nothing -----------------------------------------------------------------------------


def tell(request: Pooled, records: Iterable[Record]) -> Steps[None]:
    """Of each ``stopped`` record, what the node says: its ``item``."""
    stopped = [record for record in records if record.stopped is not None]
    if not stopped:
        return
    plan = request.plan
    body = b"".join(_line(request, record) for record in stopped)
    query = {name: plan.query[name] for name in ("list_executed_pipelines",) if name in plan.query}
    answer = yield request.send("POST", ["_bulk"], query, body, request.media)
    state = plan.answer_state()
    if answer.status != 200 or state is None:
        raise Failed("the cluster does not run pipelines now", status=429 if answer.status == 429 else 503)
    items = exact.loads(Walk(plan, state).feed(answer.body, True))["items"]
    if len(items) != len(stopped):
        raise Failed("the node's answer has another number of items than the bulk", status=502)
    for record, one in zip(stopped, items, strict=True):
        (item,) = one.values()
        if nothing_made(item.get("error")) or ("error" not in item and item.get("result") != "noop"):
            record.error = twice(record)
        else:
            record.item = one


def _line(request: Pooled, record: Record) -> bytes:
    assert record.stopped is not None and record.source is not None
    meta: dict[str, Any] = {**record.meta, "_index": request.plan.bulk_name(record.name), "require_alias": True}
    meta["pipeline"] = request.plan.name(record.stopped)
    if record.routing is not None:
        meta["routing"] = record.routing
    return orjson.dumps({record.verb: meta}) + b"\n" + record.source + b"\n"


def nothing_made(error: Any) -> bool:
    """Whether it was only missed that the index is an alias."""
    return isinstance(error, dict) and NO_ALIAS in str(error.get("reason"))


def twice(record: Record) -> EsproxyError:
    told = f"the pipeline [{record.stopped}] came to nothing for a document, and to something when it was run again"
    return Refusal(told, type="illegal_state_exception", status=500)
