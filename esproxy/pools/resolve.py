"""``_resolve/index`` for a tenant with indices in pools: its directory, as an expression picks from it.

Unlike in a search, a name or pattern of aliases picks aliases, and not what they stand for. Elasticsearch from 9.2 on tells each
index's mode, too, and picks by it (``mode``): it is asked for those of the physical indices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from esproxy.answer import is_error
from esproxy.catalogue.documents import CLOSED, OPEN, Directory
from esproxy.catalogue.store import Steps
from esproxy.errors import no_such_index
from esproxy.exchange import Large, Reply
from esproxy.pools import wide
from esproxy.pools.declared import answer, known_parameters
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.tenancy.expressions import Options, concrete, is_pattern, matching

Tree = dict[str, Any]


def resolve_index(request: Pooled) -> Steps[Reply | Large]:
    known_parameters(request)
    options = Options.of(request.plan.query, closed=True)
    expression = yield from request.dated(request.parts["name"])
    terms = request.terms(expression)
    named = [term for term in terms if "*" not in term and not term.startswith("-")]
    directory = yield from request.directory(named, is_pattern(expression))
    directory = yield from request.look_beside(directory, terms)
    lenient = options.ignore_unavailable or not request.product  # OpenSearch tells nothing of what is not there
    indices: dict[str, None] = {}
    aliases: dict[str, None] = {}
    wildcard = False
    for term in terms:
        excluding = term.startswith("-") and (request.product or wildcard)
        name = term[1:] if excluding else term
        wildcard = wildcard or "*" in name
        found, others = _indices(directory, name, options), _aliases(directory, name, options)
        if not found and not others and "*" not in name and not lenient and not excluding:
            raise no_such_index(name)
        if not found and not others and "*" in name and not options.allow_no_indices:
            raise no_such_index(name)
        for picked, matched in ((indices, found), (aliases, others)):
            for one in matched:
                if excluding:
                    picked.pop(one, None)
                else:
                    picked[one] = None
    request.sight.use([*indices, *aliases])
    modes: dict[str, str | None] = {directory.indices[name].physical: None for name in indices}
    if request.product:
        asked, modes = sorted(modes), {}
        query = {"expand_wildcards": "all", **{name: value for name, value in request.plan.query.items() if name == "mode"}}
        if asked:
            told = yield from wide.ask(request, "GET", ["_resolve", "index", wide.INDEX], asked, query)
            if is_error(told.status, told.body):
                return node_reply(request, told)
            modes.update((one["name"], one.get("mode")) for one in orjson.loads(told.body)["indices"])
    return answer(
        request,
        {
            "indices": [_index(directory, name, modes) for name in sorted(indices) if directory.indices[name].physical in modes],
            "aliases": [{"name": name, "indices": sorted(directory.aliases[name].now)} for name in sorted(aliases)],
            "data_streams": [],
        },
    )


def _indices(directory: Directory, name: str, options: Options) -> list[str]:
    there = [one for one in directory.indices if concrete(directory, one)]
    if "*" not in name:
        return [name] if name in there else []
    states = {state for word, state in (("open", OPEN), ("closed", CLOSED)) if word in options.expand}
    known = directory.indices
    return [one for one in matching(name, there) if known[one].state in states and _seen(one, known[one].hidden, name, options)]


def _aliases(directory: Directory, name: str, options: Options) -> list[str]:
    there = {one: alias.now for one, alias in directory.aliases.items() if alias.now and one not in directory.indices}
    if "*" not in name:
        return [name] if name in there else []
    if not options.expand & {"open", "closed"}:
        return []
    veiled = {one for one, now in there.items() if all(properties.get("is_hidden") for properties in now.values())}
    return [one for one in matching(name, list(there)) if _seen(one, one in veiled, name, options)]


def _seen(name: str, hidden: bool, pattern: str, options: Options) -> bool:
    return not hidden or "hidden" in options.expand or (name.startswith(".") and pattern.startswith("."))


def _index(directory: Directory, name: str, modes: Mapping[str, str | None]) -> Tree:
    """``modes``: by physical name; None or missing where nodes tell none."""
    entry = directory.indices[name]
    aliases = sorted(alias for alias, one in directory.aliases.items() if name in one.now)
    attributes = sorted([entry.state, *(["hidden"] if entry.hidden else [])])
    mode = modes.get(entry.physical)
    told = {"mode": mode} if mode is not None else {}
    return {"name": name, **({"aliases": aliases} if aliases else {}), "attributes": attributes, **told}
