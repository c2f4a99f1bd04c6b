"""``_bulk`` over indices in ``shared``.

    read every line · run pipelines · make the indices that are not there · add the fields that are not there · send · restore

Lines are split as nodes do it: a line feed ends a line, blank action lines are skipped. A broken action line or update body
refuses the whole bulk, as on a node. A record that is refused here goes to a name that no index can have: that is one item's
400 on every node, in its place, and what the item says is replaced by the reason; so does one of which pipelines make nothing.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import core, exact
from esproxy.answer import encode, is_error
from esproxy.bodyerrors import refusal
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import EsproxyError, Failed, Refusal, invalid_index_name
from esproxy.exchange import Large, Reply
from esproxy.plan import Plan
from esproxy.pools.bodies import ROUNDS, DocumentResolver, no_document
from esproxy.pools.bulk_lines import Record, read_lines
from esproxy.pools.documents import EXTERNAL, physical_id
from esproxy.pools.ingest import NO_PIPELINE, asked_for, ingest, tell
from esproxy.pools.plain_bulk import plain_bulk
from esproxy.pools.pooled import Apart, Missing, Pooled
from esproxy.pools.reply import reply as restored_reply
from esproxy.pools.stored import with_sources
from esproxy.pools.updates import asks_for_document, for_one_case, makes_document
from esproxy.procedures.made_id import new_id
from esproxy.rewriting.places import text_of
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.restore import PoolAnswer, client_headers, finish, restore
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.tenancy.expressions import concrete
from esproxy.tenancy.one_name import check_new_name, missing, no_alias
from esproxy.tenancy.target import NOWHERE, Target

JSON = b"application/json"
SOURCE = ("_source", "_source_includes", "_source_excludes")


def bulk(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    query = physical_query(plan, [], PoolResolver(plan, []))
    if not request.body:
        answer = yield request.send("POST", ["_bulk"], query, b"", request.media)  # refused, in the node's words
        return restored_reply(request, answer)
    plain = plain_bulk(request)
    if plain is not None:
        answer = yield request.send("POST", ["_bulk"], query, plain, request.media)
        return restored_reply(request, answer)
    records = read_lines(request)
    aliased = query.get("require_alias") == "true"
    if aliased:
        del query["require_alias"]  # the node would look at physical names, which are never aliases
    for record in records:
        asked = record.meta.pop("require_alias", aliased) is True
        record.aliased = asked and record.verb != "delete"  # where nodes do not look at it
    query.pop("pipeline", None)
    began = request.cat.clock()
    piped = yield from ingest(request, records)
    yield from tell(request, records)
    took = int((request.cat.clock() - began) * 1000) if piped else None
    yield from _find_targets(request, records)
    for name in SOURCE:
        query.pop(name, None)
    for record in records:
        _address(request, record)
    state = plan.cluster.engine.tables.roots["bulk.update"]
    for record in records:
        if record.verb == "update" and record.source is not None and record.target is not None:
            record.source = yield from with_sources(request, state, record.source)
    yield from _rewrite_sources(request, records)
    body = b"".join(_lines(record) for record in records)
    answer = yield request.send("POST", ["_bulk"], query, body, request.media)
    reader = PoolAnswer(plan, request.targets.values(), request.sent_as)
    out = restore(plan, answer, reader)
    if not is_error(answer.status, answer.body):
        out = _with_own(plan, out, records, took, executed=plan.query.get("list_executed_pipelines", "false") != "false")
    return finish(plan, answer.status, client_headers(plan, answer, reader), out)


# --- where records go ----------------------------------------------------------------------------------


def _find_targets(request: Pooled, records: list[Record]) -> Steps[None]:
    piped = any(record.piped for record in records)
    records = [record for record in records if not record.settled]
    for name in {record.name for record in records if record.name.startswith("<")}:
        dated = yield from _dated(request, name, [record for record in records if record.name == name])
        for record in records:
            record.name = dated if record.name == name else record.name
    records = [record for record in records if not record.settled]
    wanted = list(dict.fromkeys(record.name for record in records))
    directory = yield from request.directory(wanted)
    apart = [name for name in wanted if request.apart(name, directory)]
    if apart and len(apart) == len(wanted) and not piped:
        raise Apart
    targets: dict[str, Target | EsproxyError] = {}
    for name in wanted:
        try:
            if concrete(directory, name):
                targets[name] = yield from request.one(name, write=True)
                continue
            if name in apart:
                targets[name] = yield from request.outside(name, directory)
                continue
            check_new_name(name, request.product)
            if (yield from request.is_beside(name)):  # an alias of indices of their own
                apart.append(name)
                targets[name] = yield from request.outside(name, directory)
                continue
            if any(record.name == name and _makes_index(record) for record in records):
                raise Missing(name)
            targets[name] = missing(name, request.product, request.plan.cluster.before_9)
        except Failed:
            raise
        except EsproxyError as error:
            targets[name] = error if name else invalid_index_name("", "must not be empty")
    for record in records:
        found = targets[record.name]
        if record.aliased and record.name in apart:
            record.meta["require_alias"] = True  # the node knows
        if record.aliased and record.name not in directory.aliases and record.name not in apart:
            record.error = no_alias(record.name)
        elif isinstance(found, EsproxyError):
            record.error = found
        else:
            record.target = found


def _dated(request: Pooled, name: str, records: list[Record]) -> Steps[str]:
    """The name that this date math comes to. What a pipeline has made of one record is its own error, where it is none."""
    try:
        return (yield from request.dated(name, single=True))
    except Refusal as error:
        if not all(record.piped for record in records):
            raise
        for record in records:
            record.error = error
    return name


def _makes_index(record: Record) -> bool:
    """A deletion does by a version of its own alone, so that older writes cannot come after it."""
    return not record.aliased and (record.verb != "delete" or record.meta.get("version_type") in EXTERNAL)


def _address(request: Pooled, record: Record) -> None:
    """The action line."""
    if record.target is None:
        return _refuse(request, record, record.error)
    given = record.meta.get("_id")
    try:
        id = new_id() if given is None else text_of(given)
        if not id:
            raise Refusal("if _id is specified it must not be empty")
        if isinstance(record.meta.get("dynamic_templates"), dict):
            _templates(record, record.target)
        sent = physical_id(record.target, id)
        returned = _returned(request, record) if record.verb == "update" else {}
    except Refusal as error:
        return _refuse(request, record, error)
    asked = NO_PIPELINE if record.piped else asked_for(request, record)
    if record.target.dedicated and asked is not None and record.verb != "delete":  # where the node runs them
        record.meta["pipeline"] = request.plan.name(text_of(asked))
    routing = record.target.routing(id, record.routing)
    record.action = {record.verb: {**record.meta, **returned, "_index": record.target.physical, "_id": sent, **routing}}


def _templates(record: Record, target: Target) -> None:
    """Which dynamic template makes which field: the node's to apply where the node adds the fields."""
    record.templates = record.meta.pop("dynamic_templates")
    if not target.naming.inferred:
        record.meta["dynamic_templates"] = {target.naming.field(path): name for path, name in record.templates.items()}


