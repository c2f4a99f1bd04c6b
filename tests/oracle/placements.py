"""Where the tenants of a test run have their indices: the one list of placements that tests and tools read.

A placement is a default layout and rules; it can be run as soon as the product offers all its layouts. ``mixed`` has indices
of one tenant side by side in every layout.
"""

from __future__ import annotations

from esproxy.settings.models import LAYOUTS_AVAILABLE

Rule = tuple[tuple[str, ...], str]  # patterns of index names, their layout

# First letters are spread so that the scenarios' usual pairs (left and right, a and b, lib and refs) lie apart.
MIXED: tuple[Rule, ...] = ((("r*", "b", "books*", "logs-b*"), "dedicated"), (("a*", "t*", "logs-c*"), "per-tenant"))
WANTED: dict[str, tuple[str, tuple[Rule, ...]]] = {
    "dedicated": ("dedicated", ()),
    "shared": ("shared", ()),
    "per-tenant": ("per-tenant", ()),
    "mixed": ("shared", MIXED),
}


def layouts_in(placement: str) -> set[str]:
    """The layouts that a placement gives; none for a comparison of the bare node with itself."""
    if placement not in WANTED:
        return set()
    layout, rules = WANTED[placement]
    return {layout, *(layout for _, layout in rules)}


PLACEMENTS = tuple(name for name in WANTED if layouts_in(name) <= set(LAYOUTS_AVAILABLE))


def config(placement: str) -> str:
    """The section ``placement`` of the settings."""
    layout, rules = WANTED[placement]
    text = f'[placement]\nlayout = "{layout}"\ncluster = "main"\n'
    for patterns, where in rules:
        listed = ", ".join(f'"{pattern}"' for pattern in patterns)
        text += f'[[placement.rules]]\ntenants = ["*"]\nindices = [{listed}]\nlayout = "{where}"\n'
    return text
