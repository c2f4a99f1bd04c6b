"""Templates of a tenant: what is its own in what a node says of all that match.

A tenant's templates have its prefix in their names and in every pattern, so no other tenant's index can match them, and none of
another's can match its indices. An operator's may: what they put into a new index is the tenant's to see, their names are not.
"""

from __future__ import annotations

from typing import Any


def without_foreign(simulated: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The answer of a simulation without the templates that overlap and are the operator's; the others by name, as nodes list
    them in the order of a hash of it."""
    found = simulated.get("overlapping")
    if isinstance(found, list):
        own = [one for one in found if str(one.get("name", "")).startswith(prefix)]
        simulated["overlapping"] = sorted(own, key=lambda one: one["name"])
    return simulated
