"""From a node's answer to the client's: status, headers and body, restored and verified.

Restoring an answer *is* verifying it: at every position that holds an index name, the name must be under the tenant's
prefix or be one that this very request sent; anything else is a Violation, and the answer is withheld.

Three ways, chosen when the head is there: ``Walk`` streams a body through the core under the answer's rule table; ``Whole``
collects the body for what no table can do in one pass (a client's ``filter_path`` over index names, sort values on ``_index``,
errors); a body that says nothing is passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from esproxy import core, exact
from esproxy.api.kinds import Kind
from esproxy.budget import FREE, tree_cost
from esproxy.errors import Failed, UpstreamFailed, Violation
from esproxy.heads import AnswerHead, Headers
from esproxy.languages import painless
from esproxy.languages.painless_guard import RUN, unguarded
from esproxy.languages.script_errors import FRAME, NOTHING, Ran
from esproxy.languages.script_places import put_right
from esproxy.metadata import cluster
from esproxy.metadata.nodes import masked_address, masked_node, masked_text, node_id
from esproxy.metadata.settings import restore_settings
from esproxy.metadata.templates import without_foreign
from esproxy.plan import Plan
from esproxy.refused import beside
from esproxy.tenancy.expressions import nothing_found
from esproxy.tenancy.tenant import COLLECT

PASSED = frozenset((b"content-type", b"x-elastic-product", b"x-opensearch-version", b"allow"))
ERROR = re.compile(rb'\s*\{\s*"error"')  # the beginning of an error's body, pretty or not
NAMES = (Kind.INDEX, Kind.EXPR, Kind.ALIAS, Kind.TEMPLATE, Kind.PATTERN, Kind.SEARCH_PIPELINE)
GUARDED = ("reindex", "tasks")  # which tell of scripts that are kept in the tenant's indices
MACHINES = (Kind.NODE, Kind.ADDRESS)


class AnswerResolver:
    """Answers the core's stops in an answer."""

    __slots__ = ("error", "plan", "prefix", "ran", "said")

    def __init__(self, plan: Plan, *, error: bool = False) -> None:
        self.plan = plan
        self.prefix = plan.owner().names.prefix
        self.error = error
        self.said = NOTHING  # the last texts
        self.ran: Ran | None = None

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        if kind is Kind.TEXT:
            self.said = (*self.said[1:], raw)
            if not any(mark in raw for mark in self.quoted()):
                return raw
        if kind is Kind.SCRIPT and not any(mark in raw for mark in self.ours()):
            return raw
        value = orjson.loads(raw)
        if kind is Kind.TEXT:
            if not isinstance(value, str):
                return raw
            return orjson.dumps(self.text(value if FRAME not in value else self._ran().traced(value, self.text)))
        if kind is Kind.STORED_SCRIPT:
            return orjson.dumps(self._ran().called(value, self.said, self.text)) if isinstance(value, str) else raw
        if isinstance(value, str) and self.plan.route.row.answer in GUARDED:
            value = unguarded(value, self.prefix)
        if kind is Kind.SCRIPT:
            return orjson.dumps(painless.restored(value, self.prefix)) if isinstance(value, str) else raw
        if kind is Kind.SETTINGS:
            return orjson.dumps(restore_settings(value, self.name, self.own, self.node))
        if not isinstance(value, str):
            return raw
        if kind is Kind.CURSOR:
            return orjson.dumps(self.plan.seal_cursor(value))
        if kind is Kind.LUCENE:
            return orjson.dumps(self.plan.lucene_restored(value))
        if kind is Kind.TASK:
            return orjson.dumps(self.plan.seal_task(value))
        if kind in MACHINES:
            return orjson.dumps(self.machine(kind, value))
        if kind is Kind.ALIAS and value.startswith("{index}"):
            return raw  # in a template: it will begin with the index's name
        return orjson.dumps(self.name(value) if kind in NAMES else self.own(value))

    def quoted(self) -> tuple[bytes, ...]:
        """What a text has in it that tells of names. Few answers have texts, so it is not made beforehand."""
        inside = b"[" + self.plan.owner().names.inside.encode()
        return self.prefix.encode(), painless.HELPER.encode(), b"][", inside, FRAME.encode()

    def ours(self) -> tuple[bytes, ...]:
        """What a script has in it that was rewritten."""
        return b"'%b'" % self.prefix.encode(), painless.HELPER.encode(), RUN.encode()

    def text(self, text: str) -> str:
        if self.plan.route.row.answer in GUARDED:
            text = unguarded(text, self.prefix)
        text = self.plan.restored(painless.restored(text, self.prefix))
        return masked_text(self.plan.cluster, self.plan.owner().id, text)

    def _ran(self) -> Ran:
        if self.ran is None:
            self.ran = Ran(self.prefix, self.plan.scripts, self.plan.stored)
        return self.ran

    def machine(self, kind: Kind, value: str) -> str:
        """A node or an address as the tenant sees it."""
        return masked_address(value) if kind is Kind.ADDRESS else masked_node(self.plan.cluster, self.plan.owner().id, value)

    def node(self, node: str) -> str:
        return self.machine(Kind.NODE, node)

    def name(self, physical: str) -> str:
        """The logical name of an index. Raises Violation for one that is not the tenant's."""
        logical = self.plan.spelled.get(physical)
        if logical is not None:
            return logical
        bare = physical.removeprefix("<") if physical.startswith("<" + self.prefix) else physical
        if bare.startswith(self.prefix):
            logical = bare[len(self.prefix) :]
            return logical if bare is physical else "<" + logical
        if self.error and (physical.startswith("_") or physical in ("", "null", "[]")):
            return physical  # what errors say for "no index in particular"
        raise Violation("an index name")

    def own(self, physical: str) -> str:
        return physical.removeprefix(self.prefix)


