"""Answers from pools: restored and verified.

Every name of an index in an answer must be that of one of the request's targets (or one that was sent for a name that is not
there), and every id must carry the scope of a target in the index beside it, and no document comes without. Both are checked
before either is stripped.

Several targets may lie in one physical index. Then only the id that follows tells whose the index is: until it has come, a mark
stands for the name, with a control character, which no JSON text holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

import orjson

from esproxy import core, exact
from esproxy.answer import PASSED, encode, in_own_scripts, is_error
from esproxy.api.kinds import Kind
from esproxy.catalogue.documents import Entry
from esproxy.errors import Failed, Violation, half_a_character
from esproxy.exchange import Answer, Large, Reply
from esproxy.heads import AnswerHead, Headers
from esproxy.languages import painless
from esproxy.languages.script_errors import FRAME, NOTHING, Ran
from esproxy.metadata.nodes import masked_address, masked_node, masked_text
from esproxy.plan import Plan
from esproxy.tenancy.dedicated import OUTSIDE, DedicatedTarget
from esproxy.tenancy.placement import DEDICATED
from esproxy.tenancy.target import ABSENT, ID_END, Target, answer_bindings
from esproxy.tenancy.text import quoted

NAMES = (Kind.INDEX, Kind.EXPR, Kind.ALIAS)
MARK = re.compile(rb'"\x00(\d+)"')
FAR = 64 << 10  # an id comes right behind its index, or none does


class PoolAnswer(core.Hits):
    """Answers the core's stops. Hits of an index that is alone in its physical one are answered by ``core.Hits``, which is told
    here what it needs. ``sent_as``: names that were sent for what is no index in a pool → what the client wrote.

    ``here``: the targets of the index that was named last; ``last``: whose id was seen since, or the only one of that index;
    ``verified``: an id has been checked since; ``before``: the last one until a name came; ``waiting``: the last mark waits for
    its id."""

    error = False
    said = NOTHING  # the last texts
    ran: Ran | None = None
    seal: Callable[[str], str] | None = None  # makes a client's token of a node's cursor
    settled = 0  # marks that have been named and left
    compacted = False  # a document has lost its indentation
    kept = b""  # of the answer, from the mark that waits

    def __init__(self, plan: Plan, targets: Iterable[Target], sent_as: dict[str, str], *, error: bool = False) -> None:
        self.plan = plan
        self.targets = list(targets)
        self.sent_as = sent_as
        self.error = error
        self.mixture = any(target.dedicated for target in self.targets)
        self.scopes = {target.scope: target for target in self.targets}
        self.indices: dict[str, list[Target]] = {}
        for target in self.targets:
            self.indices.setdefault(target.physical, []).append(target)
        self.spelled: dict[str, bytes] = {}  # names as they were given to the core
        self.unnamed: list[Target | None] = []  # whose name goes to each mark: an id's that follows, else that of the one before

    @classmethod
    def of(cls, plan: Plan, view: PoolAnswer) -> PoolAnswer:
        """One for another answer over the same targets, whose tables it shares."""
        reader = cls.__new__(cls)
        reader.plan = plan
        reader.targets, reader.sent_as, reader.mixture = view.targets, view.sent_as, view.mixture
        reader.scopes, reader.indices, reader.spelled = view.scopes, view.indices, view.spelled
        reader.unnamed = []
        reader.only, reader.token, reader.name_token = view.only, view.token, view.name_token
        reader.front, reader.bare, reader.nest = view.front, view.bare, view.nest
        return reader

    def expect(self) -> None:
        """Of those that will be made of this one: let the core answer for the first name, too, of the only index there may be."""
        target = self.targets[0]
        self.name(target.physical)
        self.only, self.token = self.here, orjson.dumps(target.physical)
        self.name_token = self.spelled.setdefault(target.name, orjson.dumps(target.name))

    def reads_on(self, begun: core.Hits) -> PoolAnswer:
        """One like this that stands where ``begun`` does, in an answer to a request of which the plan has nothing noted."""
        reader = PoolAnswer.of(self.plan, self)
        reader.here, reader.last, reader.before = begun.here, begun.last, begun.before
        reader.verified, reader.waiting = begun.verified, begun.waiting
        return reader

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        if kind is Kind.DOC:
            if not self.verified:
                raise Violation("a document without an id")
            own = raw if self.last is None else self.last.source(raw)
            self.compacted = self.compacted or (b"\n" in raw and b"\n" not in own)
            return own
        value = orjson.loads(raw)
        if not isinstance(value, str):
            if kind in NAMES and value is not None:
                raise Violation("an index name")
            return raw
        if kind in NAMES:
            self.waiting = False
            name = self.name(value)
            if len(self.here) > 1:
                return self._mark()
            if self.front and value == self.here[0].physical:
                self.only, self.token = self.here, raw
                self.name_token = self.spelled.setdefault(name, orjson.dumps(name))
            return orjson.dumps(name)
        if kind is Kind.ID:
            return orjson.dumps(self.id(value))
        if kind is Kind.ROUTING:
            return self.routing(value)
        if kind is Kind.TEXT:
            self.said = (*self.said[1:], raw)
            return orjson.dumps(self.text(value if FRAME not in value else self._ran().traced(value, self.text)))
        if kind is Kind.STORED_SCRIPT:
            return orjson.dumps(self._ran().called(value, self.said, self.text))
        if kind is Kind.CURSOR and self.seal is not None:
            return orjson.dumps(self.seal(value))
        if kind is Kind.FIELD:
            return orjson.dumps(self.field(value))
        if kind is Kind.NODE:
            return orjson.dumps(masked_node(self.plan.cluster, self.plan.owner().id, value))
        if kind is Kind.ADDRESS:
            return orjson.dumps(masked_address(value))
        raise Violation(f"a position of kind {kind.name}")

    def _ran(self) -> Ran:
        if self.ran is None:
            self.ran = Ran(self.plan.owner().names.prefix, self.plan.scripts, self.plan.stored)
        return self.ran

    def name(self, physical: str) -> str:
        self.before = self.last
        self.verified = False
        self.here = self.indices.get(physical, [])
        if not self.here and self.mixture:
            self.here = self._own(physical)
        self.last = self.here[0] if len(self.here) == 1 else None
        self._tell_core()
        if self.here:
            return self.here[0].name
        sent = self.sent_as.get(physical)
        if sent is not None:
            return sent
        if self.error and (physical.startswith("_") or physical in ("", "null", "[]")):
            return physical  # what errors say for "no index in particular"
        if "," in physical and self.error:
            return ",".join(self.name(part) for part in physical.split(","))
        raise Violation("an index name")

    def _tell_core(self) -> None:
        """What hits of the one target that is here look like."""
        target, self.token = self.last, b""
        if target is None or target.dedicated:
            self.front = self.bare = b""
        else:
            self.front, self.bare, self.nest = target.hit

    def _own(self, physical: str) -> list[Target]:
        """An index of its own that is no target: an alias stood for it, or it has been deleted under a cursor."""
        tenant = self.plan.owner()
        if not physical.startswith(tenant.names.prefix):
            return []
        name = physical.removeprefix(tenant.names.prefix)
        return [DedicatedTarget(tenant.id, name, Entry(OUTSIDE, DEDICATED, "", physical=physical))]

    def id(self, physical: str) -> str:
        if not self.here:
            if self.sent_as:
                return physical  # of an item whose index is not there: the client's own id, as it was sent
            raise Violation("an id without an index")
        if self.here[0].dedicated:
            self.last, self.verified = self.here[0], True
            return physical
        scope, _, id = physical.partition(ID_END)
        target = self.scopes.get(scope)
        if target is None or target not in self.here or len(physical) == len(scope):
            raise Violation("an id")
        self.last, self.verified = target, True
        if self.waiting:
            self.unnamed[-1], self.waiting = target, False
        return id

    def routing(self, physical: str) -> bytes:
        """The client's own; nothing, and the member is left out, where it gave none."""
        if not self.verified or self.last is None:
            raise Violation("a routing without an id")
        given = self.last.given_routing(physical)
        return b"" if given is None else orjson.dumps(given)

    def found(self, target: Target) -> None:
        """The answer is a document of this target, found by its scoped id."""
        self.last, self.here, self.verified = target, [target], True
        self._tell_core()

    def field(self, physical: str) -> str:
        """The path that a client knows, of the document that was last seen or, beside none, of any target."""
        sent = self.plan.fields.get(physical)
        if sent is not None:
            return sent
        near = self.targets if self.last is None else [self.last, *self.targets]
        return next((name for t in near if (name := t.naming.logical(physical)) != physical), physical)

    def _mark(self) -> bytes:
        self.waiting = True
        self.unnamed.append(self.before if self.before in self.here else None)
        return b'"\x00%d"' % (self.settled + len(self.unnamed) - 1)

    def named(self, out: bytes, last: bool) -> bytes:
        """The answer, as far as it is known, with names for the marks. What no id follows is about the whole physical index: any
        name in it will do."""
        if not self.unnamed and not self.kept:
            return out
        out, self.kept = self.kept + out, b""
        if self.waiting and not last:
            at = out.rfind(b'"\x00%d"' % (self.settled + len(self.unnamed) - 1))
            if at >= 0 and len(out) - at < FAR:
                out, self.kept = out[:at], out[at:]
            elif at >= 0:
                self.waiting = False
        named, count = MARK.subn(lambda found: self._name_at(int(found[1])), out)
        self.settled += count
        del self.unnamed[:count]
        return named

    def _name_at(self, place: int) -> bytes:
        target = self.unnamed[place - self.settled]
        shared = next(targets for targets in self.indices.values() if len(targets) > 1)
        return orjson.dumps((target or shared[0]).name)

    def text(self, text: str) -> str:
        """Text that may quote what was sent."""
        for target in self.targets:
            text = text.replace(target.physical, target.name).replace(target.id_front, "").replace(target.scope, "")
            text = target.naming.text(text)
        for front in self.plan.looked_up:
            text = text.replace(front, "")
        for physical, name in self.sent_as.items():
            text = text.replace(physical, name)
        for physical, name in self.plan.fields.items():
            text = quoted(text, physical, name)
        text = painless.restored_in_pool(text) if "esproxy" in text else text
        text = text.replace(self.plan.owner().id + ABSENT, "") if ABSENT in text else text
        return masked_text(self.plan.cluster, self.plan.owner().id, text)


