"""Files of the suite, read the way its authors' own runner reads them.

A file is a sequence of YAML documents, each with one named section or several; ``setup`` and ``teardown`` go with every test of
the file. YAML is read as JSON is: keys are text, of plain scalars only booleans, null and decimal numbers mean something (no
dates, no ``on``, no octal, no sexagesimal), and a key that stands twice has its last value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_AROUND = ("setup", "teardown")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  PyYAML's own name


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    return {
        key.value if isinstance(key, yaml.ScalarNode) else str(loader.construct_object(key, deep=True)): (
            loader.construct_object(value, deep=True)
        )
        for key, value in node.value
    }


for _tag, _pattern, _first in (
    ("bool", r"(?:true|false|True|False|TRUE|FALSE)$", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))  # 010 is ten
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def documents(text: str) -> list[Any]:
    """What a YAML text holds; empty documents are left out."""
    return [one for one in yaml.load_all(text, Loader=_Loader) if one]


@dataclass(frozen=True, slots=True)
class Test:
    """One test. Steps are ``{kind: argument}``."""

    __test__ = False  # nothing for pytest to collect

    file: str
    name: str
    setup: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    teardown: list[dict[str, Any]]

    @property
    def key(self) -> str:
        """What the lists call it."""
        return f"{self.file} :: {self.name}"


def read(file: str, text: str) -> Iterator[Test]:
    sections: dict[str, Any] = {}
    for document in documents(text):
        sections |= document
    setup, teardown = (sections.get(name) or [] for name in _AROUND)
    for name, steps in sections.items():
        if name not in _AROUND:
            yield Test(file, name.strip(), setup, steps or [], teardown)


def load(folder: Path) -> Iterator[Test]:
    """All tests below a folder, in the order of their files."""
    for path in sorted(folder.rglob("*.yml")):
        yield from read(path.relative_to(folder).as_posix(), path.read_text("utf-8"))
