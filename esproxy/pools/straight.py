"""A search of one open index in a pool, and a document of it by id, without a procedure.

In the frame (``pools.frame``) every request is a procedure, because any of its parts may need a call: a look at the directory, an
index document, a lookup, fields that are not there. Reads nearly never do. Then one is a function of its bytes and of memory: one
pass over the body, one call, one pass over the answer, which streams as in ``dedicated``. That is what is done here.

There is one meaning, the procedure's. Wherever it would do anything else than that, or refuse, ``straight`` gives up (None)
before anything has been sent, and the procedure runs as if nothing had been tried. So nothing is said here in words of its own,
and a search over an alias, a pattern, with a body that needs a tree (``pools.tree``), explains, profiles or names what is stored,
or with a parameter that is not among its form's, costs the procedure and a pass more.

What depends on the head alone is kept with it (``esproxy.ready``) as its ``Form``, together with the two documents of the
catalogue that it was made of. It is used while memory may be believed and has these very objects: documents are replaced, never
changed, so the same object is the same version, in which the name is open and nothing is pending. One that has been replaced
makes a new form.

When the answer is there, rule A is asked as in the frame: the same objects, or else the same footprint (``Sight``), or else a
realtime get. What has changed meanwhile makes it ``void``: nothing of it is given, and the procedure does the read again; only
when bytes have left it is cut.

A form can also do without plan and resolver (``esproxy.shortcut``): ``sent`` and ``restore`` make of plain bodies and answers
what is made of them here, by the same bindings and the same ``core.Hits``; all else they leave to what is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from esproxy import answer as answers
from esproxy import core
from esproxy import request as requests
from esproxy.api.kinds import Kind, Mark
from esproxy.api.target import build
from esproxy.catalogue import names
from esproxy.catalogue.cache import Cache
from esproxy.catalogue.documents import Directory, Index
from esproxy.catalogue.sight import Sight
from esproxy.catalogue.store import Stored
from esproxy.errors import EsproxyError, Failed
from esproxy.exchange import GO, Answer, Procedure, Send
from esproxy.heads import AnswerHead, Headers
from esproxy.plan import Plan
from esproxy.pools.bodies import TYPED, derived
from esproxy.pools.documents import LONGEST_ID, physical_id
from esproxy.pools.pooled import Pooled, Pools
from esproxy.pools.reply import path
from esproxy.pools.tree import needs_tree
from esproxy.rewriting.explain import asks_to_explain
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.restore import PoolAnswer, PoolWalk, client_headers, restore, unwrapped
from esproxy.rewriting.rewrite import PoolResolver, asks_for_profile, check_search, is_object
from esproxy.rewriting.text_queries import HINTS
from esproxy.tenancy.fieldnames import META
from esproxy.tenancy.target import Target, answer_bindings

# Names, where a body has names of fields, that go upstream as they are and of which nothing follows.
ALIKE = frozenset(orjson.dumps(name) for name in META - {"_index", "_id"})
# A body that has no mark, of which no resolver was asked, and that holds none of these texts does not ask for more than the pass:
# each look at a body in ``Search._asks`` and ``derived`` is for one of them.
ASKING = core.Texts((b"\\", b"explain", b"profile", b"search_pipeline", b"collapse", b"significant_", b'"derived"', *HINTS))


def names_of(target: Target) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
    """Names of fields that need no thought, as they stand in a body → what goes there, and the same in filters of sources. Where
    documents are in an object, the core puts its name in front of plain names by itself."""
    naming = target.naming
    if target.joins:
        return {}, {}
    alike = {token: token for token in ALIKE}
    if naming.root is not None:
        return alike, {}
    paths = [*target.index.fields]
    paths += [f"{path}.{name}" for path, field in target.index.fields.items() for name in field.type.get("fields") or {}]
    paths = [path for path in paths if not path.startswith("_") and "#" not in path and "*" not in path and naming.has(path)]
    fields = {orjson.dumps(path): orjson.dumps(naming.field(path)) for path in paths}
    return alike | fields, alike | {orjson.dumps(path): orjson.dumps(naming.in_source(path)) for path in paths}


class Form:
    """A request about one index, as far as its head decides it. ``restore``: of plain answers."""

    __slots__ = ("directory", "index", "name", "plan", "restore", "target", "view")

    parameters: frozenset[str]  # that go upstream as they are, say nothing of names, and leave the answer as it is
    filtered = False  # a filter is put around its query, of which errors may speak
    bare = False  # has no body

    def __init__(self, request: Pooled, name: str, directory: Stored[Directory], index: Stored[Index]) -> None:
        """``request``: any with this head. Raises Refusal."""
        self.name = name
        self.directory, self.index = directory, index
        self.target = Target(request.tenant, name, directory.doc.indices[name], index.doc)
        self.plan = plan = request.plan
        self.view = view = PoolAnswer(plan, [self.target], {})  # whose tables answers share
        view.expect()
        state, bindings = plan.answer_state(), answer_bindings([self.target], keep_tags=True)
        assert state is not None
        self.restore = core.Alone(plan.cluster.engine.grammar, state, bindings, max_depth=1000, hits=view, reader=view.reads_on)

    def stands(self, cache: Cache) -> bool:
        """Is it as it would be made now? Memory may be believed."""
        docs = cache.docs
        return docs.get(self.directory.id) is self.directory and docs.get(self.index.id) is self.index

    def send(self, pools: Pools, plan: Plan, body: bytes) -> Send | None:
        """The call; None: the procedure's. Raises what the procedure raises."""
        raise NotImplementedError

    def call(self, plan: Plan) -> Send | None:
        """The same for any body of which nothing follows, without it."""
        raise NotImplementedError

    def sent(self, body: bytes) -> bytes | None:
        """The node's body, where nothing follows of the client's; None: ``send`` has to look at it. Raises what that raises."""
        return body


