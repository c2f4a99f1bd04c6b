"""Definitions of the API, and the request that a call of the suite makes with them.

A call names an API and gives it parameters, of which some stand in the path: the path that uses most of them is taken. A body
goes with POST where the API knows it. A list in a parameter is joined by commas; a parameter of the path that is empty counts as
not given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from tests.conformance.reading import documents
from tests.conformance.values import Failed, Unplayable, listed

COMMON = {"pretty", "human", "error_trace", "source", "filter_path", "source_content_type", "format"}
_PART = re.compile(r"\{(\w+)\}")
_SAFE = "*,-_.~:"


@dataclass(frozen=True, slots=True)
class Api:
    name: str
    paths: list[dict[str, Any]]
    parameters: frozenset[str]
    lines: bool  # whether its body is one JSON value a line

    @property
    def parts(self) -> set[str]:
        return {name for one in self.paths for name in _PART.findall(one["path"])}

    def path(self, given: Iterable[str]) -> dict[str, Any]:
        """The path that uses the most of what is given, of two alike one that is not deprecated."""
        given = set(given)
        fitting = [one for one in self.paths if given.issuperset(_PART.findall(one["path"]))]
        if not fitting:
            raise Failed(f"{self.name}: no path for {sorted(given)}")
        return max(fitting, key=lambda one: (len(_PART.findall(one["path"])), not one.get("deprecated")))


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: bytes | None

    @property
    def target(self) -> str:
        query = "&".join(f"{quote(name, safe='')}={quote(value, safe=_SAFE)}" for name, value in self.parameters.items())
        return f"{self.path}?{query}" if query else self.path


@dataclass(frozen=True, slots=True)
class Definitions:
    apis: dict[str, Api]
    common: frozenset[str]

    def request(self, name: str, arguments: dict[str, Any], headers: dict[str, str]) -> Request:
        """What a call sends; the arguments are filled from the stash already."""
        if name not in self.apis:
            raise Unplayable(f"no definition of {name}")
        api = self.apis[name]
        arguments = dict(arguments)
        body = arguments.pop("body", None)
        texts = {key: as_parameter(value) for key, value in arguments.items()}
        parts = {key: text for key, text in texts.items() if key in api.parts and text}
        chosen = api.path(parts)
        used = _PART.findall(chosen["path"])
        rest = {key: text for key, text in texts.items() if key not in used and (text or key not in api.parts)}
        if homeless := (rest.keys() & api.parts) - api.parameters - self.common:
            raise Failed(f"{name}: no path takes {sorted(homeless)} along with {sorted(used)}")
        path = _PART.sub(lambda found: quote(parts[found[1]], safe=_SAFE), chosen["path"])
        content, kind = (None, "") if body is None else encoded(body, api.lines, headers)
        if kind and "content-type" not in {one.lower() for one in headers}:
            headers = {**headers, "content-type": kind}
        return Request(_method(name, chosen["methods"], body is not None), path, rest, headers, content)


def _method(name: str, methods: list[str], body: bool) -> str:
    """POST with a body where the API knows it. Mappings are put: a POST to an index makes a document on some versions."""
    if name == "indices.put_mapping" and "PUT" in methods:
        return "PUT"
    alone = "POST" in methods and not {"GET", "PUT"} & set(methods)
    return "POST" if (body and "POST" in methods) or alone else methods[0]


def as_parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(as_parameter, value))
    return "" if value is None else str(value)


def encoded(body: Any, lines: bool, headers: dict[str, str]) -> tuple[bytes, str]:
    """A body as bytes, and their content type. A text is JSON, or YAML of something else than a text, or what it is."""
    if lines:
        texts = [body] if isinstance(body, str) else [one if isinstance(one, str) else _json(one) for one in listed(body)]
        return "".join(text.rstrip("\n") + "\n" for text in texts).encode(), "application/x-ndjson"
    if isinstance(body, str):
        body = _meant(body)
    if any(name.lower() == "content-type" and "yaml" in value for name, value in headers.items()):
        return yaml.safe_dump(body).encode(), "application/yaml"
    return (body if isinstance(body, str) else _json(body)).encode(), "application/json"


def _meant(text: str) -> Any:
    try:
        json.loads(text)
    except ValueError:
        held = documents(text)
        return held[0] if held and isinstance(held[0], dict | list) else text
    return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def load(folders: Iterable[Path]) -> Definitions:
    """Of an API that several folders define, the first definition."""
    apis: dict[str, Api] = {}
    common = set(COMMON)
    for path in (path for folder in folders for path in sorted(folder.rglob("*.json"))):
        held = json.loads(path.read_text("utf-8"))
        if path.name == "_common.json":
            common |= held.get("params", {}).keys()
            continue
        for name, one in held.items():
            if isinstance(one, dict) and "url" in one:
                lines = (one.get("body") or {}).get("serialize") in ("bulk", "ndjson")
                apis.setdefault(name, Api(name, one["url"]["paths"], frozenset(one.get("params") or {}), lines))
    return Definitions(apis, frozenset(common))