class PoolWalk:
    """An answer restored as it comes."""

    def __init__(self, plan: Plan, state: int | None, reader: PoolAnswer) -> None:
        if state is None:
            raise Failed("the node sent an answer where none was expected", status=502)
        self.reader = reader
        self.cluster = plan.cluster
        bindings = answer_bindings(reader.targets, keep_tags=not plan.typed, renamed=bool(plan.fields))
        self.run = core.Pass(plan.cluster.engine.grammar, state, bindings, reader, max_depth=1000)

    def feed(self, chunk: bytes, last: bool) -> bytes:
        """Restored bytes. Raises Violation, or Failed when the node sent no JSON."""
        try:
            out = self.run.feed(chunk, last)
        except ValueError as error:
            if "surrogate" in str(error):
                raise half_a_character() from None
            raise Failed("the node's answer could not be understood", status=502) from error
        if self.run.status is core.Status.VIOLATION:
            raise Violation("a name in the answer")
        if self.run.status is not core.Status.OK:
            raise Failed("the node's answer could not be understood", status=502)
        if last:
            self.cluster.unknown_keys += self.run.unknown
        return self.reader.named(out, last)

    def whole(self, body: bytes) -> bytes:
        """A whole answer."""
        if len(body) <= core.SLICE:
            return self.feed(body, True)
        out = BytesIO()
        for at in range(0, len(body), core.SLICE):
            out.write(self.feed(body[at : at + core.SLICE], at + core.SLICE >= len(body)))
        return out.getvalue()


