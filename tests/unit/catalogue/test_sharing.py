"""How much is shared, computed from the catalogue's documents."""

from __future__ import annotations

from esproxy.catalogue import names
from esproxy.catalogue.documents import OPEN, Directory, Entry, Index
from esproxy.catalogue.sharing import NO_REASON, SHOWN, Sharing, add_dedicated, lines, measure


def entry(n: int, layout: str, family: str, physical: str) -> Entry:
    return Entry(n, layout, family, physical, OPEN)


def index(n: int, reason: str | None) -> Index:
    return Index("acme", f"i{n}", n, "shared", names.family_of_one("acme", n), {}, {}, reason=reason)


def found(*reasons: str | None, pooled: int = 1) -> Sharing:
    """Indices in one pool, and one alone for each reason."""
    entries = {f"p{n}": entry(1000 + n, "shared", "pool~logs-0", "pool~logs-0-1") for n in range(pooled)}
    entries |= {f"i{n}": entry(n, "shared", names.family_of_one("acme", n), f"one~{n}-1") for n in range(len(reasons))}
    return measure([Directory("acme", 9, indices=entries)], [index(n, reason) for n, reason in enumerate(reasons)])


def test_share_counts_only_what_nothing_keeps_from_sharing() -> None:
    kept = found("join", "analysis", pooled=3).layouts["shared"]
    assert (kept.logical, kept.pooled, len(kept.physical), kept.share) == (5, 3, 3, 1.0)
    assert kept.alone == {"join": ["acme/i0"], "analysis": ["acme/i1"]}


def test_share_of_a_pool_of_one_without_a_reason_is_lower() -> None:
    assert found(None, pooled=1).layouts["shared"].share == 0.5
    assert found(None, pooled=1).layouts["shared"].alone == {NO_REASON: ["acme/i0"]}
    assert found("a reason that is not in the list", pooled=0).layouts["shared"].share == 0.0


def test_share_of_nothing_is_whole() -> None:
    assert found("join", pooled=0).layouts["shared"].share == 1.0


def test_layouts_are_counted_apart() -> None:
    one = Directory(
        "acme", 9, indices={"a": entry(1, "shared", "pool~a", "pool~a-1"), "b": entry(2, "per-tenant", "own~", "own~-1")}
    )
    two = Directory("zenith", 9, indices={"a": entry(1, "shared", "pool~a", "pool~a-1")})
    both = measure([one, two], [])
    add_dedicated(both, ["acme.x", "acme.y"])
    counted = {name: (layout.logical, layout.pooled, len(layout.physical)) for name, layout in both.layouts.items()}
    assert counted == {"shared": (2, 2, 1), "per-tenant": (1, 1, 1), "dedicated": (2, 0, 2)}


def test_lines_name_every_reason_and_some_of_the_indices() -> None:
    text = list(lines(found(*["join"] * (SHOWN + 2), pooled=1)))
    assert text[0].startswith(f"shared: {SHOWN + 3} logical indices, 1 of them pooled (4.3 %), in {SHOWN + 3} physical indices")
    assert text[0].endswith("of those that nothing keeps from sharing, 100.0 % are")
    assert text[1].startswith("  pool of one: acme/i0, ") and " and 2 more: a field of type join" in text[1] and len(text) == 2
    assert list(lines(Sharing())) == ["no indices"]