def _returned(request: Pooled, record: Record) -> dict[str, Any]:
    """What of its document an update answers with: by the record itself or by the parameters, which are for all of them."""
    plan, target = request.plan, record.target
    assert target is not None
    wanted: Any = record.meta.get("_source")
    if wanted is None:
        value, includes, excludes = (plan.query.get(name) for name in SOURCE)
        if value in ("true", "false", ""):
            wanted = value != "false"
        elif value is not None:
            includes = value
        if includes is not None or excludes is not None:
            wanted = {"includes": includes.split(",") if includes else [], "excludes": excludes.split(",") if excludes else []}
    if wanted is None or isinstance(wanted, bool):
        return {} if wanted is None else {"_source": wanted}
    resolver = PoolResolver(plan, [target])

    def renamed(names: Any) -> Any:
        return [renamed(name) for name in names] if isinstance(names, list) else resolver.field(text_of(names))

    if isinstance(wanted, dict):
        return {"_source": {key: renamed(names) for key, names in wanted.items()}}
    return {"_source": renamed(wanted)}


def _refuse(request: Pooled, record: Record, error: EsproxyError | None) -> None:
    """Let the node refuse this record, so that its item is in its place; what the item says is replaced."""
    record.error, record.target = error, None
    record.action = {record.verb: {"_index": NOWHERE, "_id": "-"}}
    record.out = None if record.source is None else b'{"doc":{}}'
    request.sent_as[NOWHERE] = record.name


# --- documents -----------------------------------------------------------------------------------------


def _rewrite_sources(request: Pooled, records: list[Record]) -> Steps[None]:
    """Every source as it is sent. Fields that are not there yet are added first, once per index and round."""
    pending = [record for record in records if record.source is not None and record.target is not None]
    for _ in range(ROUNDS):
        wanted: dict[str, dict[str, dict[str, Any]]] = {}
        resolvers: Resolvers = {}
        asking = [record for record in pending if _rewrite_source(request, record, wanted, resolvers)]
        if asking:
            yield from _look(request, records, asking)
        elif not wanted:
            return
        for scope, fields in wanted.items():
            target = request.targets[scope]
            yield from _add(
                request,
                target,
                fields,
                [record for record in pending if record.target is not None and record.target.scope == scope],
            )
        pending = [record for record in pending if record.out is None and record.error is None]
        for record in pending:
            assert record.target is not None
            record.target = request.targets[record.target.scope]
    raise Failed("the fields of the index change too fast")


def _add(request: Pooled, target: Target, fields: dict[str, dict[str, Any]], records: list[Record]) -> Steps[None]:
    """Add all fields at once; where that is refused, what each document brings by itself, so that the others go on."""
    try:
        yield from request.add(target, fields)
    except Refusal:
        for record in records:
            if record.out is not None or record.error is not None:
                continue
            alone: dict[str, dict[str, dict[str, Any]]] = {}
            _rewrite_source(request, record, alone, {})
            try:
                if alone:
                    yield from request.add(target, alone[target.scope])
            except Refusal as error:
                _refuse(request, record, error)
    yield from request.renewed(target)