class Search(Form):
    """``search`` and ``count``."""

    __slots__ = ("neutral", "rewrite", "state", "typed", "upstream")

    filtered = True
    parameters = frozenset(
        ("typed_keys", "size", "from", "track_total_hits", "request_cache", "preference", "allow_partial_search_results",
         "batched_reduce_size", "max_concurrent_shard_requests", "terminate_after", "timeout", "track_scores", "version",
         "seq_no_primary_term", "rest_total_hits_as_int", "search_type", "error_trace", "human")
    )  # fmt: skip

    def __init__(self, request: Pooled, name: str, directory: Stored[Directory], index: Stored[Index]) -> None:
        super().__init__(request, name, directory, index)
        plan = request.plan
        self.neutral = PoolResolver(plan, [self.target])  # which has been asked nothing
        assert plan.endpoint.request is not None
        self.state = plan.endpoint.request
        query, where = physical_query(plan, [self.target], self.neutral), path(request, [self.target])
        self.upstream = build(where, query)
        self.typed = build(where, query | {"typed_keys": "true"})
        grammar, depth, (fields, sources) = plan.cluster.engine.grammar, request.pools.max_depth, names_of(self.target)
        bindings, marks = self.target.searched, sum(Mark)
        self.rewrite = core.Alone(grammar, self.state, bindings, max_depth=depth, marks=marks, fields=fields, sources=sources)

    def send(self, pools: Pools, plan: Plan, body: bytes) -> Send | None:
        """As ``search_body`` does it, as long as it does no more than one pass. A point in time is a Refusal, which no pass over
        a body without opened cursors takes."""
        if not is_object(body) or (not plan.product and derived(body)):
            return None
        target = self.target
        asked = _Names(plan, target)
        run = core.Pass(plan.cluster.engine.grammar, self.state, target.searched, asked, max_depth=pools.max_depth)
        out = run.feed(body, True)
        if run.misses or run.status is not core.Status.OK or self._asks(body, run.marks, asked.asked or self.neutral):
            return None
        send = self.call(plan)
        send.body = out
        if run.marks & TYPED and "typed_keys" in plan.endpoint.query and plan.query.get("typed_keys", "false") == "false":
            plan.typed, send.target = True, self.typed
        return send

    def call(self, plan: Plan) -> Send:
        headers = requests.physical_headers(plan, requests.media_of(plan))
        return Send(plan.cluster.name, "POST", self.upstream, headers, b"", True, True)

    def sent(self, body: bytes) -> bytes | None:
        out = self.rewrite.rewritten(body)
        if out is None or not is_object(body):
            return None
        if ASKING.are_in(body) and ((not self.plan.product and derived(body)) or self._asks(body, 0, self.neutral)):
            return None
        return out

    def _asks(self, body: bytes, marks: int, resolver: PoolResolver) -> bool:
        """Is there more to do than the pass, of which these are marks and resolver? Raises Refusal."""
        if resolver.wrapped or resolver.stored or resolver.fields.lacks(self.target) or asks_to_explain(body, self.plan.query):
            return True
        check_search(marks, body, resolver)
        return needs_tree(resolver, marks, body) or (not resolver.alone and asks_for_profile(body))


