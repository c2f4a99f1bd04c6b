"""Index expressions evaluated on a tenant's directory, as nodes evaluate them on theirs.

A term is a name, a pattern, or an exclusion; ``_all``, ``*``, a lone comma and nothing at all mean everything. Terms are taken in
order: a pattern adds the indices that match it, and those of the aliases that do; an exclusion takes names away; what is left are
names of indices, of aliases, or of nothing. Aliases then stand for their indices; an index that is reached by its own name or
pattern too is not filtered by an alias.

The engines differ over exclusions: Elasticsearch 9 takes ``-x`` for one anywhere, OpenSearch and Elasticsearch 8 only behind a
wildcard, and else for a name, which none can be; and over patterns that may not expand, which OpenSearch lets come to nothing
where they stand alone.

What comes out is concrete: names of indices in the directory, and names that are not there. Errors are worded as nodes do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue.documents import CLOSED, MAKING, OPEN, Directory, Entry
from esproxy.errors import Refusal, invalid_index_name, no_such_index
from esproxy.tenancy.names import empty_term, no_remote

# How endpoints mean an expression, where that is not as a search does.
DEFAULTS: dict[str, dict[str, Any]] = {
    "indices.delete": {"expand": "open,closed", "aliases": False},
    "indices.get_settings": {"expand": "open,closed"},
    "indices.put_mapping": {"expand": "open,closed", "allow_no_indices": False},
    "indices.put_settings": {"expand": "open,closed", "allow_no_indices": False},
    "indices.get_alias": {"expand": "all"},
    "indices.exists_alias": {"expand": "all"},
    "indices.put_alias": {"allow_no_indices": False, "aliases": False},
    "indices.delete_alias": {"allow_no_indices": False, "aliases": False},
    "indices.update_aliases": {"allow_no_indices": False, "aliases": False},
    "cat.indices": {"expand": "open,closed"},
    "cluster.health": {"expand": "all"},
    "indices.open": {"expand": "closed"},
    "indices.recovery": {"expand": "open,closed"},
    "cat.recovery": {"expand": "open,closed"},
    "indices.shard_stores": {"expand": "open,closed"},
}
# What is asked or said of indices whether they are open or not; anything else meets an error at a closed one.
MAY_BE_CLOSED = frozenset(
    ("indices.close", "indices.delete", "indices.exists", "indices.get", "indices.get_mapping", "indices.get_field_mapping",
     "indices.get_settings", "indices.open", "indices.put_mapping", "indices.put_settings", "indices.get_alias",
     "indices.exists_alias", "indices.put_alias", "indices.delete_alias", "indices.update_aliases", "cat.indices", "cat.health",
     "cluster.health", "cluster.state", "indices.stats", "indices.segments", "indices.recovery", "indices.shard_stores",
     "cat.shards", "cat.segments", "cat.recovery")
)  # fmt: skip
STATES = ("open", "closed", "hidden", "all", "none")
Filters = list[dict[str, Any]]
CHOICES = frozenset(("ignore_unavailable", "allow_no_indices", "expand_wildcards"))  # parameters


@dataclass(slots=True)
class Options:
    """The parameters that say how an expression is meant. ``expand``: which indices a pattern matches."""

    ignore_unavailable: bool = False
    allow_no_indices: bool = True
    expand: frozenset[str] = frozenset(("open",))
    aliases: bool = True  # an alias may stand for its indices
    closed: bool = False  # they may be closed

    @classmethod
    def of(
        cls, query: dict[str, str], *, expand: str = "open", allow_no_indices: bool = True, aliases: bool = True,
        closed: bool = False,
    ) -> Options:  # fmt: skip
        """Those of a request, where an endpoint has these by default. Raises Refusal."""
        return cls(
            _boolean(query, "ignore_unavailable", False),
            _boolean(query, "allow_no_indices", allow_no_indices),
            _states(query.get("expand_wildcards", expand)),
            aliases,
            closed,
        )


def _boolean(query: dict[str, str], name: str, default: bool) -> bool:
    value = query.get(name)
    if value is None:
        return default
    if value not in ("true", "false"):
        cause = Refusal(f"Failed to parse value [{value}] as only [true] or [false] are allowed.")
        raise Refusal(f"Could not convert [{name}] to boolean", caused_by=cause.cause())
    return value == "true"


def _states(text: str) -> frozenset[str]:
    """``none`` takes back what stands before it. Raises Refusal."""
    found: set[str] = set()
    for word in filter(None, (part.strip() for part in text.split(","))):
        if word not in STATES:
            raise Refusal(f"No valid expand wildcard value [{word}]")
        found = set() if word == "none" else found | ({"open", "closed", "hidden"} if word == "all" else {word})
    return frozenset(found)


@dataclass(slots=True)
class Resolved:
    """``found``: index → the filters of the aliases it was reached by, None when it was reached by itself. ``used``: every name
    that this rests on. ``missing``: concrete names that are not in the directory. ``routed``: index → the routing values that all
    of those aliases give a search; an index with none is not in it."""

    found: dict[str, Filters | None] = field(default_factory=dict)
    routed: dict[str, frozenset[str]] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def is_pattern(text: str) -> bool:
    """Does evaluating it need the whole directory?"""
    return not text.strip(",") or text == "_all" or "*" in text


def terms_of(text: str, *, product: bool, before_9: bool = False) -> list[str]:
    """The terms of an expression. Raises Refusal for what is none."""
    if not text.strip(",") or text == "_all":
        return ["*"]
    terms = []
    for term in text.rstrip(",").split(","):
        if term.startswith("_"):
            raise invalid_index_name(term, "must not start with '_'.")
        if term in ("", "-"):
            raise empty_term(term, product, before_9)
        terms.append(_plain(term, product))
    return terms


def resolve(directory: Directory, text: str, options: Options, *, product: bool, before_9: bool = False) -> Resolved:
    """The indices of an expression. Raises Refusal for a name that is none of the tenant's, unless that may be."""
    terms = terms_of(text, product=product, before_9=before_9)
    reached = _reached(directory, terms, options, product, before_9)
    out = Resolved()
    paths: dict[str, list[list[str] | None]] = {}  # index → the aliases by which it was reached, None for itself
    for name, through in reached.items():
        if name in directory.indices and concrete(directory, name):
            out.used.append(name)
            entry = directory.indices[name]
            if entry.state == CLOSED and not options.closed and options.ignore_unavailable:
                continue
            limits = _filters(directory, name, through)
            out.found[name] = None if limits is None or out.found.get(name, limits) is None else limits
            paths.setdefault(name, []).append(through)
        elif concrete(directory, name):
            out.used.append(name)
            for index in sorted(directory.aliases[name].now):
                passed_by = not options.closed and options.ignore_unavailable and directory.indices[index].state == CLOSED
                if concrete(directory, index) and not passed_by:
                    limits = _filters(directory, index, [name])
                    known = out.found.get(index, [])
                    out.found[index] = None if limits is None or known is None else known + limits
                    paths.setdefault(index, []).append([name])
        else:
            out.missing.append(name)
    for through in reached.values():
        out.used += through or ()
    for index, ways in paths.items():
        values = _routing_values(directory, index, ways)
        if values:
            out.routed[index] = values
    if not out.found and not options.allow_no_indices:
        raise nothing_found(text, terms, product)
    return out


