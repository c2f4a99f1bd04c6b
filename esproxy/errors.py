"""Everything that can go wrong; ``replies`` makes HTTP answers of it.

    Refusal                     we will not: 4xx, the client's to mend; those with a name are made by the functions below
    Failed                      we could not: 5xx
      UpstreamFailed            503 unreachable, 504 slow, 502 broken or too large
    Violation                   an answer holds what is not the tenant's: 500, alarm

Bodies have Elasticsearch's shape: ``{"error": {"root_cause": […], "type", "reason", …}, "status"}``; the two short
forms (``error`` as a string) are those that its REST layer uses. Types and texts are those of running nodes, which the oracle
compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from esproxy.heads import Headers


class EsproxyError(Exception):
    """Base of all errors that have an answer. ``extra`` goes into the error object beside type and reason."""

    status = 500
    type = "exception"

    def __init__(self, reason: str, *, status: int | None = None, type: str | None = None, **extra: Any) -> None:
        super().__init__(reason)
        self.reason = reason
        if status is not None:
            self.status = status
        if type is not None:
            self.type = type
        self.extra = extra
        self.headers: Headers = []

    def cause(self) -> dict[str, Any]:
        """The error object of one cause, as it stands in ``root_cause`` and in items of bulk and msearch."""
        return {"type": self.type, "reason": self.reason, **self.extra}

    def payload(self) -> dict[str, Any]:
        cause = self.cause()
        return {"error": {"root_cause": [_root(cause)], **cause}, "status": self.status}

    def reword(self, words: Callable[[str], str]) -> None:
        """Put other words into every text of the error."""
        self.reason = words(self.reason)
        self.extra = {key: _reworded(value, words) for key, value in self.extra.items()}


PARSED = "x_content_parse_exception"
# The parser's exceptions, and Java's. A node looks behind the former where one of them or of its own is, never behind the latter.
PARSERS = frozenset((PARSED, "named_object_not_found_exception"))
JAVAS = frozenset(
    (
        "illegal_argument_exception", "illegal_state_exception", "number_format_exception", "null_pointer_exception",
        "date_time_parse_exception", "json_parse_exception",
    )
)  # fmt: skip


def _root(cause: dict[str, Any]) -> dict[str, Any]:
    """The innermost cause that a node finds."""
    while "caused_by" in cause and cause["type"] not in JAVAS:
        behind = cause["caused_by"]
        if behind["type"] in JAVAS or (behind["type"] in PARSERS and cause["type"] not in PARSERS):
            break
        cause = behind
    return {key: value for key, value in cause.items() if key != "caused_by"}


def _reworded(value: Any, words: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _reworded(item, words) for key, item in value.items()}
    return words(value) if isinstance(value, str) else value


class Refusal(EsproxyError):
    status = 400
    type = "illegal_argument_exception"


class Failed(EsproxyError):
    """``detail`` is for the log: it may name nodes and physical indices."""

    status = 503
    type = "exception"

    def __init__(self, reason: str, *, detail: str = "", **more: Any) -> None:
        super().__init__(reason, **more)
        self.detail = detail


class UpstreamFailed(Failed):
    """An upstream call has no whole answer; ``what`` is that of ``engine_api.Failure``."""

    STATUS: ClassVar = {"connect": 503, "timeout": 504, "broken": 502, "overflow": 502, "refused": 503}
    REASON: ClassVar = {
        "connect": "no node of the cluster could be reached",
        "timeout": "the cluster did not answer in time",
        "broken": "the connection to the cluster broke before its answer was whole",
        "overflow": "the answer of the cluster is larger than the proxy holds",
        "refused": "the request may not be sent now",
    }

    def __init__(self, what: str, detail: str = "") -> None:
        super().__init__(self.REASON[what], detail=detail, status=self.STATUS[what])
        self.what = what


class Violation(EsproxyError):
    """The upstream's answer holds something that is not the tenant's. Never tells what."""

    status = 500
    type = "exception"

    def __init__(self, where: str) -> None:
        super().__init__("the answer was withheld because it failed verification")
        self.where = where


class Short(Refusal):
    """Elasticsearch's short form: ``{"error": "text", "status": n}``."""

    def payload(self) -> dict[str, Any]:
        return {"error": self.reason, "status": self.status}


class NotValid(Refusal):
    """What ``_validate/query`` says of a body that is none; it is an answer like any other."""

    status = 200

    def __init__(self, reason: str, *, explained: bool, product: bool, unnamed: str = "") -> None:
        """``unnamed``: of a query by no known name, what its cause says."""
        super().__init__(reason)
        self.told = f"org.elasticsearch.common.ParsingException: {reason}" if product else f"ParsingException[{reason}]"
        if unnamed and product:
            self.told += f"; org.elasticsearch.xcontent.NamedObjectNotFoundException: {unnamed}"
        elif unnamed:
            cause = "NamedObjectNotFoundException"
            self.told += f"; nested: {cause}[{unnamed}];; org.opensearch.core.xcontent.{cause}: {unnamed}"
        self.explained = explained

    def payload(self) -> dict[str, Any]:
        return {"valid": False, "error": self.told} if self.explained else {"valid": False}


