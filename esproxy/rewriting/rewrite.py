"""Request bodies and parameters for indices in pools: what the core stops at, answered.

Two passes. The core's is strict, puts the filter at every query root, and renames fields; names of indices and ids it leaves,
because what they become depends on what stands beside them (``{"index", "id"}`` of a lookup). Where it met one, the body is
walked again as a tree under the same table (``rewriting.places``), and every position of kind INDEX, EXPR, ID or ROUTING is dealt
with there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import orjson

from esproxy import bodies, core
from esproxy.api.kinds import Kind, Mark
from esproxy.api.search_pipelines import PROCESSORS
from esproxy.bodyerrors import refusal
from esproxy.catalogue.fields import unheld
from esproxy.errors import Refusal
from esproxy.languages import Edits, LanguageError, lucene, lucene_patterns, painless
from esproxy.plan import Plan
from esproxy.rewriting.patterns import Patterns
from esproxy.rewriting.places import NAMED, NONE, only
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.fieldnames import Divided, FieldNames
from esproxy.tenancy.layouts import NAMESPACES
from esproxy.tenancy.target import UNFILTERED, Target, absent

SCRIPTED = ("_seq_no", "_version", "_doc_count", "_ignored")  # meta fields with values
SCOPED = (b"_id", b"_index", b"_routing")
SPACE = b" \t\r\n"
TOKENS = {b"[": "START_ARRAY", b'"': "VALUE_STRING", b"t": "VALUE_BOOLEAN", b"f": "VALUE_BOOLEAN", b"n": "VALUE_NULL"}
DOCUMENT = {painless.Ref.SOURCE}  # what a script may compute where documents are as the client wrote them, or in one object


class PoolResolver:
    """Answers the core's stops in a body for ``targets``."""

    def __init__(self, plan: Plan, targets: list[Target]) -> None:
        self.plan = plan
        self.targets = targets
        self.fields = FieldNames(targets, plan.fields)
        self.plain = targets[0].plain if len(targets) == 1 else frozenset()
        self.cursors: dict[str, str] = {}
        self.named = False  # the body has positions for the second pass
        self.read_meta = False  # ``_index`` or ``_id`` is asked for as a field
        self.texts = 0  # how many query strings the body has
        self.meta_texts = False  # one of them may name a meta field
        self.patterned = False  # there may be patterns of fields
        self.wrapped = False  # a query is in base64
        self.stored = False  # something is named that nodes keep: a script, a pipeline

    @cached_property
    def alone(self) -> bool:
        """Nobody else has documents in these physical indices."""
        return all(target.index.reason is not None for target in self.targets)

    @cached_property
    def own_terms(self) -> bool:
        """Nobody else has terms in the fields of these indices."""
        return all(target.naming.own_terms for target in self.targets)

    @cached_property
    def nested(self) -> bool:
        """Documents of some are in an object."""
        return any(target.naming.root for target in self.targets)

    def __call__(self, kind: Kind, raw: bytes) -> bytes | None:
        if raw in self.plain and kind is Kind.FIELD:
            return raw
        if kind in NAMED:
            self.named = self.named or raw != b"null"
            return raw
        if kind is Kind.FIELD or kind is Kind.SOURCE:
            self.patterned = self.patterned or b"*" in raw or b"\\" in raw
            return self._field(raw, self.fields.in_source if kind is Kind.SOURCE else self.field)
        if kind is Kind.DOC:
            return self.document(raw)
        value = orjson.loads(raw)
        if not isinstance(value, str):
            return raw
        if kind is Kind.GROUP:  # each shard counts the groups of all that lie in it
            return b",".join(orjson.dumps(target.id_front + value) for target in self.targets) or raw
        if kind is Kind.LUCENE:
            self.texts += 1
            self.meta_texts = self.meta_texts or "\\" in value or any(name in value for name in lucene.META)
            if self.fields.shared:
                self.fields.asked |= lucene_patterns.names(value)
                self.patterned = self.patterned or "*:" in value or "\\" in value
            return raw
        if kind is Kind.KQL:
            sent = self._kql(value)
        elif kind is Kind.WRAPPER:
            self.wrapped = True
            return raw
        elif kind is Kind.SCRIPT:
            sent = self._script(value)
        elif kind is Kind.CURSOR:
            sent = self.cursor(value)
        elif kind in NAMESPACES:
            self.stored = True
            sent = value if value == "_none" else absent(self.plan.owner().id, value)
        else:
            raise Refusal(f"[{value}]: tasks are not available for indices in a pool")
        return raw if sent is value else orjson.dumps(sent)

    def cursor(self, token: str) -> str:
        """The node's cursor for a token, which has been opened by now."""
        if token not in self.cursors:
            raise Refusal("a point in time can only stand in [pit]")
        return self.cursors[token]

    def document(self, raw: bytes) -> bytes | None:
        """A document inside of a query (``percolate``, ``more_like_this``)."""
        if self.fields.renamed:
            raise Refusal("a document in a query is not available for an index with renamed fields")
        if not self.fields.shared:
            return raw
        if len(self.targets) > 1:
            raise Divided("a document in a query is about one index in a pool at a time: search them one by one")
        try:
            return self.targets[0].naming.sample(raw)
        except ValueError as error:
            raise Refusal(f"the document in the query cannot be understood: {error}") from None

    def _field(self, raw: bytes, physical: Callable[[str], str]) -> bytes:
        value = orjson.loads(raw)
        if not isinstance(value, str):
            return raw
        sent = physical(value)
        return raw if sent is value else orjson.dumps(sent)

    def field(self, name: str) -> str:
        """The physical name of a field, a pattern of fields, or a meta field that says nothing of the pool."""
        if name.partition("^")[0] in ("_index", "_id"):
            self.read_meta = True
        return self.fields.physical(name)

    def lucene(self, text: str, default: str | None) -> str | None:
        """A query string over the client's ``default`` field, None where there are several; None for one that cannot be read, and
        with which a node can only fail. Raises Refusal."""
        try:
            if self.fields.shared:
                widened = lucene_patterns.widen(text, self._matched)
                return lucene.rewrite(widened, self._physical, self._lucene_value, default=default)
            return lucene.rewrite(text, self.fields.physical if self.fields.any else None, self._lucene_value, default=default)
        except LanguageError as error:
            plain = not self.fields.renamed and default not in lucene.META
            if plain and not lucene_patterns.may_name_fields(text, self._is_plain):
                return text  # the node says what is wrong with it
            if self.own_terms:
                return None
            raise Refusal(f"Failed to parse query [{text}]: {error}", type="query_shard_exception") from None

    def _is_plain(self, name: str) -> bool:
        return orjson.dumps(name) in self.plain

    def _matched(self, pattern: str) -> list[str]:
        """The client's names of the fields that a pattern in a query string matches."""
        return Patterns(self.fields, self.targets).logical(pattern)

    def _physical(self, name: str) -> str:
        """Of a name in a query string whose patterns have been dealt with, but for what is everything."""
        return unheld(name) if "*" in name else self.fields.physical(name)

    def _lucene_value(self, name: str, text: str, form: lucene.Form) -> str:
        if name == "_id" and form is lucene.Form.TERM:
            return only(self.targets).id_front + text
        if name == "_index" and form is not lucene.Form.REGEX and not (form is lucene.Form.WILDCARD and set(text) & set("?\\")):
            return self._lucene_index(text, form)
        raise Refusal(f"the field [{name}] cannot be used in a query string in this way for indices in a pool")

    def _lucene_index(self, text: str, form: lucene.Form) -> str:
        """What matches the physical indices of a name or pattern, among those that are searched. Raises Divided where no one text
        does."""
        pattern = text + "*" if form is lucene.Form.PREFIX else text
        found = {target.physical for target in self.targets if matching(pattern, [target.name])}
        others = {target.physical for target in self.targets if not matching(pattern, [target.name])}
        if not found:
            return NONE
        first, last = min(found), max(found)
        common = first[: next((at for at, (one, two) in enumerate(zip(first, last, strict=False)) if one != two), len(first))]
        if form is lucene.Form.TERM and "*" not in text:
            divided = len(found) > 1 or found & others
        else:
            divided = any(other.startswith(common[:-1]) for other in others)
        if divided:
            raise Divided("these indices cannot be told apart in a query string: search them one by one")
        if form is lucene.Form.WILDCARD:
            front, end = (re.sub(r"([^A-Za-z0-9])", r"\\\1", part) for part in (common[:-1], common[-1:]))
            return f"{front}*{end}*"  # a wildcard within, as what it stands for
        return common + "*" if form is lucene.Form.TERM and "*" in text else common

    def _kql(self, text: str) -> str:
        if self.fields.any or any(name.decode() in text for name in SCOPED):
            raise Refusal("this kql query is not available for indices in a pool")
        return text

    def _script(self, source: str) -> str:
        sent, edits = self._edited(source)
        self.plan.runs(sent, source, edits)
        return sent

    def _edited(self, source: str) -> tuple[str, Edits]:
        context = painless.Context.WRITE if self.plan.route.row.name in bodies.WRITING else painless.Context.SEARCH
        named = self.fields.renamed if context is painless.Context.WRITE else self.fields.any
        if not named and not any(name.decode() in source for name in SCOPED):
            return source, Edits(source)
        fields = self.fields
        try:
            root = self._root()
            computed = painless.scan(source, context).computed if named else ()
            made = any(ref.argument is not None for ref in computed) and (fields.shared or root is not None)
            whole = {ref.kind for ref in computed if not (made and ref.argument)}
            if whole - (DOCUMENT if root or not fields.renamed else set()):
                raise Refusal("a script can make names of fields as keys of [doc] only, and not hand all of them on, in a pool")
            pool, lookup = self._in_pool(source, context), self._lookup(root) if made else None
            edits = painless.edited(source, fields.physical, None, pool, root, context, fields.in_source, lookup)
            return edits.apply(), edits
        except LanguageError as error:
            raise Refusal(f"the script cannot be understood: {error}", type="script_exception") from None

    def _lookup(self, root: str | None) -> str:
        """The function that finds what a field is called there of which a script makes the name."""
        if root is not None:
            return painless.fields_below(root, SCRIPTED)
        self.fields.asked.add("")  # no name, so the indices are read anew
        own = Patterns(self.fields, self.targets).logical("*", text=False)
        return painless.own_fields({name: self.fields.physical(name) for name in (*own, *SCRIPTED)})

    def _root(self) -> str | None:
        """The object that documents are in, for a script."""
        roots = {target.naming.root for target in self.targets}
        if len(roots) > 1:
            raise Divided("a script reads documents of these indices in different ways: search them one by one")
        return roots.pop() if roots else None

    def _in_pool(self, source: str, context: painless.Context) -> painless.InPool | None:
        """How a script reads metadata. Raises Divided where that is not the same for all documents."""
        if not any(name.decode() in source for name in SCOPED):
            return None
        read = {ref.kind for ref in painless.scan(source, context).references if ref.value and not ref.write}
        names = {target.physical: target.name for target in self.targets}
        if painless.Ref.INDEX in read and len(names) != len(self.targets):
            raise Divided("a script cannot tell these indices apart by [_index]: search them one by one")
        numbered = {target.shards.count > 1 for target in self.targets}
        if painless.Ref.ROUTING in read and len(numbered) > 1:
            raise Divided("a script cannot read [_routing] of these indices in one request: ask for them one by one")
        return painless.InPool(names or {"": ""}, numbered == {True})


