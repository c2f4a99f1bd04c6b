"""The bytes of a request's head, and the framing of its body.

The engine alone decides framing, Host and credentials: whatever the Send says about these is left out. The target
goes out as it is. A head whose lines are not exactly the lines we meant (a CR or LF in a name or value) is never written: it
could start a second request, which no policy has seen. That is a caller's bug and raises ValueError.
"""

from __future__ import annotations

import re

from esproxy.exchange import Send
from esproxy.heads import Headers
from esproxy.upstream.spec import Address

METHODS = {name: name.encode() for name in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")}
WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})  # say content-length: 0 aloud, RFC 9110 section 8.6
OURS = frozenset(b"host content-length transfer-encoding connection keep-alive expect upgrade te trailer".split())
LAST_CHUNK = b"0\r\n\r\n"

_target = re.compile(rb"/[\x21-\x7e]*").fullmatch


class Preamble:
    """What is the same in every request to a node, made once."""

    __slots__ = ("lines", "prefix")

    def __init__(self, address: Address, own: Headers) -> None:
        lines = [(b"host", address.netloc.encode()), *own]
        self.prefix = address.prefix.encode()
        self.lines = b" HTTP/1.1\r\n" + b"".join(b"%b: %b\r\n" % pair for pair in lines)
        if self.lines.count(b"\n") != len(lines) + 1 or self.lines.count(b"\r") != len(lines) + 1:
            raise ValueError("a line break in a header of the cluster")


def header_lines(send: Send, ours: frozenset[bytes]) -> bytes:
    """The header lines that depend on the Send, checked, with the target and the method."""
    lines = checked_lines(send, ours)
    if not send.last:
        return lines + b"transfer-encoding: chunked\r\n"
    if send.body or send.method in WITH_LENGTH:
        return b"%bcontent-length: %d\r\n" % (lines, len(send.body))
    return lines


def checked_lines(send: Send, ours: frozenset[bytes]) -> bytes:
    """The same without framing."""
    if send.method not in METHODS:
        raise ValueError(f"method [{send.method}] is not one of {sorted(METHODS)}")
    if _target(send.target) is None:
        raise ValueError("the target is not a path of visible ASCII")
    lines = [b"%b: %b\r\n" % pair for pair in send.headers if pair[0] not in ours]
    text = b"".join(lines)
    if text.count(b"\n") != len(lines) or text.count(b"\r") != len(lines):
        raise ValueError("a line break in a header")
    return text


def head(send: Send, lines: bytes, preamble: Preamble) -> bytes:
    """The whole head for one node. ``lines`` come from header_lines, which has checked them and the target."""
    return b"%b %b%b%b%b\r\n" % (METHODS[send.method], preamble.prefix, send.target, preamble.lines, lines)


def chunk(data: bytes, last: bool) -> bytes:
    """A part of a body of unknown length. An empty part is nothing: the empty chunk would be the end."""
    text = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
    return text + LAST_CHUNK if last else text
