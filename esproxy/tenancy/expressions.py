"""Index expressions evaluated on a tenant's directory, as nodes evaluate them on theirs.

A term is a name, a pattern, or an exclusion; ``_all``, ``*``, a lone comma and nothing at all mean everything. Aliases resolve
to their indices; an index that is reached by its own name or pattern too is not filtered by an alias. The engines differ over
exclusions: Elasticsearch takes ``-x`` for one anywhere, OpenSearch only behind a wildcard, and else for a name, which none can
be.

What comes out is concrete: names of indices in the directory, and names that are not there. Errors are worded as nodes do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue.documents import CLOSED, CREATING, OPEN, Directory
from esproxy.errors import Refusal, invalid_index_name, no_such_index
from esproxy.tenancy.names import empty_term, no_remote

ALL = ("_all", "*")
Filters = list[dict[str, Any]]


@dataclass(slots=True)
class Options:
    """The parameters that say how an expression is meant."""

    ignore_unavailable: bool = False
    allow_no_indices: bool = True
    expand: str = "open"
    aliases: bool = True  # an alias may stand for its indices

    @classmethod
    def of(cls, query: dict[str, str], *, aliases: bool = True) -> Options:
        return cls(
            query.get("ignore_unavailable", "false") != "false",
            query.get("allow_no_indices", "true") != "false",
            query.get("expand_wildcards", "open"),
            aliases,
        )


@dataclass(slots=True)
class Resolved:
    """``found``: index → the filters of the aliases it was reached by, None when it was reached by itself. ``used``: every name
    that this rests on. ``missing``: concrete names that are not in the directory."""

    found: dict[str, Filters | None] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def is_pattern(text: str) -> bool:
    """Does evaluating it need the whole directory?"""
    return not text.strip(",") or text == "_all" or "*" in text


def terms_of(text: str, *, product: bool) -> list[str]:
    """The terms of an expression. Raises Refusal for what is none."""
    if not text.strip(","):
        return ["*"]
    if text == "_all":
        return ["*"]
    terms = []
    for term in text.rstrip(",").split(","):
        if term.startswith("_"):
            raise invalid_index_name(term, "must not start with '_'.")
        if term in ("", "-"):
            raise empty_term(term, product)
        terms.append(_plain(term, product))
    return terms


def resolve(directory: Directory, text: str, options: Options, *, product: bool) -> Resolved:
    """The indices of an expression. Raises Refusal for a name that is none of the tenant's, unless that may be."""
    out = Resolved()
    wildcard = False
    for term in terms_of(text, product=product):
        if term.startswith("-"):
            if not product and not wildcard and "*" not in term:
                raise no_such_index(term)
            _exclude(directory, out, term[1:])
        elif "*" in term:
            _expand(directory, out, term, options)
        else:
            _name(directory, out, term, options)
        wildcard = wildcard or "*" in term
        if "*" in term and not term.startswith("-") and not out.found and not options.allow_no_indices:
            raise no_such_index(term)
    if out.missing and not options.ignore_unavailable:
        raise no_such_index(out.missing[0])
    if not out.found and not options.allow_no_indices:
        raise no_such_index(text or "_all")
    return out


def concrete(directory: Directory, name: str) -> bool:
    """Is there an index or alias of that name?"""
    entry = directory.indices.get(name)
    if entry is not None:
        return entry.state != CREATING
    return name in directory.aliases and bool(directory.aliases[name].now)


def matching(pattern: str, names: list[str]) -> list[str]:
    """A node knows one wildcard, ``*``."""
    rule = re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)
    return [name for name in names if rule.fullmatch(name)]


def _name(directory: Directory, out: Resolved, name: str, options: Options) -> None:
    if not concrete(directory, name):
        out.missing.append(name)
        return
    out.used.append(name)
    if name in directory.indices:
        if directory.indices[name].state == CLOSED and not options.ignore_unavailable:
            raise index_closed(name)
        out.found[name] = None
    elif options.aliases:
        _through(directory, out, name)
    else:
        reason = f"The provided expression [{name}] matches an alias, specify the corresponding concrete indices instead."
        raise Refusal(reason)


def _expand(directory: Directory, out: Resolved, pattern: str, options: Options) -> None:
    wanted = {part.strip() for part in options.expand.split(",")}
    states = set()
    if wanted & {"open", "all"}:
        states.add(OPEN)
    if wanted & {"closed", "all"}:
        states.add(CLOSED)
    for name in matching(pattern, sorted(directory.indices)):
        if directory.indices[name].state in states:
            out.used.append(name)
            out.found[name] = None
    if not options.aliases:
        return
    for name in matching(pattern, sorted(directory.aliases)):
        if concrete(directory, name):
            out.used.append(name)
            _through(directory, out, name)


def _through(directory: Directory, out: Resolved, alias: str) -> None:
    for name, properties in sorted(directory.aliases[alias].now.items()):
        if not concrete(directory, name):
            continue
        limit = properties.get("filter")
        if limit is None:
            out.found[name] = None
        elif name not in out.found:
            out.found[name] = [limit]
        else:
            known = out.found[name]
            if known is not None:
                known.append(limit)


def _exclude(directory: Directory, out: Resolved, pattern: str) -> None:
    for name in matching(pattern, list(out.found)):
        del out.found[name]
    for alias in matching(pattern, list(directory.aliases)):
        for name in directory.aliases[alias].now:
            out.found.pop(name, None)


def _plain(term: str, product: bool) -> str:
    """A term without the brackets of date math, of which only constants can be resolved here."""
    sign, name = ("-", term[1:]) if term.startswith("-") else ("", term)
    if name.startswith("<") and name.endswith(">") and len(name) > 2:
        name = name[1:-1]
        if "{" in name or "\\" in name:
            raise Refusal(f"date math is not available for an index in a pool: [{term}]")
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


def index_closed(name: str) -> Refusal:
    return Refusal("closed", type="index_closed_exception", index_uuid="_na_", index=name)
