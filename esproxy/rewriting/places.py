"""The second pass over a body for indices in pools: as a tree, under the same rule table as the core's.

What a name or an id becomes depends on what stands beside it (``{"index", "id"}`` of a lookup): so each position of kind INDEX,
EXPR, ID or ROUTING is found with the object that holds it, and dealt with there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from esproxy.api.kinds import Kind
from esproxy.errors import Refusal
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target, filter_of

NAMED = frozenset((Kind.INDEX, Kind.EXPR, Kind.ALIAS, Kind.ID, Kind.ROUTING))
LISTS = ("values", "ids")  # that may hold a single id
WITHOUT_ID = ("query", "doc")  # instead of a document's id: the query that finds it, or the document itself
LIKED = ("like", "unlike")
UNUSED = "esproxy~unused"  # a routing that no document has: what is to be alike to a document includes its routing
NONE = "esproxy~none"  # an index that there is not


class Place(NamedTuple):
    """A position in a tree: ``holder[key]`` is of this kind; with ``is_key`` the key itself is. ``lookup``: the holder names a
    document of an index, by which keys."""

    holder: dict[str, Any]
    key: str
    kind: Kind
    is_key: bool
    lookup: Lookup | None
    above: tuple[dict[str, Any], str] | None  # what holds the holder, by which key


class Lookup(NamedTuple):
    """The keys by which an object names a document. ``routing`` None: where it takes none."""

    index: str
    id: str
    routing: str | None


def places(
    states: list[dict[str, Any]], state: int, tree: Any, above: tuple[dict[str, Any], str] | None = None
) -> Iterator[Place]:
    """Every position of a tree whose kind is in NAMED. The tree may be changed at a position once it was yielded."""
    if isinstance(tree, list):
        inner = states[state].get("items", state)
        for item in tree:
            yield from places(states, inner, item, above)
        return
    if not isinstance(tree, dict):
        return
    row = states[state]
    keys: dict[str, int] = row.get("keys", {})
    key_kind, other = row.get("other", ("COPY", 1))
    lookup = lookup_keys(states, keys)
    for key in list(tree):
        value = tree[key]
        below = keys.get(key, other)
        if key not in keys and Kind[key_kind] in NAMED:
            yield Place(tree, key, Kind[key_kind], True, None, above)
        kind = Kind[states[below].get("kind", "COPY")]
        if kind in NAMED and not isinstance(value, dict):
            yield Place(tree, key, kind, False, lookup, above)
        yield from places(states, below, value, (tree, key))


def members(states: list[dict[str, Any]], state: int, tree: Any) -> Iterator[tuple[dict[str, Any], dict[str, int], str, int]]:
    """Every member of every object of a tree under its rule table, from the top: the object, the keys that its state knows, the
    key, and the state of the value. A member may be replaced once it was yielded, or the object's others; what is walked below
    is the value as it was."""
    row = states[state]
    if isinstance(tree, list):
        for item in tree:
            yield from members(states, row.get("items", state), item)
    elif isinstance(tree, dict):
        keys: dict[str, int] = row.get("keys", {})
        other = row.get("other", ("COPY", 1))[1]
        for key, value in list(tree.items()):
            below = keys.get(key, other)
            yield tree, keys, key, below
            yield from members(states, below, value)


def lookup_keys(states: list[dict[str, Any]], keys: dict[str, int]) -> Lookup | None:
    """Does an object of these keys name a document?"""
    by_kind = {states[below].get("kind"): key for key, below in keys.items()}
    if "INDEX" not in by_kind or "ID" not in by_kind:
        return None
    return Lookup(by_kind["INDEX"], by_kind["ID"], by_kind.get("ROUTING"))


def lookups(found: list[Place]) -> list[str]:
    """The indices that documents are looked up in."""
    return [str(p.holder[p.lookup.index]) for p in found if p.lookup is not None and p.holder.get(p.lookup.index) is not None]


def rewrite_places(
    found: list[Place], over: Callable[[dict[str, Any]], list[Target]], elsewhere: dict[str, Target | str]
) -> None:
    """Make names and ids of a search body physical, in place. ``over``: the targets that an object of it is about; ``elsewhere``:
    those of lookups, or the name to send for one that is not there. Raises Refusal."""
    done: set[int] = set()
    for holder, key, kind, is_key, lookup, above in found:
        if id(holder) in done or (not is_key and holder[key] is None):
            continue
        targets = over(holder)
        if lookup is not None and (holder.get(lookup.id) is not None or any(isinstance(holder.get(k), dict) for k in WITHOUT_ID)):
            if above is not None and above[1] == "indexed_shape":
                holder.setdefault("path", targets[0].naming.in_source("shape"))  # where nodes look by default
            _rewrite_lookup(holder, lookup, targets, elsewhere, liked=above is not None and above[1] in LIKED)
            done.add(id(holder))
        elif kind is Kind.ROUTING:
            raise Refusal("a routing value without a document is not available for indices in pools")
        elif is_key:
            holder[physical_name(key, targets)] = holder.pop(key)
        elif kind is Kind.ID:
            ids = holder[key] if isinstance(holder[key], list) or key not in LISTS else [holder[key]]
            holder[key] = physical_ids(ids, targets)
        else:
            holder[key] = _names(holder[key], targets)


def _rewrite_lookup(
    holder: dict[str, Any], keys: Lookup, targets: list[Target], elsewhere: dict[str, Target | str], *, liked: bool
) -> None:
    given = [text_of(holder.pop(name)) for name in ("routing", "_routing") if holder.get(name) is not None]
    named = holder.get(keys.index)
    if named is None and "path" in holder:
        return  # terms are never looked up in the index that is searched: the node says so
    target = only(targets) if named is None else elsewhere[str(named)]
    if isinstance(target, str):
        holder[keys.index] = target
        return
    holder[keys.index] = target.physical
    if isinstance(holder.get("path"), str):  # a field of that index, which was taken for one of the targets'
        holder["path"] = target.naming.in_source(targets[0].naming.logical(holder["path"]))
    if isinstance(holder.get("query"), dict):
        refilter(holder["query"], target)
    if liked and target.naming.root != targets[0].naming.root:
        raise Refusal("a document of another index to be like is not available here: its fields have other names. Give its text")
    id = ""
    if holder.get(keys.id) is not None:
        id = text_of(holder[keys.id])
        holder[keys.id] = target.id_front + id
    if keys.routing is not None and "doc" in holder and not given:
        holder[keys.routing] = target.id_front + UNUSED
    elif keys.routing is not None and (id or "doc" in holder):
        routing = target.routing(id, given[0] if given else None).get("routing")
        if routing is not None:
            holder[keys.routing] = routing


def refilter(query: dict[str, Any], target: Target) -> None:
    """A query over another index (OpenSearch looks terms up by one) has the filter of the search around it: it gets its own."""
    if "bool" in query:
        query["bool"]["filter"] = [filter_of([target])]
    else:
        query["constant_score"]["filter"] = filter_of([target])


def physical_ids(value: Any, targets: list[Target]) -> Any:
    """For lists, every id in every target; for one id, only where there is one target."""
    if isinstance(value, list):
        return [target.id_front + text_of(id) for id in value for target in targets]
    return only(targets).id_front + text_of(value)


def physical_name(name: str, targets: list[Target]) -> str:
    """The index that a value of ``_index`` stands for; one that matches nothing where it is none of these."""
    if "*" in name:
        raise Refusal("a pattern for the field [_index] is not available for indices in a pool")
    found = next((target.physical for target in targets if target.name == name), NONE)
    if sum(target.physical == found for target in targets) > 1:
        raise Divided("the field [_index] does not tell these indices apart")
    return found


def _names(value: Any, targets: list[Target]) -> Any:
    if isinstance(value, list):
        return [physical_name(text_of(name), targets) for name in value]
    return physical_name(text_of(value), targets)


def text_of(value: Any) -> str:
    """An id as a node reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def only(targets: list[Target]) -> Target:
    if len(targets) != 1:
        raise Divided("this use of an id is available for one index in a pool at a time")
    return targets[0]
