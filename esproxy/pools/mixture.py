"""What a tenant has outside of pools, for a request that may be about both.

The directory knows nothing of indices of their own: the cluster does, under the tenant's prefix. So for an expression that may
name both, the cluster is asked for what the expression's terms find there, and the directory is added to: the expression is then
evaluated once, over all indices and aliases that the tenant has, as a node would. An alias may stand for indices of both kinds;
each kind's share of it is kept where the indices are.

What was added is as new as the call. It is not part of what a request rests on (rule A): an index of its own that goes meanwhile
is the node's to miss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from esproxy.api.target import build
from esproxy.catalogue.documents import CLOSED, OPEN, Alias, Directory, Entry
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Violation
from esproxy.exchange import Call, Send
from esproxy.plan import Plan
from esproxy.tenancy.dedicated import OUTSIDE
from esproxy.tenancy.names import FORBIDDEN
from esproxy.tenancy.placement import DEDICATED

TOLD = "*.aliases,*.settings.index.hidden,*.settings.index.verified_before_close"
EVERYTHING = {"expand_wildcards": "all", "ignore_unavailable": "true", "allow_no_indices": "true", "filter_path": TOLD}


def whole_directory(directory: Directory, plan: Plan, terms: Iterable[str]) -> Steps[Directory]:
    """The directory with the indices and aliases of their own that the terms find. ``terms``: without dates."""
    prefix = plan.owner().names.prefix
    wanted = dict.fromkeys(term.removeprefix("-") for term in terms)
    path = ",".join(prefix + term for term in wanted if not FORBIDDEN - {"*"} & set(term))
    told = yield Call(Send(plan.cluster.name, "GET", build([path or prefix], EVERYTHING), [], b"", True, True))
    found: dict[str, Any] = parsed(told, 200)
    indices, aliases = dict(directory.indices), dict(directory.aliases)
    for physical, index in found.items():
        if not physical.startswith(prefix):
            raise Violation("an index name")
        name = physical.removeprefix(prefix)
        if name in indices and indices[name].layout != DEDICATED:
            continue
        settings = (index.get("settings") or {}).get("index") or {}
        state = CLOSED if "verified_before_close" in settings else OPEN
        indices[name] = Entry(OUTSIDE, DEDICATED, "", physical=physical, state=state, hidden=settings.get("hidden") == "true")
        for sent, properties in (index.get("aliases") or {}).items():
            if not sent.startswith(prefix):
                raise Violation("an alias")
            known = aliases.get(sent.removeprefix(prefix), Alias({}))
            aliases[sent.removeprefix(prefix)] = replace(known, now={**known.now, name: properties})
    return replace(directory, indices=indices, aliases=aliases)
