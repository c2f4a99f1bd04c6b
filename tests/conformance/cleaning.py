"""Empties a target after a test, so that none can spoil the next: a node, or one tenant through the proxy.

What was there when the run began stays (templates that a node brings). Indices are deleted by their names. One that a block
keeps from being deleted has its blocks lifted and is deleted again: tests about blocks leave some. What can still not be removed
is told, and nothing goes on as if it were gone. A kind that the target does not let be listed cannot have been made either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tests.conformance.wire import Target

EVERY = "expand_wildcards=all"
AT_ONCE = 40  # names in one path
BLOCKS = {"index.blocks": dict.fromkeys(("read_only", "read_only_allow_delete", "metadata", "read", "write"))}
REFUSED = (400, 403, 405, 501)


@dataclass(frozen=True, slots=True)
class Kind:
    """What can be made, how it is listed, and where one of a name is deleted."""

    name: str
    listing: str
    names: Callable[[Any], Iterable[str]]
    place: str


def _named(key: str) -> Callable[[Any], Iterable[str]]:
    return lambda body: [one["name"] for one in body.get(key, ())]


KINDS = (
    Kind("data streams", f"/_data_stream/*?{EVERY}", _named("data_streams"), "/_data_stream/"),
    Kind("indices", f"/_cat/indices?format=json&h=index&{EVERY}", lambda body: [row["index"] for row in body], "/"),
    Kind("index templates", "/_index_template", _named("index_templates"), "/_index_template/"),
    Kind("component templates", "/_component_template", _named("component_templates"), "/_component_template/"),
    Kind("legacy templates", "/_template", list, "/_template/"),
    Kind("ingest pipelines", "/_ingest/pipeline", list, "/_ingest/pipeline/"),
    Kind("search pipelines", "/_search/pipeline", list, "/_search/pipeline/"),
    Kind(
        "scripts",
        "/_cluster/state/metadata?filter_path=metadata.stored_scripts",
        lambda body: body.get("metadata", {}).get("stored_scripts", {}),
        "/_scripts/",
    ),
)


@dataclass(slots=True)
class Cleaner:
    target: Target
    kept: dict[str, frozenset[str]] = field(default_factory=dict)
    unlisted: set[str] = field(default_factory=set)  # kinds that the target does not let be listed

    def begin(self) -> None:
        """Before the first test."""
        self.kept = {kind.name: frozenset(self._names(kind)) for kind in KINDS}

    def clean(self) -> list[str]:
        """Remove what was made; returns what is still there."""
        self.target.send("DELETE", "/_search/scroll/_all")  # what it answers is no matter: contexts end by themselves
        left = self._settings()
        for kind in KINDS:
            names = self._made(kind)
            if not names:
                continue
            if kind.name == "indices":
                self._delete_indices(names)
            else:
                for name in names:
                    self.target.send("DELETE", kind.place + quote(name, safe=""))
            left += [f"{kind.name}: {name}" for name in self._made(kind)]
        return left

    def _made(self, kind: Kind) -> list[str]:
        return [name for name in self._names(kind) if name not in self.kept[kind.name]]

    def _names(self, kind: Kind) -> list[str]:
        if kind.name in self.unlisted:
            return []
        answer = self.target.send("GET", kind.listing)
        if answer.status in REFUSED:
            self.unlisted.add(kind.name)
            return []
        if answer.status == 404:
            return []
        if answer.error:
            raise RuntimeError(f"GET {kind.listing}: {answer.status} {answer.text[:300]}")
        return sorted(kind.names(answer.body))

    def _delete_indices(self, names: list[str]) -> None:
        for start in range(0, len(names), AT_ONCE):
            path = "/" + ",".join(quote(name, safe="") for name in names[start : start + AT_ONCE])
            deletion = f"{path}?ignore_unavailable=true"
            if self.target.send("DELETE", deletion).error:
                self.target.json("PUT", f"{path}/_settings?ignore_unavailable=true", BLOCKS)
                self.target.send("DELETE", deletion)

    def _settings(self) -> list[str]:
        """Of the cluster. A tenant has none."""
        if "settings" in self.unlisted:
            return []
        answer = self.target.send("GET", "/_cluster/settings?flat_settings=true")
        if answer.status in REFUSED:
            self.unlisted.add("settings")
            return []
        scopes = {scope: answer.body[scope] for scope in ("persistent", "transient") if answer.body.get(scope)}
        if scopes:
            nulls = {scope: dict.fromkeys(names) for scope, names in scopes.items()}
            if self.target.json("PUT", "/_cluster/settings", nulls).error:
                return [f"setting: {name}" for names in scopes.values() for name in names]
        return []
