"""YAML of the suite, the stash, and which versions a test is for."""

from __future__ import annotations

import pytest

from tests.conformance.conditions import About, Skipped, check, within
from tests.conformance.reading import documents, read
from tests.conformance.values import ABSENT, Stash, Unplayable, at

FILE = """
setup:
  - do: {ping: {}}
---
teardown:
  - do: {info: {}}
---
"one":
  - is_true: a
---
"two ":
  - is_true: b
"""


def test_scalars_are_read_as_json_is() -> None:
    text = "{1: on, d: 2026-01-01, octal: 010, time: 10:30, float: 1e3, none: ~, truth: True, text: '1', big: 12345678901234567}"
    assert documents(text) == [
        {
            "1": "on",
            "d": "2026-01-01",
            "octal": 10,
            "time": "10:30",
            "float": 1000.0,
            "none": None,
            "truth": True,
            "text": "1",
            "big": 12345678901234567,
        }
    ]


def test_file_gives_each_test_its_setup_and_teardown() -> None:
    found = list(read("a/b.yml", FILE))
    assert [one.key for one in found] == ["a/b.yml :: one", "a/b.yml :: two"]
    assert all(one.setup == [{"do": {"ping": {}}}] and one.teardown == [{"do": {"info": {}}}] for one in found)
    assert [one.steps for one in found] == [[{"is_true": "a"}], [{"is_true": "b"}]]


def test_stash_fills_values_whole_and_texts_in_part() -> None:
    stash = Stash(id=7, name="x", object={"a": 1})
    assert stash.fill({"$name": ["$id", "${id}", "n-${id}-${name}", "$object", "$other", "a$id"]}) == {
        "x": [7, 7, "n-7-x", {"a": 1}, "$other", "a$id"]
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *[("", [{"x": {"y.z": [1]}}]), ("0.x.y\\.z.0", 1), ("0.x._arbitrary_key_", "y.z")],
        *[("0.x.y", ABSENT), ("1", ABSENT), ("x", ABSENT)],
    ],
)
def test_path_leads_to_its_value(path: str, value: object) -> None:
    assert at([{"x": {"y.z": [1]}}], path, Stash()) == value


@pytest.mark.parametrize(
    ("ranges", "family", "version", "inside"),
    [
        ("all", "opensearch", "3.8.0", True),
        (" - 2.99.99", "opensearch", "3.8.0", False),
        (" - 7.9.99", "opensearch", "3.8.0", False),  # Elasticsearch's versions are older than all of OpenSearch's
        ("7.2.0 - ", "opensearch", "3.8.0", True),
        (" - 7.9.99", "elasticsearch", "9.4.3", False),
        ("7.2.0 - ", "elasticsearch", "9.4.3", True),
        ("1.0.0 - 1.9.0, 3.8 - 3.8.0", "opensearch", "3.8.0", True),
        ("3.8.1 - ", "opensearch", "3.8.0", False),
    ],
)
def test_version_is_within_ranges(ranges: str, family: str, version: str, inside: bool) -> None:
    assert within(ranges, About(family, version)) is inside


def test_skip_names_features_and_versions() -> None:
    about = About("opensearch", "3.8.0")
    check({"features": "warnings, headers", "version": " - 2.99.99", "reason": "old"}, about)
    with pytest.raises(Skipped, match="no feature time_travel"):
        check({"features": ["warnings", "time_travel"]}, about)
    with pytest.raises(Skipped, match="because"):
        check({"version": "3.0.0 - ", "reason": "because"}, about)
    with pytest.raises(Unplayable, match="weather"):
        check({"weather": "fine"}, about)