def _reached(
    directory: Directory, terms: list[str], options: Options, product: bool, before_9: bool
) -> dict[str, list[str] | None]:
    """The names that the terms come to: index → the aliases by which a pattern found it, None when by itself; names of aliases
    and, where that may be, of nothing."""
    reached: dict[str, list[str] | None] = {}
    wildcard = False
    lenient = options.ignore_unavailable
    everything = terms == ["*"]
    for term in terms:
        excluding = term.startswith("-") and ((product and not before_9) or wildcard)
        name = term[1:] if excluding else term
        if "*" in name and (not options.expand & {"open", "closed"}):
            if (product and not excluding) and not lenient:
                raise no_such_index(term, excluded=before_9 and term.startswith("-"))
            if not product and len(terms) > 1 and not lenient:
                raise no_such_index(term, single=True)
            continue
        if "*" in name:
            # OpenSearch takes everything to be indices alone: a visible alias shows no hidden one then.
            matched = _expand(directory, name, options, aliases=options.aliases and (product or not everything))
            if excluding:
                for index in matched:
                    reached.pop(index, None)
            elif not matched and not options.allow_no_indices and not everything:
                raise no_such_index(term)
            for index, through in () if excluding else matched.items():
                known = reached.get(index, [])
                reached[index] = None if through is None or known is None else known + through
            wildcard = True
        elif excluding and (product or concrete(directory, name) or lenient):
            reached.pop(name, None)
        elif concrete(directory, name):
            if not options.aliases and name not in directory.indices:
                if lenient:
                    continue
                reason = f"The provided expression [{name}] matches an alias, specify the corresponding concrete indices instead."
                raise Refusal(reason)
            reached[name] = None
        elif not lenient:
            raise no_such_index(name, excluded=before_9 and name.startswith("-"))
        else:
            reached[name] = None
    return reached


