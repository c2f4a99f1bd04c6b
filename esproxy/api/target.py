"""The request target: taken apart once, put together anew, never forwarded as it came.

What a node would understand and what we understand must be the same, so nothing of the client's spelling goes
upstream: the path is split at literal slashes, each segment is percent-decoded exactly once, and the target sent is
encoded from the decoded parts. ``%2F`` inside a segment is data. The query string follows Elasticsearch's own reader
(``RestUtils.decodeQueryString``): ``&`` and ``;`` separate, ``+`` is a space, a name without ``=`` has an empty value.
Dot segments are data, as on the nodes, and leave escaped, so that nobody on the way can take them for steps. Empty segments
lead nowhere. Refused are text that is no UTF-8, broken escapes, and absolute targets. Of a parameter given twice the last
counts, as on the nodes; only that one is sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from esproxy.errors import Refusal

# What stands for itself in a segment that we write: unreserved characters, and those that index expressions use.
SEGMENT_SAFE = "-._~*,!$'()@:="
VALUE_SAFE = "-._~*,:@/"
MAX_TARGET = 4096  # Elasticsearch's http.max_initial_line_length
PLAIN_PATH = re.compile(rb"(?:/[A-Za-z0-9_][A-Za-z0-9_.*,-]*)+")
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.*,~:@=!$'()-]*")  # segments that are the same quoted and unquoted, and no dots alone
PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.*,:@/~-]*")
JAVA = "java.lang.IllegalArgumentException: "  # in front of what nodes say of a parameter
HEX = frozenset(b"0123456789abcdefABCDEF")


@dataclass(slots=True)
class Target:
    """Decoded ``path`` (segments) and ``query`` (in order). ``raw`` are the segments as sent: literals of a
    template match before decoding, on the nodes too. ``raw_path`` is for error texts only."""

    path: list[str]
    raw: list[str]
    query: dict[str, str]
    raw_path: str


def parse(raw: bytes) -> Target:
    """Take a raw request target apart. Raises Refusal (400)."""
    if len(raw) > MAX_TARGET:
        raise Refusal(f"An HTTP line is larger than {MAX_TARGET} bytes.", type="too_long_http_line_exception", status=400)
    if not raw.startswith(b"/"):
        raise Refusal("the request target must begin with a slash")
    path, _, query = raw.partition(b"?")
    if PLAIN_PATH.fullmatch(path):  # nearly all: nothing to decode, nothing that could be read twice
        text = path.decode("ascii")
        spelled = text[1:].split("/")
        return Target(spelled, spelled, _query(query) if query else {}, text)
    parts = path[1:].split(b"/") if path.strip(b"/") else [b""]
    if parts[-1] == b"":
        parts.pop()
    spelled = [part.decode("ascii", "backslashreplace") for part in parts]
    text = path.decode("ascii", "backslashreplace")
    wrong = broken_escape(path)
    if wrong is not None:
        raise Refusal(wrong)
    return Target([_decode(part) for part in parts], spelled, _query(query) if query else {}, text)


def build(path: list[str], query: dict[str, str]) -> bytes:
    """The target to send for decoded parts."""
    target = "/" + "/".join([segment if PLAIN.fullmatch(segment) else _quoted(segment) for segment in path])
    if query:
        target += "?" + "&".join([f"{_value(name)}={_value(value)}" for name, value in query.items()])
    return target.encode("ascii")


def _value(text: str) -> str:
    return text if PLAIN_VALUE.fullmatch(text) else quote(text, safe=VALUE_SAFE)


def _quoted(segment: str) -> str:
    return segment.replace(".", "%2E") if segment in (".", "..") else quote(segment, safe=SEGMENT_SAFE)


def _query(query: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in query.replace(b";", b"&").split(b"&"):
        if not pair:
            continue
        name, _, value = pair.replace(b"+", b" ").partition(b"=")
        if not name:
            name, value = value, b""  # ``=x`` is a name
        for part in (name, value):
            wrong = broken_escape(part) if b"%" in part else None
            if wrong is not None:
                cause = {"type": "illegal_argument_exception", "reason": wrong}
                raise Refusal(f"{JAVA}{wrong}", type="bad_parameter_exception", caused_by=cause)
        found[_decode(name)] = _decode(value)
    return found


def broken_escape(text: bytes) -> str | None:
    """What nodes say of the first percent sign that is none of an escape. They take two of them for one; here they are refused,
    as they would be read twice."""
    at = text.find(b"%")
    while at != -1:
        if at + 2 >= len(text) or text[at + 1] not in HEX or text[at + 2] not in HEX:
            shown = text.decode("ascii", "backslashreplace")
            if len(text) - at < 3:
                return f"{'partial' if len(text) - at == 2 else 'unterminated'} escape sequence at end of string: {shown}"
            return f"invalid escape sequence `{shown[at : at + 3]}' at index {at} of: {shown}"
        at = text.find(b"%", at + 3)
    return None


def _decode(part: bytes) -> str:
    """Percent-decode once, what has no broken escapes. Raises Refusal."""
    if b"%" in part:
        part = unquote_to_bytes(part)
    try:
        text = part.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal("the request target is not UTF-8") from None
    return text
