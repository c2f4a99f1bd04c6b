"""Dynamic templates: which one a new field matches, and the definition it gives.

The first template that matches decides. A template names kinds of values (``match_mapping_type``), the field's own name
(``match``) and its whole path (``path_match``). Elasticsearch takes lists and ``unmatch_mapping_type``, and a template without
any pattern and kind matches nothing; OpenSearch takes one text each (a list is matched as the text it prints as).

A node runs ``match_pattern: regex`` on names that documents bring, and so do we: an expression that can take long on some name
is refused, by a budget of steps that grows with the name's length to the power of the expression's repetitions, and doubles
with each choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from esproxy.errors import Refusal

Definition = dict[str, Any]
KINDS = ("object", "string", "long", "double", "boolean", "date", "binary")
TYPE_OF = {"object": "object", "string": "text", "long": "long", "double": "float", "boolean": "boolean", "date": "date"}
RUNTIME_TYPE_OF = {"string": "keyword", "long": "long", "double": "double", "boolean": "boolean", "date": "date"}
STEPS = 1_000_000  # of a regular expression on one name

Test = Callable[[str], bool]


@dataclass(slots=True, frozen=True)
class Template:
    name: str
    kinds: frozenset[str]
    match: tuple[Test, ...]
    unmatch: tuple[Test, ...]
    path_match: tuple[Test, ...]
    path_unmatch: tuple[Test, ...]
    mapping: Definition
    runtime: bool

    def matches(self, path: str, name: str, kind: str) -> bool:
        return (
            kind in self.kinds
            and (not self.path_match or any(test(path) for test in self.path_match))
            and (not self.match or any(test(name) for test in self.match))
            and not any(test(path) for test in self.path_unmatch)
            and not any(test(name) for test in self.unmatch)
        )

    def definition(self, name: str, kind: str) -> Definition:
        """The field's definition, its type resolved."""
        dynamic_type = (RUNTIME_TYPE_OF if self.runtime else TYPE_OF)[kind]
        filled = _filled(self.mapping, {"{name}": name, "{dynamic_type}": dynamic_type, "{dynamicType}": dynamic_type})
        return {"type": dynamic_type} | filled


def templates(declared: list[dict[str, Definition]], engine: str) -> tuple[Template, ...]:
    """The templates of a mapping, in order: ``[{"a name": {"match": …, "mapping": {…}}}, …]``."""
    return tuple(_template(name, template, engine) for entry in declared for name, template in entry.items())


def _template(name: str, declared: dict[str, Any], engine: str) -> Template:
    runtime = "runtime" in declared
    regex = declared.get("match_pattern") == "regex"

    def tests(key: str) -> tuple[Test, ...]:
        return tuple(_regex(pattern) if regex else _wildcard(pattern) for pattern in _texts(declared.get(key), engine))

    named = _texts(declared.get("match_mapping_type"), engine)
    no_kinds = _texts(declared.get("unmatch_mapping_type"), engine)
    every = named == ["*"]
    if not named:  # "match" and its like stand for every kind; Elasticsearch alone needs one of them to be there
        every = engine == "opensearch" or any(declared.get(key) for key in ("match", "path_match", "unmatch_mapping_type"))
    kinds = set(KINDS if every else named) - set(no_kinds)
    if runtime:
        kinds &= set(RUNTIME_TYPE_OF)
    mapping = declared["runtime" if runtime else "mapping"]
    patterns = (tests(key) for key in ("match", "unmatch", "path_match", "path_unmatch"))
    return Template(name, frozenset(kinds), *patterns, mapping, runtime)


def _texts(value: Any, engine: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list):
        return [str(text) for text in value] if engine == "elasticsearch" else [f"[{', '.join(map(str, value))}]"]
    return [str(value)]


def _filled(value: Any, variables: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_filled(key, variables): _filled(below, variables) for key, below in value.items()}
    if isinstance(value, list):
        return [_filled(below, variables) for below in value]
    if isinstance(value, str):
        for variable, text in variables.items():
            value = value.replace(variable, text)
    return value


def _wildcard(pattern: str) -> Test:
    """``*`` stands for any text; in steps that grow with the text's length only."""
    first, *rest = pattern.split("*")
    if not rest:
        return lambda text: text == pattern
    *middle, last = rest

    def test(text: str) -> bool:
        if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        for part in middle:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True

    return test


_ESCAPED = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]", re.DOTALL)
_NOT_BOUNDED = re.compile(r"\)[*+{]|\\[1-9]|\(\?P?=")  # repeated groups and references back
_REPETITION = re.compile(r"[*+]|\{\d+,\}")
_CHOICE = re.compile(r"[?|]|\{\d+,\d+\}")


def _regex(pattern: str) -> Test:
    """A regular expression on the whole text."""
    bare = _ESCAPED.sub(lambda found: found[0] if found[0][1:].isdigit() else "x", pattern)
    try:
        compiled = re.compile(pattern, re.ASCII)  # \w and \d are ASCII's in Java
    except re.error as error:
        raise Refusal(f"the regular expression [{pattern}] of a dynamic template is not supported here: {error}") from None
    if _NOT_BOUNDED.search(bare):
        raise Refusal(f"the regular expression [{pattern}] of a dynamic template is not supported here: it repeats a group")
    repetitions, choices = len(_REPETITION.findall(bare)), len(_CHOICE.findall(bare))

    def test(text: str) -> bool:
        if max(len(text), 2) ** repetitions * 2**choices > max(STEPS, len(text)):
            raise Refusal(f"the dynamic template's expression [{pattern}] may take too long on a name of {len(text)} characters")
        return compiled.fullmatch(text) is not None

    return test
