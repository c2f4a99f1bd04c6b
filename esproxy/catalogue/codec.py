"""The one JSON form of the catalogue's documents.

``decode`` reads strictly: a version, a key or a shape that this code does not know is ``Unreadable`` and fails the request,
because a newer proxy may have written something that must not be lost by writing the document back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from esproxy.catalogue.documents import (
    CLOSED,
    GONE,
    LAYOUTS,
    OPEN,
    SEALED,
    STATES,
    Alias,
    Claims,
    Directory,
    Document,
    Entry,
    Field,
    Generation,
    Index,
    Lease,
    Member,
    Pool,
    Targets,
    Tombstone,
)
from esproxy.errors import Failed

VERSION = 1
REMEMBERED = 16  # change uuids kept in a document


class Unreadable(Failed):
    """A document of the catalogue that this version does not understand."""


# --- writing -------------------------------------------------------------------------------------


def encode(doc: Document) -> bytes:
    return orjson.dumps({"v": VERSION, "kind": type(doc).__name__.lower(), **_plain(doc)})


def _plain(doc: Document) -> dict[str, Any]:
    match doc:
        case Directory():
            return {
                "tenant": doc.tenant,
                "next": doc.next,
                "changes": doc.changes[-REMEMBERED:],
                "indices": {name: _entry_json(e) for name, e in doc.indices.items()},
                "aliases": {name: _alias_json(a) for name, a in doc.aliases.items()},
                "templates": doc.templates,
                "tombstones": [{"n": t.n, "physical": t.physical, "by": t.by} for t in doc.tombstones],
                "names": doc.names(),
                "busy": doc.busy(),
            }
        case Index():
            return {
                "tenant": doc.tenant,
                "name": doc.name,
                "n": doc.n,
                "layout": doc.layout,
                "family": doc.family,
                "mapping": doc.mapping,
                "settings": doc.settings,
                "created": doc.created,
                "reason": doc.reason,
                "fields": {path: {"type": f.type, "physical": f.physical} for path, f in doc.fields.items()},
                "changes": doc.changes[-REMEMBERED:],
            }
        case Pool():
            return {
                "family": doc.family,
                "mapping": doc.mapping,
                "settings": doc.settings,
                "first": doc.first,
                "next": doc.next,
                "generations": [{"g": g.g, "physical": g.physical, "state": g.state} for g in doc.generations],
                "changes": doc.changes[-REMEMBERED:],
            }
        case Claims():
            return {"physical": doc.physical, "fields": doc.fields, "changes": doc.changes[-REMEMBERED:]}
        case Member():
            return {"uuid": doc.uuid, "beat": doc.beat, "followed": doc.followed}
        case Lease():
            return {"seconds": doc.seconds}


def _entry_json(e: Entry) -> dict[str, Any]:
    where = {"n": e.n, "layout": e.layout, "family": e.family, "physical": e.physical}
    blocks = {"blocks": list(e.blocks)} if e.blocks else {}
    return {**where, "state": e.state, "then": e.then, "by": e.by, "batch": e.batch, "hidden": e.hidden, **blocks}


def _alias_json(a: Alias) -> dict[str, Any]:
    return {"now": a.now, "then": a.then, "by": a.by, "batch": a.batch}


# --- reading -------------------------------------------------------------------------------------

D = TypeVar("D", bound=Document)


def decode(kind: type[D], source: Any) -> D:
    """The document of a parsed ``_source``; raises Unreadable."""
    if not isinstance(source, dict) or source.get("v") != VERSION or source.get("kind") != kind.__name__.lower():
        raise Unreadable("the catalogue holds a document of a version or kind that is not known here")
    try:
        doc: D = _READERS[kind](source)
        if unknown := source.keys() - _plain(doc).keys() - {"v", "kind"}:
            raise ValueError(f"unknown keys {sorted(unknown)}")
        return doc
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"the catalogue holds a document that cannot be read: {error!r}") from error


def _of(kind: type | tuple[type, ...], value: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no {kind}")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _of(str, value)


def _texts(value: Any) -> list[str]:
    return [_of(str, item) for item in _of(list, value)]


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {allowed}")
    return value


def _targets(value: Any) -> Targets:
    return {_of(str, name): _of(dict, properties) for name, properties in _of(dict, value).items()}


def _entry(x: dict[str, Any]) -> Entry:
    return Entry(
        n=_of(int, x["n"]),
        layout=_one_of(x["layout"], LAYOUTS),
        family=_of(str, x["family"]),
        physical=_of(str, x["physical"]),
        state=_one_of(x["state"], STATES),
        then=_one_of(x["then"], (None, GONE, OPEN, CLOSED)),
        by=_text_or_none(x["by"]),
        batch=_text_or_none(x["batch"]),
        hidden=_one_of(x["hidden"], (False, True)),
        blocks=tuple(_of(str, block) for block in _of(list, x.get("blocks", []))),
    )


def _alias(x: dict[str, Any]) -> Alias:
    then = None if x["then"] is None else _targets(x["then"])
    return Alias(_targets(x["now"]), then, _text_or_none(x["by"]), _text_or_none(x["batch"]))


def _directory(x: dict[str, Any]) -> Directory:
    return Directory(
        tenant=_of(str, x["tenant"]),
        next=_of(int, x["next"]),
        changes=_texts(x["changes"]),
        indices={name: _entry(e) for name, e in _of(dict, x["indices"]).items()},
        aliases={name: _alias(a) for name, a in _of(dict, x["aliases"]).items()},
        templates=_one_of(x["templates"], (None, False, True)),
        tombstones=[Tombstone(_of(int, t["n"]), _of(str, t["physical"]), _text_or_none(t["by"])) for t in x["tombstones"]],
    )


def _index(x: dict[str, Any]) -> Index:
    return Index(
        tenant=_of(str, x["tenant"]),
        name=_of(str, x["name"]),
        n=_of(int, x["n"]),
        layout=_one_of(x["layout"], LAYOUTS),
        family=_of(str, x["family"]),
        mapping=_of(dict, x["mapping"]),
        settings=_of(dict, x["settings"]),
        created=_of(int, x["created"]),
        reason=_text_or_none(x["reason"]),
        fields={path: Field(_of(dict, f["type"]), _of(str, f["physical"])) for path, f in _of(dict, x["fields"]).items()},
        changes=_texts(x["changes"]),
    )


def _pool(x: dict[str, Any]) -> Pool:
    return Pool(
        family=_of(str, x["family"]),
        mapping=_of(dict, x["mapping"]),
        settings=_of(dict, x["settings"]),
        first=_of(int, x["first"]),
        next=_of(int, x["next"]),
        generations=[
            Generation(_of(int, g["g"]), _of(str, g["physical"]), _one_of(g["state"], (OPEN, SEALED))) for g in x["generations"]
        ],
        changes=_texts(x["changes"]),
    )


_READERS: dict[type, Callable[[dict[str, Any]], Any]] = {
    Directory: _directory,
    Index: _index,
    Pool: _pool,
    Claims: lambda x: Claims(_of(str, x["physical"]), _targets(x["fields"]), _texts(x["changes"])),
    Member: lambda x: Member(_of(str, x["uuid"]), _of(int, x["beat"]), _of(int, x["followed"])),
    Lease: lambda x: Lease(float(_of((int, float), x["seconds"]))),
}