class Document(Form):
    """``get``, of an id that stands for itself in a path: no other head is kept."""

    __slots__ = ("before", "behind", "most", "scoped")

    parameters = frozenset(("preference", "realtime", "refresh", "error_trace", "human"))
    bare = True

    def __init__(self, request: Pooled, name: str, directory: Stored[Directory], index: Stored[Index]) -> None:
        super().__init__(request, name, directory, index)
        plan, target = request.plan, self.target
        id = request.parts["id"]
        query = physical_query(plan, [], PoolResolver(plan, [target])) | target.routing(id, None)
        upstream, mark, parameters = build([target.physical, "_doc", physical_id(target, id)], query).partition(b"?")
        self.before, self.behind = upstream.removesuffix(id.encode()), mark + parameters
        self.most = LONGEST_ID - len(target.id_front)
        self.scoped = target.shards.count == 1  # else each id has a routing of its own

    def send(self, pools: Pools, plan: Plan, body: bytes) -> Send | None:
        return None if body else self.call(plan)

    def call(self, plan: Plan) -> Send | None:
        id = plan.parts["id"]
        if plan.head.method != "GET" or len(id) > self.most or not self.scoped:
            return None
        upstream = self.before + id.encode() + self.behind
        return Send(plan.cluster.name, "GET", upstream, requests.physical_headers(plan, None), b"", True, True)


FORMS: dict[str, type[Form]] = {"search": Search, "count": Search, "get": Document}


class Straight:
    """One request on its way. ``void``: what it rests on has changed, so its answer is not given."""

    __slots__ = ("catalogue", "form", "plan", "send", "tenant", "void")

    def __init__(self, pools: Pools, plan: Plan, form: Form, send: Send) -> None:
        self.catalogue = pools.catalogue
        self.plan = plan
        self.tenant = plan.owner().id
        self.form = form
        self.send = send
        self.void = False

    def way_back(self, head: AnswerHead, limit: int, afford: Callable[[int], None]) -> tuple[Headers, PoolWalk | answers.Whole]:
        """The client's headers, and how the body is restored."""
        plan, form = self.plan, self.form
        reader = PoolAnswer.of(plan, form.view)
        headers = client_headers(plan, head, reader)
        if head.status >= 400:
            return headers, Refused(plan, head, limit, afford, reader, form.filtered)
        return headers, PoolWalk(plan, plan.answer_state(), reader)

    def holds(self) -> bool:
        """Rule A in memory."""
        cache = self.catalogue.cache
        return (cache.held() and self.form.stands(cache)) or self._sight().holds()

    def confirm(self, written: bool) -> Procedure:
        """Rule A by a realtime get. ``written``: a part of the answer has left."""
        sight = self._sight()
        yield from sight.confirm()
        self.void = sight.changed
        if self.void and written:
            raise Failed("the index was changed while its answer was under way")
        return GO

    def _sight(self) -> Sight:
        sight = Sight(self.catalogue, self.tenant)
        sight.directory = self.form.directory.doc
        sight.use((self.form.name,))
        return sight


class Refused(answers.Whole):
    """An error of the node, restored when it is whole."""

    def __init__(
        self, plan: Plan, head: AnswerHead, limit: int, afford: Callable[[int], None], reader: PoolAnswer, filtered: bool
    ) -> None:
        super().__init__(plan, head, limit, afford)
        self.reader = reader
        self.filtered = filtered

    def _restore(self, body: bytes) -> bytes:
        own = restore(self.plan, Answer(self.head.status, self.head.headers, body), self.reader)
        return unwrapped(own) if self.filtered else own


class _Names:
    """Answers the pass over a body: names of fields that need no thought by itself, all else as the procedure does."""

    __slots__ = ("asked", "plain", "plan", "target")

    def __init__(self, plan: Plan, target: Target) -> None:
        self.plan = plan
        self.target = target
        self.plain = target.plain
        self.asked: PoolResolver | None = None

    def __call__(self, kind: Kind, raw: bytes) -> bytes | None:
        if kind is Kind.FIELD and raw in self.plain:
            return raw
        if self.asked is None:
            self.asked = PoolResolver(self.plan, [self.target])
        return self.asked(kind, raw)


def straight(pools: Pools, plan: Plan, body: bytes) -> Straight | None:
    """The request, ready to be sent; None: the procedure's."""
    ready, kind = plan.ready, FORMS.get(plan.route.row.name)
    if ready is None or kind is None or not pools.catalogue.cache.held():
        return None
    form: Any = ready.form
    if form is None or not form.stands(pools.catalogue.cache):
        form = ready.form = _form(pools, ready.plan, kind)
        if form is None:
            return None
    try:
        send = form.send(pools, plan, body)
    except (EsproxyError, orjson.JSONDecodeError):
        return None  # the procedure says it
    return None if send is None else Straight(pools, plan, form, send)


def _form(pools: Pools, plan: Plan, kind: type[Form]) -> Form | None:
    """None for what is not one index that is there, open and known, or has other parameters."""
    if not plan.query.keys() <= kind.parameters or "index" not in plan.parts:
        return None
    request = Pooled(pools, plan, b"", None)
    name = plan.parts["index"]
    directory = request.one_open(name)
    if directory is None:
        return None
    docs = pools.catalogue.cache.docs
    index = docs.get(names.index_id(request.tenant, directory.indices[name].n))
    if index is None:
        return None
    try:
        return kind(request, name, docs[names.directory_id(request.tenant)], index)
    except EsproxyError:
        return None