def walk(
    plan: Plan, state: int, body: bytes, resolver: PoolResolver, bindings: core.Bindings, max_depth: int
) -> tuple[bytes, core.Pass]:
    """One strict pass. Raises Refusal."""
    run = core.Pass(plan.cluster.engine.grammar, state, bindings, resolver, max_depth=max_depth)
    out = run.feed(body, True)
    if run.misses:
        return b"", run
    if run.status is not core.Status.OK:
        raise refusal(plan, run, body)
    return out, run


def is_object(body: bytes) -> bool:
    return body.startswith(b"{") or body.lstrip(SPACE).startswith(b"{")


def check_object(plan: Plan, state: int, body: bytes, max_depth: int) -> None:
    """Raises Refusal for a search that is no object, in which the filter has no place. Nodes refuse it, too, but for calls by
    query: of those they read a map, which is empty then, so that they are about every document."""
    if is_object(body):
        return
    run = core.Pass(plan.cluster.engine.grammar, state, UNFILTERED, lambda kind, raw: raw, max_depth=max_depth)
    run.feed(body, True)
    if run.status is not core.Status.OK:
        raise refusal(plan, run, body)
    found = TOKENS.get(body.lstrip(SPACE)[:1], "VALUE_NUMBER")
    col = len(body) - len(body.lstrip(SPACE)) + 1
    raise Refusal(f"Expected [START_OBJECT] but found [{found}]", type="parsing_exception", line=1, col=col)


