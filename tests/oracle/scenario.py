"""The format of ``tests/scenarios/*.yaml``, and its loader.

A file maps names to scenarios; keys that begin with ``x-`` hold what YAML anchors share. A scenario:

    about:    one sentence
    engines:  es | os | es>=9 | …     where it runs (default: everywhere); a list means any of them. ``os+processors``: an
                                      OpenSearch that has processors of search pipelines, which the smaller build lacks
    calls:    a list of calls, or of lists of calls (anchors), played in order on an empty cluster;
              {use: NAME} stands for the calls of that name in ``_shared.yaml``

A call:

    do:       METHOD /target?with=parameters      sent as it stands, never tidied
    body:     a JSON value                        content-type application/json unless `headers` says otherwise
    lines:    NDJSON: values are serialised, strings are sent raw; each gets its line end
    raw:      the body as text, byte for byte     base64: the body as bytes
    headers:  {name: value}; null leaves a default header out
    expect:   2xx (default) | 404 | 4xx | {es: 400, os: 200}     what a bare node answers; of engines that fit, the first
    save:     {name: path.in.the.answer}          later written ${name}; masked under that name in every comparison
    engines:                                      as above, for this call alone
    differs:  names of rows of esproxy.api.deviations, for different layouts: what they let differ is not compared

YAML is read as its JSON subset is meant: no dates, no `yes`, no octal numbers, duplicate keys refused.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent.parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Engine:
    """What a node is: ``es`` or ``os``, its version, and what it ``has`` that not all have."""

    kind: str
    version: tuple[int, ...]
    has: frozenset[str] = frozenset()

    def is_one_of(self, wanted: list[str]) -> bool:
        return not wanted or any(self._is(item) for item in wanted)

    def _is(self, item: str) -> bool:
        match = re.fullmatch(r"(es|os)(?:\+(processors))?(?:(>=|<)([\d.]+))?", item)
        if not match:
            raise ValueError(f"not an engine: {item!r}")
        kind, part, sign, version = match.groups()
        if kind != self.kind or (part is not None and part not in self.has):
            return False
        if not sign:
            return True
        bound = tuple(int(part) for part in version.split("."))
        return self.version >= bound if sign == ">=" else self.version < bound


@dataclass(slots=True)
class Call:
    method: str
    target: str
    headers: dict[str, str | None] = field(default_factory=dict)
    body: bytes | None = None
    media: str | None = None
    expect: dict[str, str] = field(default_factory=dict)
    save: dict[str, str] = field(default_factory=dict)
    engines: list[str] = field(default_factory=list)
    differs: str | None = None

    def expected(self, engine: Engine) -> str:
        own = (status for which, status in self.expect.items() if which != "*" and engine.is_one_of([which]))
        return next(own, self.expect.get("*", "2xx"))

    def __str__(self) -> str:
        return f"{self.method} {self.target}"

    def line(self) -> str:
        """All of it, in one line."""
        headers = "".join(f" [{name}: {value}]" for name, value in self.headers.items())
        return f"{self}{headers} {(self.body or b'').decode('utf-8', 'replace')}".rstrip()


@dataclass(slots=True)
class Scenario:
    name: str
    about: str
    calls: list[Call]
    engines: list[str] = field(default_factory=list)
    used: str | None = None  # the shared calls that it begins with

    def runs_on(self, engine: Engine) -> bool:
        return engine.is_one_of(self.engines)


class _Loader(yaml.SafeLoader):
    pass


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|", ["n", ""]),
    ("int", r"-?(?:0|[1-9]\d*)", "-0123456789"),
    ("float", r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", "-0123456789"),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    names = [child.value for child, _ in node.value if child.tag != "tag:yaml.org,2002:merge"]
    twice = {str(name) for name in names if names.count(name) > 1}
    if twice:
        raise yaml.constructor.ConstructorError(None, None, f"keys come twice: {sorted(twice)}", node.start_mark)
    loader.flatten_mapping(node)
    return {_key(loader, child): loader.construct_object(value, deep=True) for child, value in node.value}


def _key(loader: _Loader, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(None, None, "a key must be a scalar", node.start_mark)
    return str(node.value)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_KEYS = {"do", "body", "lines", "raw", "base64", "headers", "expect", "save", "engines", "differs"}


def _list(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _call(given: dict[str, Any], where: str) -> Call:
    unknown = given.keys() - _KEYS
    if unknown or "do" not in given:
        raise ValueError(f"{where}: unknown or missing keys {sorted(unknown) or ['do']} in {given}")
    method, _, target = given["do"].partition(" ")
    body, media = None, None
    if "body" in given:
        body, media = json.dumps(given["body"], ensure_ascii=False).encode(), "application/json"
    elif "lines" in given:
        body, media = "".join(_line(line) + "\n" for line in given["lines"]).encode(), "application/x-ndjson"
    elif "raw" in given:
        body, media = given["raw"].encode(), "application/json"
    elif "base64" in given:
        body, media = base64.b64decode(given["base64"]), "application/json"
    expect = given.get("expect", {})
    return Call(
        method=method,
        target=target,
        headers={name.lower(): value for name, value in (given.get("headers") or {}).items()},
        body=body,
        media=media,
        expect={key: str(value) for key, value in expect.items()} if isinstance(expect, dict) else {"*": str(expect)},
        save=given.get("save") or {},
        engines=_list(given.get("engines")),
        differs=given.get("differs"),
    )


def _flat(calls: list[Any], shared: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for call in calls:
        if isinstance(call, dict) and call.keys() == {"use"}:
            call = shared[call["use"]]
        found += _flat(call, shared) if isinstance(call, list) else [call]
    return found


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    return content


@cache
def load(folder: Path = FOLDER) -> list[Scenario]:
    """All scenarios, read once, by file and then in the order of the file. Names are ``file.scenario``."""
    found: list[Scenario] = []
    shared = _read(folder / "_shared.yaml")
    for path in sorted(folder.glob("[!_]*.yaml")):
        content = _read(path)
        for name, given in content.items():
            if name.startswith("x-"):
                continue
            where = f"{path.stem}.{name}"
            unknown = given.keys() - {"about", "engines", "calls"}
            if unknown or not given.get("about") or not given.get("calls"):
                raise ValueError(f"{where}: wants about and calls, does not know {sorted(unknown)}")
            calls = [_call(call, where) for call in _flat(given["calls"], shared)]
            used = given["calls"][0].get("use") if isinstance(given["calls"][0], dict) else None
            found.append(Scenario(where, given["about"], calls, _list(given.get("engines")), used))
    return found


def shared(name: str) -> list[Call]:
    """The calls that ``{use: name}`` stands for."""
    return [_call(call, name) for call in _flat([{"use": name}], _read(FOLDER / "_shared.yaml"))]
