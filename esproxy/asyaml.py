"""Answers as YAML, for clients that ask for it; nodes are asked for JSON, which is what can be restored.

``Accept: application/yaml`` or ``format=yaml``. The text is laid out as nodes lay theirs out, except that long strings are not
folded: block style, lists flush with their key, every string in double quotes, numbers as they are spelled. JSON's own escapes
mean the same there. An answer can only be written when all of it is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from esproxy.exchange import Reply
from esproxy.heads import Head

MEDIA = b"application/yaml"
JSON = b"application/json"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
# What JSON leaves as it is, and YAML takes for a line break, a mark, or nothing that can be printed.
_UNPRINTED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
Pairs = list[tuple[str, Any]]


class _Spelled(str):
    """A number, as it was spelled."""


def wanted(head: Head) -> bool:
    """What the target says goes before what the header says. Of a list of media types nodes understand none."""
    if b"format=" in head.target:
        asked = [part for part in head.target.partition(b"?")[2].split(b"&") if part.startswith(b"format=")]
        if asked:
            return asked[-1] == b"format=yaml"
    accept = head.get(b"accept")
    return accept is not None and accept.partition(b";")[0].strip().lower() == MEDIA


def as_yaml(answer: Reply) -> Reply:
    """The answer, if it is JSON, as YAML."""
    kinds = [value for name, value in answer.headers if name == b"content-type"]
    if not answer.body or not kinds or not kinds[0].startswith(JSON):
        return answer
    headers = [(name, MEDIA if name == b"content-type" else value) for name, value in answer.headers]
    return Reply(answer.status, headers, text(answer.body).encode())


def text(body: bytes) -> str:
    """The YAML of a JSON text."""
    tree = json.loads(body, parse_float=_Spelled, parse_int=_Spelled, object_pairs_hook=_Object)
    if not _is_block(tree):
        return f"--- {_scalar(tree)}\n"
    return "\n".join(["---", *_block(tree, ""), ""])


class _Object:
    """Keys in their order, whichever they are."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs


def _is_block(value: Any) -> bool:
    return bool(value.pairs if isinstance(value, _Object) else isinstance(value, list) and value)


def _block(value: Any, indent: str) -> Iterator[str]:
    """The lines of a list or object that holds something."""
    if isinstance(value, _Object):
        for key, one in value.pairs:
            name = indent + _key(key)
            if not _is_block(one):
                yield f"{name}: {_scalar(one)}"
                continue
            yield f"{name}:"
            yield from _block(one, indent if isinstance(one, list) else indent + "  ")
        return
    for one in value:
        if not _is_block(one):
            yield f"{indent}- {_scalar(one)}"
            continue
        lines = _block(one, indent + "  ")
        yield f"{indent}- {next(lines)[len(indent) + 2 :]}"
        yield from lines


def _scalar(value: Any) -> str:
    if isinstance(value, _Spelled):
        return str(value)
    if isinstance(value, str):
        return _UNPRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, _Object):
        return "{}"
    return "[]" if value == [] else json.dumps(value)


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _WORDS else _scalar(name)