def restore(plan: Plan, answer: Answer, reader: PoolAnswer) -> bytes:
    """The client's body. Raises Violation."""
    reader.error = is_error(answer.status, answer.body)
    state = plan.cluster.engine.tables.roots["error"] if reader.error else plan.answer_state()
    body = in_own_scripts(plan, PoolWalk(plan, state, reader).whole(answer.body))
    return encode(plan, exact.loads(body)) if plan.pretty and reader.compacted else body


def onward(plan: Plan, answer: Answer, reader: PoolAnswer, headers: Headers) -> Large:
    """An answer above the window, which streams."""
    return Large(answer.status, headers, PoolWalk(plan, plan.answer_state(), reader), answer.body)


WRAPPED = "[bool] failed to parse field [must]"


def unwrapped(body: bytes) -> bytes:
    """An answer with errors about a query as they are without the filter that was put around it: what the node calls the
    filter's cause is the error. The root of it is the same, unless the node found none below the filter."""
    if WRAPPED.encode() not in body:
        return body
    tree = orjson.loads(body)
    for holder in [tree, *tree.get("responses", [])]:
        if isinstance(holder.get("error"), dict):
            holder["error"] = unwrapped_error(holder["error"])
    return orjson.dumps(tree)


def unwrapped_error(error: dict[str, Any]) -> dict[str, Any]:
    inner = error.get("caused_by")
    if not str(error.get("reason", "")).endswith(WRAPPED) or not isinstance(inner, dict):
        return error
    roots = error.get("root_cause") or []
    if not roots or any(str(root.get("reason", "")).endswith(WRAPPED) for root in roots):
        roots = [{key: value for key, value in inner.items() if key != "caused_by"}]
    return {"root_cause": roots, **inner}


def finish(plan: Plan, status: int, headers: Headers, body: bytes) -> Reply:
    """The reply, with the client's own ``filter_path`` applied."""
    if plan.filter_path is not None and not is_error(status, body):
        body = encode(plan, plan.filter_path.apply(orjson.loads(body)))
    return Reply(status, headers, body)


def client_headers(plan: Plan, answer: Answer | AnswerHead, reader: PoolAnswer) -> Headers:
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