class Collector:
    """Shows every index name of an error to ``spelled``, so that its texts can be restored."""

    def __init__(self, plan: Plan) -> None:
        self.spelled = plan.spelled
        self.prefix = plan.owner().names.prefix

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        value = orjson.loads(raw)
        if isinstance(value, str) and value.startswith(self.prefix):
            self.spelled.setdefault(value, value[len(self.prefix) :])
        return raw


# --- heads -----------------------------------------------------------------------------------------


def client_headers(plan: Plan, head: AnswerHead) -> Headers:
    """The node's headers that a client gets."""
    out: Headers = []
    warned: Headers = []
    for name, value in head.headers:
        if name in PASSED:
            out.append((name, value))
        elif name == b"location":
            out.append((name, _location(plan, value)))
        elif name == b"warning":
            warned.append((name, plan.restored(value.decode("latin-1")).encode("latin-1")))
    out += beside(plan, head.status, warned)
    opaque = plan.head.get(b"x-opaque-id")
    if opaque is not None:
        out.append((b"x-opaque-id", opaque))
    return out


def _location(plan: Plan, value: bytes) -> bytes:
    prefix = b"/" + plan.owner().names.prefix.encode()
    if not value.startswith(prefix):
        raise Violation("the header location")
    return b"/" + value[len(prefix) :]


def client_status(plan: Plan, status: int) -> int:
    """A pattern that finds no name is a 404 to a node; a client that asked for all of its own did not write one."""
    return 200 if status == 404 and plan.path and plan.route.row.listed == "name" else status


# --- bodies ----------------------------------------------------------------------------------------


class Walk:
    """An answer restored as it comes, under its rule table."""

    def __init__(self, plan: Plan, state: int) -> None:
        tenant = plan.owner()
        bindings = tenant.answer if plan.typed else tenant.tagged_answer
        self.run = core.Pass(plan.cluster.engine.grammar, state, bindings, AnswerResolver(plan), max_depth=1000)
        self.cluster = plan.cluster

    def feed(self, chunk: bytes, last: bool) -> bytes:
        """Restored bytes. Raises Violation, or Failed when the node sent no JSON."""
        out = self.run.feed(chunk, last)
        if self.run.status is not core.Status.OK:
            raise _bad_answer(self.run)
        if last:
            self.cluster.unknown_keys += self.run.unknown
        return out


def way_back(plan: Plan, head: AnswerHead, limit: int, afford: Callable[[int], None]) -> Walk | Whole:
    """How an answer is restored, when its head is there. ``limit``: of what has to be whole; ``afford`` is told what it takes of
    memory, and raises Refusal."""
    row = plan.route.row
    if head.status >= 400 or row.answer is not None or plan.meta is not None or plan.filter_path is not None:
        return Whole(plan, head, limit, afford)
    state = plan.answer_state()
    if state is None:
        raise Failed("the node sent an answer where none was expected", status=502)
    return Walk(plan, state)


