"""All attacks: what importing these modules puts into the table of ``attack``."""

from __future__ import annotations

from tests.oracle import (
    attacks_admin,
    attacks_bodies,
    attacks_http,
    attacks_ingest,
    attacks_names,
    attacks_reindex,
    attacks_scripts,
    attacks_search_pipelines,
    attacks_tasks,
    attacks_writes,
)
from tests.oracle.attack import ATTACKS

__all__ = [
    "ATTACKS", "attacks_admin", "attacks_bodies", "attacks_http", "attacks_ingest", "attacks_names",
    "attacks_reindex", "attacks_scripts", "attacks_search_pipelines", "attacks_tasks", "attacks_writes",
]  # fmt: skip

# What looks at all that the attacker has comes before what writes there, or closes it: an attack's own words are no leak.
ATTACKS.sort(key=lambda attack: not attack.row.startswith(("A", "B70")))