Resolvers = dict[tuple[str, bool], DocumentResolver]  # one for many records: by scope, and whether a routing was given


def _look(request: Pooled, records: list[Record], asking: list[Record]) -> Steps[None]:
    """Which of their documents these updates will use, by what was there before the bulk and what it does before them."""
    lines = [record.action[record.verb] for record in asking]
    docs = [{key: line[key] for key in ("_index", "_id", "routing") if key in line} | {"_source": False} for line in lines]
    media = JSON if request.media is None else request.media.replace(b"x-ndjson", b"json")  # of the version that is accepted
    answer = yield request.send("POST", ["_mget"], {}, orjson.dumps({"docs": docs}), media)
    there = {(doc["_index"], doc["_id"]): doc.get("found") is True for doc in parsed(answer, 200)["docs"]}
    wanted = {id(record) for record in asking}
    for record in records:
        line = record.action[record.verb]
        key = line["_index"], line.get("_id")
        if record.error is not None or key not in there:
            continue
        source = record.source or b""
        if id(record) in wanted:
            record.there, record.source = there[key], for_one_case(source, there=there[key])
        if record.verb == "delete":
            there[key] = False
        elif record.verb != "update" or makes_document(source):
            there[key] = True


def _rewrite_source(request: Pooled, record: Record, wanted: dict[str, dict[str, dict[str, Any]]], resolvers: Resolvers) -> bool:
    """Does it depend on a document's being there what has to be done for the record? Otherwise it is done or noted."""
    plan, target, source = request.plan, record.target, record.source
    if record.out is not None or target is None or source is None:
        return False
    key = target.scope, record.verb == "update" or bool(record.routing)
    resolver = resolvers.get(key) if not record.templates else None
    if resolver is None:
        resolver = DocumentResolver(plan, target, routed=key[1], templates=record.templates)
        if not record.templates:
            resolvers[key] = resolver
    roots = plan.cluster.engine.tables.roots
    state = roots["bulk.update"] if record.verb == "update" else roots["bulk.doc"]
    run = core.Pass(plan.cluster.engine.grammar, state, target.written, resolver, max_depth=request.pools.max_depth)
    undecided = record.verb == "update" and record.there is None
    try:
        out = run.feed(source, True)
    except Refusal as error:
        if undecided and asks_for_document(source):
            return True
        _refuse(request, record, error)
        return False
    if run.misses:
        new, resolver.wanted = resolver.wanted, {}
        if undecided and asks_for_document(source):
            return True
        wanted.setdefault(target.scope, {}).update(new)
    elif run.status is core.Status.OK:
        record.out = out
    elif record.verb == "update":
        raise refusal(plan, run, source)
    else:
        sent = no_document(run, source, plan)
        if isinstance(sent, Refusal):
            _refuse(request, record, sent)
        else:
            record.out = sent
    return False


def _lines(record: Record) -> bytes:
    line = orjson.dumps(record.action) + b"\n"
    return line if record.source is None else line + (record.out or b"") + b"\n"


def _with_own(plan: Plan, body: bytes, records: list[Record], took: int | None, *, executed: bool) -> bytes:
    """Put what is known beforehand into the items of the records that the node was made to refuse; and what pipelines did."""
    own = [(at, record) for at, record in enumerate(records) if record.error is not None or record.item is not None]
    looked = [(at, record) for at, record in enumerate(records) if record.there is False and record.error is None]
    if not own and not looked and took is None:
        return body
    tree = exact.loads(body)
    if len(tree["items"]) != len(records):
        raise Failed("the node's answer has another number of items than the bulk", status=502)
    for at, record in looked:
        if tree["items"][at]["update"].get("result") not in (None, "created"):  # what was sent was for no document at all
            record.error = Failed("another request has made the document meanwhile")
            own.append((at, record))
    for at, record in own:
        tree["items"][at] = {record.verb: _item(record)} if record.item is None else record.item
    items = [item for one in tree["items"] for item in one.values()]
    if executed:
        for item, record in zip(items, records, strict=True):
            if record.piped and "executed_pipelines" in item and record.item is None:
                item["executed_pipelines"] = record.executed
    told = {} if took is None else {"ingest_took": took}
    done = {name: value for name, value in tree.items() if name != "items"}
    errors = any("error" in item for item in items)
    return encode(plan, {**done, **told, "errors": errors, "items": tree["items"]})  # the items last, as nodes have them


def _item(record: Record) -> dict[str, Any]:
    assert record.error is not None
    id = record.meta.get("_id")
    return {
        "_index": record.name,
        "_id": None if id is None else text_of(id),
        "status": record.error.status,
        "error": record.error.cause(),
    }
