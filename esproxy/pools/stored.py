"""Stored scripts for indices in pools: what is stored is put in the place of its name.

The nodes keep scripts under the tenant's prefix, for every layout, and a script reads fields and metadata; in a pool both are
called otherwise than where it was stored for. So a body that names a stored script goes on with its source, which is rewritten
like any other; an error that tells the script is given its name again (``languages.script_errors``). One that is not there is
left to the node, which says so.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import exact
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed
from esproxy.exchange import Answer, Calls
from esproxy.languages import painless
from esproxy.pools.pooled import Pooled
from esproxy.rewriting.places import members

LANGUAGES = ("painless", "expression")  # a template is no script, and rendered where it is run


def with_sources(request: Pooled, state: int, body: bytes) -> Steps[bytes]:
    """The body, of the client's own words. What is wrong with it is found by whoever reads it next."""
    if b'"id"' not in body and b"\\u" not in body:
        return body
    try:
        tree = exact.loads(body)
    except ValueError:
        return body
    found = list(_named(request, state, tree))
    names = {holder["id"] for holder in found}
    sources = (yield from _sources(request, sorted(names))) if names else {}
    if not sources:
        return body
    for holder in found:
        if holder["id"] in sources:
            holder |= sources[holder.pop("id")]
    return exact.dumps(tree)


def _named(request: Pooled, state: int, tree: Any) -> list[dict[str, Any]]:
    """The scripts of a body that are told by their names."""
    states = request.plan.cluster.engine.tables.states
    return [
        holder
        for holder, _, key, below in members(states, state, tree)
        if key == "id"
        and states[below].get("kind") == "STORED_SCRIPT"
        and isinstance(holder["id"], str)
        and "source" not in holder
    ]


def _sources(request: Pooled, names: list[str]) -> Steps[dict[str, dict[str, Any]]]:
    """Of those that are there: what a body says of a script that it brings."""
    owner = request.plan.owner().names
    asked = [request.send("GET", ["_scripts", owner.prefix + name], {}) for name in names if name]
    answers: list[Answer] = yield Calls(asked)
    out = {}
    for name, told in zip((name for name in names if name), answers, strict=True):
        if told.status == 404:
            continue
        if told.status != 200:
            raise Failed(f"the cluster did not tell of a stored script: {told.status}")
        script = orjson.loads(told.body)["script"]
        if script["lang"] in LANGUAGES:
            source = script["source"]
            source = painless.restored(source, owner.prefix) if script["lang"] == "painless" else source
            out[name] = {"lang": script["lang"], "source": source}
            request.plan.stored[source] = name
    return out
