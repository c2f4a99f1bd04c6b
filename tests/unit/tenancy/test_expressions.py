"""Expressions that the versions of Elasticsearch read differently. What all read alike is held by the scenarios."""

import pytest

from esproxy.catalogue.documents import OPEN, Directory, Entry
from esproxy.errors import Refusal
from esproxy.tenancy.expressions import Options, resolve
from esproxy.tenancy.names import PrefixNames

HINT = "if you intended to exclude this index, ensure that you use wildcards that include it before explicitly excluding it"


def directory() -> Directory:
    indices = {name: Entry(n, "shared", "pool~x", "pool~x-1", OPEN) for n, name in enumerate(("ab", "ac"), 1)}
    return Directory("acme", 3, indices=indices)


def found(text: str, before_9: bool) -> list[str]:
    return sorted(resolve(directory(), text, Options(), product=True, before_9=before_9).found)


@pytest.mark.parametrize(
    ("text", "newest", "older"),
    [
        ("a*,-ab", ["ac"], ["ac"]),
        ("a*,-nope", ["ab", "ac"], ["ab", "ac"]),
        ("ab,-a*", [], ["ab"]),
        ("-a*,ab", ["ab"], ["ab"]),
        ("-a*", [], []),
    ],
)
def test_exclusion_needs_a_wildcard_in_front_before_9(text, newest, older):
    assert found(text, False) == newest
    assert found(text, True) == older


@pytest.mark.parametrize("text", ["-ab", "ab,-ab", "-ab,ab", "-"])
def test_exclusion_without_a_wildcard_in_front_is_a_name_before_9(text):
    with pytest.raises(Refusal) as refused:
        found(text, True)
    name = next(term for term in text.split(",") if term.startswith("-"))
    assert (refused.value.status, refused.value.reason) == (404, f"no such index [{name}] and {HINT}")


@pytest.mark.parametrize("text", [",ab", "ab,,ac"])
def test_empty_term_is_a_name_before_9(text):
    with pytest.raises(Refusal, match=r"^no such index \[\]$"):
        found(text, True)
    with pytest.raises(Refusal, match="expression cannot be empty"):
        found(text, False)


def test_exclusions_alone_come_to_nothing_under_a_prefix_or_are_names_before_9():
    names = PrefixNames("acme.")
    assert names.expression("-ab", {}, product=True) == names.nothing
    assert names.expression("-a*", {}, product=True, before_9=True) == names.nothing
    with pytest.raises(Refusal, match="before explicitly excluding it"):
        names.expression("-ab", {}, product=True, before_9=True)
