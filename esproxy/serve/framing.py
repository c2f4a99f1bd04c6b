"""HTTP/1.1 as all shells mean it: the bytes of answers (status line, header lines, length or chunks), when a connection ends,
and how long a head may be. Pure functions.

Framing is decided here alone, for all shells: whatever the Gateway says about lengths and connections is left out and said anew.
A whole answer has its length. One in parts has the length its head tells, or goes in chunks.

A head whose lines are not exactly the lines that were meant is never written: it could end early and begin another answer.
"""

from __future__ import annotations

from collections.abc import Generator
from http import HTTPStatus

import httptools

from esproxy.errors import Refusal
from esproxy.exchange import Release
from esproxy.heads import Head, Headers
from esproxy.serve.coding import accepts_gzip, compressible

MAX_HEAD = 64 << 10  # of a request: target and headers
FRAMING = frozenset({b"content-length", b"transfer-encoding", b"connection", b"keep-alive"})
WITHOUT_BODY = frozenset({204, 304})
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE = (b"connection", b"close")
GZIPPED = (b"content-encoding", b"gzip")
CHUNKED = (b"transfer-encoding", b"chunked")
LAST_CHUNK = b"0\r\n\r\n"

STATUS_LINES = {status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}


def size_of(head: Head) -> int:
    return len(head.target) + sum([len(name) + len(value) + 4 for name, value in head.headers])


def too_long() -> Refusal:
    """What nodes say, where their limit is 16 KiB."""
    return Refusal(f"HTTP header is larger than {MAX_HEAD} bytes.", type="too_long_http_header_exception")


def origin_form(url: bytes) -> bytes:
    """Path and query of a target that is more than these, as uvicorn reads it. What is none stays as it is, to be refused."""
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        return url
    if parsed.path is None:
        return url
    return parsed.path + b"?" + parsed.query if parsed.query else parsed.path


def unframed(headers: Headers) -> Headers:
    """The headers without framing."""
    return [header for header in headers if header[0] not in FRAMING]


def left_unread(head: Head, uploaded: bool) -> bool:
    """A body that was announced with ``Expect`` and not asked for may or may not come: what follows could not be told apart."""
    return not uploaded and head.get(b"expect") is not None


def may_compress(head: Head, headers: Headers) -> bool:
    return compressible(headers) and accepts_gzip(head.headers)


def answer_head(status: int, headers: Headers) -> bytes:
    """The head of an answer, framing included in ``headers``. Raises ValueError for a line break in one of them."""
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    if lines.count(b"\n") != len(headers) or lines.count(b"\r") != len(headers):
        raise ValueError("a line break in a header of an answer")
    return b"%b%b\r\n" % (status_line(status), lines)


def whole_head(status: int, headers: Headers, length: int, close: bool) -> bytes:
    """The head of a whole answer that ends by its length, which is nearly all of them; framing in ``headers`` is left out."""
    first, closes = status_line(status), b"connection: close\r\n" if close else b""
    return b"%b%b%bcontent-length: %d\r\n\r\n" % (first, closes, header_lines(headers), length)


def status_line(status: int) -> bytes:
    return STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


def header_lines(headers: Headers) -> bytes:
    """Lines of a head, without framing. Raises ValueError for a line break in one of them."""
    lines, count = b"", 0
    for header in headers:
        if header[0] not in FRAMING:
            lines += b"%b: %b\r\n" % header
            count += 1
    if lines.count(b"\n") != count or lines.count(b"\r") != count:
        raise ValueError("a line break in a header of an answer")
    return lines


def chunk(data: bytes, last: bool) -> bytes:
    """A part of an answer of unknown length. An empty part is nothing: the empty chunk would be the end."""
    text = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
    return text + LAST_CHUNK if last else text


def close_spool(step: Release) -> None:
    """Parts that come from a generator end with it, and so does the file that they lie in."""
    if isinstance(step.parts, Generator):
        step.parts.close()
