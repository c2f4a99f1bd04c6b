"""Answers that the proxy makes itself: their headers, and errors as answers."""

from __future__ import annotations

from esproxy import exact
from esproxy.errors import EsproxyError, MethodsOffered
from esproxy.exchange import Reply
from esproxy.heads import Headers


def reply(error: EsproxyError, *, product: bool, pretty: bool = False, head: bool = False, accept: bytes | None = None) -> Reply:
    """The answer for an error. ``product``: the upstream is Elasticsearch, whose clients look for its header.
    ``head``: there can be no body."""
    written = exact.pretty if pretty else exact.dumps
    body = b"" if head or isinstance(error, MethodsOffered) else written(error.payload())
    media = json_headers(product, accept)
    if product and error.status == 403:
        media = media[1:]  # with which Elasticsearch does not say what it is
    if isinstance(error, MethodsOffered):
        media[-1] = (b"content-type", b"text/plain; charset=UTF-8")
    headers = media + error.headers
    return Reply(error.status, headers, body)


def own_media(accept: bytes | None) -> bytes | None:
    """The media type for a client that accepts Elasticsearch's own first, in the version that it asks for."""
    first = (accept or b"").split(b",")[0].strip()
    return first.replace(b" ", b"") if first.lower().startswith(b"application/vnd.elasticsearch+json") else None


def json_headers(product: bool, accept: bytes | None = None) -> Headers:
    """Headers of an answer that we make ourselves, as the upstream's kind sends them. ``accept``: the client's, which
    Elasticsearch answers in its own media type where that names it."""
    if product:
        return [(b"x-elastic-product", b"Elasticsearch"), (b"content-type", own_media(accept) or b"application/json")]
    return [(b"content-type", b"application/json; charset=UTF-8")]
