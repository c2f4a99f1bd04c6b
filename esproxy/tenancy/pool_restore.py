"""Answers from pools: restored and verified.

Every name of an index in an answer must be that of one of the request's targets (or one that was sent for a name that is not
there), and every id must carry the scope of the target whose index stands beside it, and no document comes without. Both are
checked before either is stripped.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import core
from esproxy.answer import PASSED, encode, is_error
from esproxy.api.kinds import Kind
from esproxy.catalogue.renaming import logical_path
from esproxy.errors import Failed, Violation
from esproxy.exchange import Answer, Headers, Reply
from esproxy.request import Plan
from esproxy.tenancy.target import Target, shared_answer

NAMES = (Kind.INDEX, Kind.EXPR, Kind.ALIAS)


class PoolAnswer:
    """Answers the core's stops. ``targets``: physical name → target; ``sent_as``: other physical names → what the client
    wrote."""

    def __init__(self, plan: Plan, targets: dict[str, Target], sent_as: dict[str, str], *, error: bool = False) -> None:
        self.plan = plan
        self.targets = targets
        self.sent_as = sent_as
        self.error = error
        self.last: Target | None = None  # whose index was named last
        self.verified = False  # an id has been checked since
        self.renames = any(target.renamed for target in targets.values())

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        if kind is Kind.DOC:
            if not self.verified:
                raise Violation("a document without an id")
            return raw if self.last is None or self.last.renames is None else self.last.renames.logical_document(raw)
        value = orjson.loads(raw)
        if not isinstance(value, str):
            if kind in NAMES and value is not None:
                raise Violation("an index name")
            return raw
        if kind in NAMES:
            return orjson.dumps(self.name(value))
        if kind is Kind.ID:
            return orjson.dumps(self.id(value))
        if kind is Kind.TEXT:
            return orjson.dumps(self.text(value))
        if kind is Kind.FIELD:
            return orjson.dumps(logical_path(value))
        raise Violation(f"a position of kind {kind.name}")

    def name(self, physical: str) -> str:
        self.verified = False
        target = self.targets.get(physical)
        if target is not None:
            self.last = target
            return target.name
        self.last = None
        sent = self.sent_as.get(physical)
        if sent is not None:
            return sent
        if self.error and (physical.startswith("_") or physical in ("", "null", "[]")):
            return physical  # what errors say for "no index in particular"
        if "," in physical and self.error:
            return ",".join(self.name(part) for part in physical.split(","))
        raise Violation("an index name")

    def id(self, physical: str) -> str:
        if self.last is None:
            if self.sent_as:
                return physical  # of an item whose index is not there: the client's own id, as it was sent
            raise Violation("an id without an index")
        if not physical.startswith(self.last.id_front):
            raise Violation("an id")
        self.verified = True
        return physical[len(self.last.id_front) :]

    def text(self, text: str) -> str:
        """Text that may quote what was sent."""
        for physical, target in self.targets.items():
            text = text.replace(physical, target.name).replace(target.id_front, "").replace(target.scope, "")
            for path, name in target.renamed.items():
                text = text.replace(f"[{name}]", f"[{path}]")
        for physical, name in self.sent_as.items():
            text = text.replace(physical, name)
        return text


def restore(plan: Plan, answer: Answer, reader: PoolAnswer) -> bytes:
    """The client's body. Raises Violation."""
    grammar = plan.cluster.engine.grammar
    failed = is_error(answer.status, answer.body)
    state = plan.cluster.engine.tables.roots["error"] if failed else plan.answer_state()
    if state is None:
        raise Failed("the node sent an answer where none was expected", status=502)
    reader.error = failed
    bindings = shared_answer(keep_tags=not plan.typed, renames=reader.renames)
    run = core.Pass(grammar, state, bindings, reader, max_depth=1000)
    out = run.feed(answer.body, True)
    if run.status is core.Status.VIOLATION:
        raise Violation("a name in the answer")
    if run.status is not core.Status.OK:
        raise Failed("the node's answer could not be understood", status=502)
    return out


WRAPPED = "[bool] failed to parse field [must]"


def unwrapped(body: bytes) -> bytes:
    """An answer with errors about a query as they are without the filter that was put around it: what the node calls the
    filter's cause is the error."""
    if WRAPPED.encode() not in body:
        return body
    tree = orjson.loads(body)
    for holder in [tree, *tree.get("responses", [])]:
        error = holder.get("error")
        if (
            isinstance(error, dict)
            and str(error.get("reason", "")).endswith(WRAPPED)
            and isinstance(error.get("caused_by"), dict)
        ):
            inner: dict[str, Any] = error["caused_by"]
            holder["error"] = {"root_cause": [{key: value for key, value in inner.items() if key != "caused_by"}], **inner}
    return orjson.dumps(tree)


def finish(plan: Plan, status: int, headers: Headers, body: bytes) -> Reply:
    """The reply, with the client's own ``filter_path`` applied."""
    if plan.filter_path is not None and not is_error(status, body):
        body = encode(plan, plan.filter_path.apply(orjson.loads(body)))
    return Reply(status, headers, body)


def client_headers(plan: Plan, answer: Answer, reader: PoolAnswer) -> Headers:
    """The node's headers that a client gets; ``location`` is made by who knows the document."""
    out: Headers = []
    for name, value in answer.headers:
        if name in PASSED:
            out.append((name, value))
        elif name == b"warning":
            out.append((name, reader.text(value.decode("latin-1")).encode("latin-1", "replace")))
    opaque = plan.head.get(b"x-opaque-id")
    if opaque is not None:
        out.append((b"x-opaque-id", opaque))
    return out
