"""Content codings: gzip bodies of requests inflated within bounds, answers compressed for clients that take it.

Both directions stream in memory that does not depend on the body. ``Inflater.feed`` takes compressed bytes as they come;
``Inflater.take`` hands out at most ``STEP`` inflated bytes a time, so a shell can stop between two of them. ``Deflater`` is the
mirror image. Nothing here knows of ASGI; any shell can use it.

Leaves out: ``deflate``, ``br`` and ``zstd`` (nodes take gzip, and clients send nothing else), trailers, and q-values
beyond "is it 0".
"""

from __future__ import annotations

import zlib

from esproxy.errors import Refusal
from esproxy.heads import Head, Headers

GZIP = 16 + zlib.MAX_WBITS
STEP = 256 << 10  # inflated bytes handed out at once
FREE = 1 << 20  # inflated bytes before the growth is judged
LEVEL = 1  # a third of the CPU of the nodes' level 3, for a few percent of size
BODY_HEADERS = (b"content-encoding", b"content-length")


class Inflater:
    """One gzip body. Raises Refusal: 400 for bytes that are no gzip, 413 for a body that grows beyond measure."""

    __slots__ = ("growth", "inflate", "max_growth", "pending", "read", "written")

    def __init__(self, max_growth: int) -> None:
        self.max_growth = max_growth
        self.inflate = zlib.decompressobj(GZIP)
        self.pending = b""  # compressed bytes that wait for ``take``
        self.read = 0  # compressed bytes fed
        self.written = 0  # inflated bytes handed out

    def feed(self, data: bytes) -> None:
        self.read += len(data)
        self.pending = self.pending + data if self.pending else data

    def take(self) -> bytes:
        """Up to ``STEP`` more inflated bytes; nothing when more must be fed first."""
        out = b""
        while self.pending and not out:
            if self.inflate.eof:  # the next member of the same body: gzip files may be joined (RFC 1952, 2.2)
                self.inflate = zlib.decompressobj(GZIP)
            try:
                out = self.inflate.decompress(self.pending, STEP)
            except zlib.error as error:
                raise Refusal("the body is not valid gzip") from error
            self.pending = self.inflate.unused_data if self.inflate.eof else self.inflate.unconsumed_tail
        self.written += len(out)
        if self.written > FREE and self.written > self.read * self.max_growth:
            reason = f"the gzip body grows to more than {self.max_growth} times its size"
            raise Refusal(reason, status=413, type="content_too_long_exception")
        return out

    @property
    def whole(self) -> bool:
        """All that was fed has been taken, and it ends where gzip ends."""
        return not self.pending and (self.inflate.eof or self.read == 0)

    def check_end(self) -> None:
        """After the last byte has been fed and taken. Raises Refusal for a body that was cut."""
        if not self.whole:
            raise Refusal("the gzip body ends too early")


def uncoded(head: Head, max_growth: int) -> Inflater | None:
    """What inflates the body of a request, whose head then reads as if it had come plain; None when it does.

    Raises Refusal for codings that are not known.
    """
    coding = None
    for name, value in head.headers:
        if name == b"content-encoding":
            if coding is not None:
                raise unknown_coding(coding + b", " + value)
            coding = value
    if coding is None:
        return None
    name = coding.strip().lower()
    if name not in (b"gzip", b"x-gzip", b"identity", b""):
        raise unknown_coding(coding)
    if name in (b"identity", b""):
        head.headers = [header for header in head.headers if header[0] != b"content-encoding"]
        return None
    head.headers = [header for header in head.headers if header[0] not in BODY_HEADERS]
    return Inflater(max_growth)


def unknown_coding(coding: bytes) -> Refusal:
    error = Refusal(f"Content-Encoding [{coding.decode('latin-1')}] is not supported", status=415)
    error.headers = [(b"accept-encoding", b"gzip")]
    return error


def accepts_gzip(headers: Headers) -> bool:
    """Whether a client takes gzip answers (RFC 9110, 12.5.3). What names gzip outweighs ``*``."""
    anything = False
    for name, value in headers:
        if name == b"accept-encoding":
            for item in value.lower().split(b","):
                coding, _, rest = item.partition(b";")
                coding = coding.strip()
                if coding in (b"gzip", b"x-gzip"):
                    return not is_zero(rest)
                if coding == b"*":
                    anything = not is_zero(rest)
    return anything


def is_zero(parameters: bytes) -> bool:
    """``q=0`` in any spelling."""
    name, _, value = parameters.partition(b"=")
    return name.strip() == b"q" and value.strip().strip(b"0.") == b""


def compressible(headers: Headers) -> bool:
    return all(name != b"content-encoding" for name, _ in headers)


class Deflater:
    """One gzip answer."""

    __slots__ = ("deflate",)

    def __init__(self) -> None:
        self.deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)

    def feed(self, data: bytes, last: bool) -> bytes:
        out = self.deflate.compress(data)
        return out + self.deflate.flush(zlib.Z_FINISH) if last else out