# --- the refusals, by name ------------------------------------------------------------------------


class MethodsOffered(Refusal):
    """The answer to OPTIONS: no error, no body, only the methods."""

    status = 200

    def __init__(self, allowed: list[str]) -> None:
        super().__init__("")
        self.headers = [(b"allow", ",".join(allowed).encode())]


class Bare(Short):
    """The short form without a status, which nodes use for unknown paths only."""

    def payload(self) -> dict[str, Any]:
        return {"error": self.reason}


def unknown_endpoint(uri: str, method: str) -> Refusal:
    return Bare(f"no handler found for uri [{uri}] and method [{method}]")


def wrong_method(uri: str, method: str, allowed: list[str]) -> Refusal:
    if method == "OPTIONS":
        return MethodsOffered(allowed)
    error = Short(f"Incorrect HTTP method for uri [{uri}] and method [{method}], allowed: [{', '.join(allowed)}]", status=405)
    error.headers = [(b"allow", ",".join(allowed).encode())]
    return error


def unsupported_media(value: str) -> Refusal:
    return Short(f"Content-Type header [{value}] is not supported", status=406)


def malformed_media(value: str, *, product: bool) -> Refusal:
    """A Content-Type that does not read as a type and a subtype."""
    if product:
        why = f"invalid media-type [{value}]" if value.strip() else "Header [Content-Type] cannot be empty."
        words, kind = "Invalid media-type value on headers [Content-Type]", "media_type_header_exception"
    else:
        why, kind = f"invalid Content-Type header [{value}]", "content_type_header_exception"
        words = f"java.lang.IllegalArgumentException: {why}"
    return Refusal(words, type=kind, caused_by={"type": "illegal_argument_exception", "reason": why})


def unknown_parameters(path: str, names: list[str], known: Iterable[str]) -> Refusal:
    """Nearest known names are offered, as the nodes do."""
    told = []
    for name in sorted(names):
        like = near(name, known)
        hint = ""
        if like:
            hint = f" -> did you mean [{like[0]}]?" if len(like) == 1 else f" -> did you mean any of [{', '.join(like)}]?"
        told.append(f"[{name}]{hint}")
    return Refusal(f"request [{path}] contains unrecognized parameter{'s' if len(told) > 1 else ''}: {', '.join(told)}")


def near(name: str, known: Iterable[str]) -> list[str]:
    """Names more than half alike by edit distance, the nearest first, as Lucene's LevenshteinDistance ranks them."""
    scored = [(1 - _distance(name, other) / max(len(name), len(other)), other) for other in known]
    return [other for score, other in sorted(scored, key=lambda pair: (-pair[0], pair[1])) if score > 0.5]


def _distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def no_such_index(name: str, *, single: bool = False, excluded: bool = False) -> Refusal:
    """``single``: where OpenSearch wants exactly one index, it calls the resource by another type. ``excluded``: Elasticsearch 8
    takes an exclusion for a name where no wildcard stands in front, and says so.
    """
    extra = {
        "resource.type": "index_expression" if single else "index_or_alias",
        "resource.id": name,
        "index_uuid": "_na_",
        "index": name,
    }
    reason = f"no such index [{name}]"
    if single and name == "_all":
        reason += " and no indices exist"  # so OpenSearch says, whatever there is
    if excluded:
        reason += " and if you intended to exclude this index, ensure that you use wildcards that include it"
        reason += " before explicitly excluding it"
    return Refusal(reason, status=404, type="index_not_found_exception", **extra)


def invalid_index_name(name: str, why: str) -> Refusal:
    reason = f"Invalid index name [{name}], {why}"
    return Refusal(reason, type="invalid_index_name_exception", index_uuid="_na_", index=name)


def broken_document(why: str, *, product: bool) -> Refusal:
    """A document that is no JSON, which is refused unsent: the node would meet fields before it stumbles, and in a pool an error
    about one could tell of others'; and comments, which it takes, could hide what it reads from what the proxy reads."""
    if product:
        cause = {"type": "x_content_parse_exception", "reason": why}
        return Refusal(f"failed to parse: {why}", type="document_parsing_exception", caused_by=cause)
    return Refusal("failed to parse", type="mapper_parsing_exception", caused_by={"type": "json_parse_exception", "reason": why})


def half_a_character() -> Refusal:
    """A surrogate without its other half in a body that has to be read as a tree."""
    return Refusal("half of a character, a surrogate without the other, cannot stand here", type="parsing_exception")


def too_large(limit: int) -> Refusal:
    return Refusal(f"the body is larger than {limit} bytes", status=413, type="content_too_long_exception")


def data_too_large(wanted: int, limit: int) -> Refusal:
    """As a node's circuit breaker says it."""
    reason = f"[proxy] Data too large, data for [answer] would be [{wanted}b], which is larger than what is left of [{limit}b]"
    told = {"bytes_wanted": wanted, "bytes_limit": limit, "durability": "TRANSIENT"}
    return Refusal(reason, status=429, type="circuit_breaking_exception", **told)