def check_search(marks: int, body: bytes, resolver: PoolResolver) -> None:
    """What a search cannot ask of a pool, because a filter does not reach it: the terms of the physical index. Raises Refusal.
    A pool of one has nobody else's."""
    if marks & Mark.RUNTIME:
        _check_defined(orjson.loads(body))
    if _runs_pipeline(body):
        raise Refusal("[search_pipeline] is not available for indices in a pool: what a pipeline makes of a search is not seen")
    if resolver.alone:
        return
    if marks & Mark.SUGGEST and not resolver.own_terms:
        raise Refusal("[suggest] is not available for indices in a pool: it reads the terms of the whole pool")
    if asks_for_profile(body) and len({target.physical for target in resolver.targets}) < len(resolver.targets):
        raise Refusal("[profile] is not available for several indices in one pool, whose figures cannot be told apart")


def _runs_pipeline(body: bytes) -> bool:
    """Has the search a pipeline of its own that makes something? Those that could be run before it have been taken out."""
    given = orjson.loads(body).get("search_pipeline") if b"\\" in body or b"search_pipeline" in body else None
    return isinstance(given, dict) and any(given.get(stage) for stage in PROCESSORS)


def asks_for_profile(body: bytes) -> bool:
    return (b"profile" in body or b"\\" in body) and orjson.loads(body).get("profile") not in (None, False, "false")


def _check_defined(tree: dict[str, Any]) -> None:
    """Fields that a request defines. Elasticsearch lets one stand for the meta field of its name, in the filter around the query
    too: ``_index`` tells indices of a tenant's own from pools there."""
    for defined in ("runtime_mappings", "derived"):
        fields = tree.get(defined) or {}
        if any(name.startswith("_") for name in fields):
            raise Refusal("a request cannot define fields that begin with an underscore, which could hide the pool's own")
        for name, definition in fields.items():
            refuse_lookup(name, definition)


def refuse_lookup(name: str, definition: Any) -> None:
    """A field that looks values up in other documents does so in a whole physical index, and takes no filter."""
    if isinstance(definition, dict) and definition.get("type") == "lookup":
        raise Refusal(f"the field [{name}] of type [lookup] is not available for indices in a pool: it reads the whole pool")