class Whole:
    """An answer that is restored at its end."""

    def __init__(self, plan: Plan, head: AnswerHead, limit: int, afford: Callable[[int], None] = lambda size: None) -> None:
        self.plan = plan
        self.head = head
        self.limit = limit
        self.afford = afford
        self.parts: list[bytes] = []
        self.size = 0
        self.room = FREE

    def feed(self, chunk: bytes, last: bool) -> bytes:
        self.parts.append(chunk)
        self.size += len(chunk)
        if self.size > self.limit:
            raise UpstreamFailed("overflow", f"more than {self.limit} bytes")
        if self.size > self.room:
            self.room = 2 * self.size
            self.afford(self.room)
        if not last:
            return b""
        body, self.parts = b"".join(self.parts), []
        return self._restore(body)

    def _restore(self, body: bytes) -> bytes:
        plan, status = self.plan, self.head.status
        if is_error(status, body):
            return restore_error(plan, body)
        if plan.route.row.answer == "text" or plan.help:
            return body
        state = plan.answer_state()
        if len(body) > FREE:
            self.afford(tree_cost(body))
        if plan.route.row.answer == "simulated":
            body = orjson.dumps(without_foreign(orjson.loads(body), plan.owner().names.prefix))
        if state is not None:
            body = Walk(plan, state).feed(body, True)
        if plan.route.row.answer == "info":
            return cluster.info(body, plan.owner().id, node_id(plan.cluster, plan.owner().id))
        tree = orjson.loads(body)
        if plan.route.row.answer == "once" and not plan.product and plan.spelled.get(plan.owner().names.prefix + "*") == "_all":
            for index in tree.get("indices", {}).values():
                index.pop("aliases", None)  # OpenSearch tells of none where no index was named
        if plan.meta is not None:
            tree = plan.meta.restore(tree, AnswerResolver(plan).name)
        if plan.filter_path is not None:
            tree = plan.filter_path.apply(tree)
        return encode(plan, tree)


def encode(plan: Plan, tree: Any) -> bytes:
    """JSON as a node would write it: indented, with a newline at the end, for ``pretty``. None is no answer at all."""
    if tree is None:
        return b""
    if plan.pretty:
        return exact.pretty(tree)
    return orjson.dumps(tree)


def is_error(status: int, body: bytes) -> bool:
    """Whether a body is an error's; a 404 can also be a document that is not there."""
    return status >= 400 and ERROR.match(body) is not None


def restore_error(plan: Plan, body: bytes) -> bytes:
    """An error body with its names restored. Two passes, because texts come before the names that they quote."""
    if plan.route.row.keyed and b'"error":"' in body.replace(b" ", b"", 16)[:16]:
        return _restore_short_error(plan, body)
    everything = plan.owner().names.prefix + "*"
    if plan.spelled.get(everything) == "_all" and b"index_not_found_exception" in body:
        error = orjson.loads(body)["error"]
        if isinstance(error, dict) and error.get("resource.id") == everything:  # there are no indices at all, says a node
            return encode(plan, nothing_found("_all", ["*"], plan.product).payload())
    grammar, state = plan.cluster.engine.grammar, plan.cluster.engine.tables.roots["error"]
    for bindings, resolver in ((COLLECT, Collector(plan)), (plan.owner().tagged_answer, AnswerResolver(plan, error=True))):
        run = core.Pass(grammar, state, bindings, resolver, max_depth=1000)
        out = run.feed(body, True)
        if run.status is not core.Status.OK:
            raise _bad_answer(run)
    return in_own_scripts(plan, out)


def in_own_scripts(plan: Plan, body: bytes) -> bytes:
    """A client's answer with the places of faults as they are in the scripts that it sent."""
    if not plan.edited or b'"position"' not in body:
        return body
    tree = exact.loads(body)
    return encode(plan, tree) if put_right(tree, plan.edited, plan.stored) else body


def _restore_short_error(plan: Plan, body: bytes) -> bytes:
    """``{"error": "alias [x] missing", "status": 404, "<index>": {…}}``: what was found stands beside the error."""
    tree = orjson.loads(body)
    out = {"error": plan.restored(tree.pop("error")), "status": tree.pop("status", 404)}
    if tree:
        assert plan.endpoint.response is not None
        out |= orjson.loads(Walk(plan, plan.endpoint.response).feed(orjson.dumps(tree), True))
    return encode(plan, out)


def _bad_answer(run: core.Pass) -> Exception:
    if run.status is core.Status.VIOLATION:
        return Violation("a name in the answer")
    return Failed("the node's answer could not be understood", status=502)