def _expand(directory: Directory, pattern: str, options: Options, *, aliases: bool) -> dict[str, list[str] | None]:
    """The indices of a pattern: by their own names (None), or by the names of aliases."""
    found: dict[str, list[str] | None] = {}
    rule = _rule(pattern)
    hidden = "hidden" in options.expand
    for name in sorted(directory.indices):
        entry = directory.indices[name]
        if rule.fullmatch(name) and _in_state(entry, options) and (hidden or not entry.hidden or _both_dotted(name, pattern)):
            found[name] = None
    for name in sorted(directory.aliases) if aliases else ():
        now = directory.aliases[name].now
        veiled = bool(now) and all(properties.get("is_hidden") for properties in now.values())
        if not rule.fullmatch(name) or (veiled and not hidden and not _both_dotted(name, pattern)):
            continue
        for index in now:
            entry_of = directory.indices.get(index)
            if entry_of is None or not _in_state(entry_of, options):
                continue
            known = found.get(index, [])
            if known is not None:
                found[index] = [*known, name]
    return found


def _in_state(entry: Entry, options: Options) -> bool:
    return entry.state in {"open": OPEN, "closed": CLOSED} and entry.state in options.expand


def _both_dotted(name: str, pattern: str) -> bool:
    """A pattern that begins with a dot also matches hidden names that do."""
    return name.startswith(".") and pattern.startswith(".")


def _filters(directory: Directory, index: str, aliases: list[str] | None) -> Filters | None:
    """The filters of the aliases by which an index was reached; None where one of them has none, or it was by itself."""
    limits = [] if aliases is None else [directory.aliases[alias].now[index].get("filter") for alias in aliases]
    return None if aliases is None or None in limits else [limit for limit in limits if limit is not None]


def _routing_values(directory: Directory, index: str, ways: list[list[str] | None]) -> frozenset[str]:
    """The routing values of a search for an index; none where it was reached by itself, or by an alias that has none."""
    found: set[str] = set()
    for aliases in ways:
        for alias in aliases or [""]:
            value = directory.aliases[alias].now[index].get("search_routing") if alias else None
            if value is None:
                return frozenset()
            found.update(value.split(","))
    return frozenset(found)


def nothing_found(text: str, terms: list[str], product: bool) -> Refusal:
    """What a node says where nothing is left and something must be."""
    if terms == ["*"] and (text == "_all" or not text.strip(",")):
        told, kind = ("_all", "index_or_alias") if product else ("null", "index_expression")
        reason = f"no such index [{told}] and no indices exist"
        known = {"index_uuid": "_na_", "index": told} if product else {}
        extras: dict[str, Any] = {"resource.type": kind, "resource.id": "_all"} | known
        return Refusal(reason, status=404, type="index_not_found_exception", **extras)
    if terms == ["*"] and not product:
        extras = {"resource.type": "index_expression", "resource.id": text}
        return Refusal("no such index [null]", status=404, type="index_not_found_exception", **extras)
    if len(terms) == 1:
        return no_such_index(terms[0], single=not product)
    extras = {"resource.type": "index_expression", "resource.id": text.rstrip(",").split(",")}
    return Refusal("no such index [null]", status=404, type="index_not_found_exception", **extras)


def concrete(directory: Directory, name: str) -> bool:
    """Is there an index or alias of that name?"""
    entry = directory.indices.get(name)
    if entry is not None:
        return entry.state not in MAKING
    return name in directory.aliases and bool(directory.aliases[name].now)


def matching(pattern: str, names: list[str]) -> list[str]:
    """A node knows one wildcard, ``*``."""
    rule = _rule(pattern)
    return [name for name in names if rule.fullmatch(name)]


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def _plain(term: str, product: bool) -> str:
    """A term without the brackets of date math, whose dates have been resolved by then."""
    sign, name = ("-", term[1:]) if term.startswith("-") else ("", term)
    if name.startswith("<") and name.endswith(">") and len(name) > 2:
        name = name[1:-1]
    elif name.startswith("<") and "{" in name:
        raise no_such_index(term)
    bare, double, selector = name.partition("::")
    if double and product and selector == "data":
        name = bare
    elif double:
        raise no_such_index(term)
    if ":" in name:
        raise no_remote(name, product)
    return sign + name


def index_closed(name: str, uuid: str) -> Refusal:
    return Refusal("closed", type="index_closed_exception", index_uuid=uuid, index=name)
