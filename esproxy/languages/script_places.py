"""Where in a script an error is: places in the script that the node ran, as places in the client's.

A node tells the place of the fault and a part of the script around it, each by its offsets, and draws a mark below the part::

    "script_stack": ["ctx._source.a.b = ctx._index", "             ^---- HERE"], "script": …,
    "position": {"offset": 13, "start": 0, "end": 28}

At run time the part is the whole statement; of a compilation it is what stands within ``NEAR`` characters of the fault, with
dots where the script goes on. The offsets are traced back through the edits that were made. Those of another script than was
sent (one that the cluster keeps, as in ``dedicated``, or that somebody else's error would be about) stay as they are: a
statement that does not stand where it should in the client's script is none of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from esproxy.languages import Edits
from esproxy.languages.painless import CUT

MARK = "^---- HERE"
NEAR = 25
FRONT = "... "
OFFSETS = ("offset", "start", "end")
# Where errors stand in answers, and no documents do.
BELOW = frozenset(
    ("error", "root_cause", "caused_by", "suppressed", "failed_shards", "reason", "_shards", "failures", "responses", "items",
     "index", "create", "update", "delete")
)  # fmt: skip


def put_right(tree: Any, edited: Collection[Edits], names: Mapping[str, str]) -> bool:
    """Put the places of all script errors in a client's answer right. ``names``: those by which the client ran some of the
    sources. False: nothing was to be done."""
    changed = False
    for error in _script_errors(tree):
        for edits in edited:
            if _of(error, edits.text, names) and (_compiling(error, edits) if _is_compiling(error) else _running(error, edits)):
                changed = True
                break
    return changed


def _script_errors(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        position = tree.get("position")
        if isinstance(position, dict) and isinstance(tree.get("script_stack"), list):
            if all(isinstance(position.get(key), int) for key in OFFSETS):
                yield tree
        for key, value in tree.items():
            if key in BELOW:
                yield from _script_errors(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from _script_errors(item)


def _of(error: dict[str, Any], source: str, names: Mapping[str, str]) -> bool:
    """Whether the script of an error, or as much of it as is shown, is this."""
    told = error.get("script")
    if not isinstance(told, str):
        return False
    return told in (source, names.get(source)) or (told.endswith(CUT) and source.startswith(told.removesuffix(CUT)))


def _is_compiling(error: dict[str, Any]) -> bool:
    return error.get("reason") == "compile error"


def _running(error: dict[str, Any], edits: Edits) -> bool:
    lines, position = error["script_stack"], error["position"]
    offset, start, end = (edits.origin(position[key]) for key in OFFSETS)
    if len(lines) < 2 or lines[-1].strip() != MARK or lines[-2] != edits.text[start:end]:
        return False
    lines[-1] = " " * (offset - start) + MARK
    position.update(offset=offset, start=start, end=end)
    return True


def _compiling(error: dict[str, Any], edits: Edits) -> bool:
    lines, position = error["script_stack"], error["position"]
    if len(lines) != 2 or lines[1].strip() != MARK:
        return False
    offset = edits.origin(position["offset"])
    start, end = max(0, offset - NEAR), min(len(edits.text), offset + NEAR)
    front = FRONT if start else ""
    lines[:] = [
        front + edits.text[start:end] + (CUT if end < len(edits.text) else ""),
        " " * (len(front) + offset - start) + MARK,
    ]
    position.update(offset=offset, start=start, end=end)
    return True
