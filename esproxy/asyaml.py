"""Answers as YAML, for clients that ask for it; nodes are asked for JSON, which is what can be restored.

``Accept: application/yaml`` or ``format=yaml``. The text is laid out as nodes lay theirs out, whose writer is of
the same family: block style, lists flush with their key, every string in double quotes; but numbers as they are spelled. An
answer can only be written when all of it is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from esproxy.exchange import Reply
from esproxy.heads import Head

MEDIA = b"application/yaml"
JSON = b"application/json"
_PLAIN = re.compile(r"[A-Za-z_]([A-Za-z0-9_. -]*[A-Za-z0-9_.-])?")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
Pairs = list[tuple[str, Any]]


class _Spelled(str):
    """A number, as it was spelled."""


def wanted(head: Head) -> bool:
    if head.yaml is None:
        head.yaml = _wanted(head)
    return head.yaml


def _wanted(head: Head) -> bool:
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
    document = [yaml.DocumentStartEvent(explicit=True), *_events(tree), yaml.DocumentEndEvent(explicit=False)]
    events = [yaml.StreamStartEvent(), *document, yaml.StreamEndEvent()]
    return str(yaml.emit(events, allow_unicode=True)).removesuffix("...\n")


class _Object:
    """Keys in their order, whichever they are."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs


def _events(value: Any) -> Iterator[yaml.Event]:
    if isinstance(value, _Object):
        yield yaml.MappingStartEvent(None, None, True, flow_style=not value.pairs)
        for key, one in value.pairs:
            plain = _PLAIN.fullmatch(key) and key.lower() not in _WORDS
            yield _plain(key) if plain else _quoted(key)
            yield from _events(one)
        yield yaml.MappingEndEvent()
    elif isinstance(value, list):
        yield yaml.SequenceStartEvent(None, None, True, flow_style=not value)
        for one in value:
            yield from _events(one)
        yield yaml.SequenceEndEvent()
    elif isinstance(value, str) and not isinstance(value, _Spelled):
        yield _quoted(value)
    else:
        yield _plain(value if isinstance(value, str) else json.dumps(value))


def _plain(text: str) -> yaml.Event:
    return yaml.ScalarEvent(None, None, (True, False), text)


def _quoted(text: str) -> yaml.Event:
    return yaml.ScalarEvent(None, None, (False, True), text, style='"')
