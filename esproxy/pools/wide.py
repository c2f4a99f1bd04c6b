"""Requests over more physical indices than one request line names.

A node takes lines of 4 KiB, which some ninety names of pools fill; a pattern would name other tenants' pools too. So what does
not fit is made otherwise, by what it asks:

* a search is sent as the only one of a ``_msearch``, whose header names the indices;
* what says something of each index, or of nothing but their sum, is asked for in several lines, whose answers are joined;
* what is one thing over all of them, or has parameters that a ``_msearch`` does not take (a scroll, a point in time, a call by
  query), goes by an alias that is there for as long as the call takes. That is two changes of the cluster's state, which a
  search should not cost. One that a failure leaves behind is removed by ``procedures.tend``. Indices of their own keep their
  names: an alias would show.

The line is measured here alone, and one that fits is sent as it always was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from esproxy import exact
from esproxy.answer import is_error
from esproxy.api.target import MAX_TARGET, build
from esproxy.catalogue import names
from esproxy.catalogue.store import Steps
from esproxy.errors import EsproxyError
from esproxy.exchange import Answer, Call, Calls
from esproxy.pools.pooled import Pooled
from esproxy.rewriting.query import sort_of_text
from esproxy.tenancy.target import Target

INDEX = "{index}"  # where the names stand in a path
AROUND = len("DELETE  HTTP/1.1")  # of the line, beside the target
JSON, NDJSON = b"application/json", b"application/x-ndjson"
HEADER = frozenset(
    ("preference", "routing", "search_type", "request_cache", "allow_partial_search_results", "ccs_minimize_roundtrips")
)
ANSWERS = frozenset(
    ("typed_keys", "rest_total_hits_as_int", "max_concurrent_shard_requests", "pre_filter_shard_size", "error_trace", "human")
)  # parameters of both
BODY = frozenset(("size", "from", "stats", "sort", "track_total_hits"))
CLUSTERS = ("nodes", "number_of_nodes", "number_of_data_nodes", "task_max_waiting_in_queue_millis")  # the same in every answer
WORST = ("green", "yellow", "red")


def lines(path: list[str], physical: Iterable[str], query: dict[str, str]) -> list[str]:
    """The names, in as few expressions as lines take."""
    room = MAX_TARGET - AROUND - len(build([part if part != INDEX else "" for part in path], query))
    out: list[str] = []
    left = 0
    for name in dict.fromkeys(physical):
        length = len(build([name], {}))  # the slash stands for the comma
        if length > left:
            out.append(name)
            left = room - length
        else:
            out[-1] += "," + name
            left -= length
    return out


def fits(path: list[str], targets: list[Target], query: dict[str, str]) -> bool:
    return len(lines(path, (target.physical for target in targets), query)) <= 1


def ask(
    request: Pooled,
    method: str,
    path: list[str],
    physical: Iterable[str],
    query: dict[str, str],
    body: bytes = b"",
    media: bytes | None = None,
) -> Steps[Answer]:
    """What nodes tell of these indices, or do to each; of none, what one tells of a name that matches nothing."""
    found = lines(path, physical, query) or [request.plan.owner().names.nothing]
    calls = [request.send(method, [one if part == INDEX else part for part in path], query, body, media) for one in found]
    if len(calls) == 1:
        return (yield calls[0])
    return joined((yield Calls(calls)))


def joined(answers: list[Answer]) -> Answer:
    """One answer about the indices of all; the first error is one about all."""
    for answer in answers:
        if is_error(answer.status, answer.body):
            return answer
    tree, *more = [orjson.loads(answer.body) for answer in answers]
    for other in more:
        tree = _both(tree, other)
    return Answer(max(answer.status for answer in answers), answers[0].headers, orjson.dumps(tree))


def _both(a: Any, b: Any, key: str = "") -> Any:
    if key in CLUSTERS:
        return a
    if isinstance(a, dict) and isinstance(b, dict):
        return {**a, **{name: _both(a[name], value, name) if name in a else value for name, value in b.items()}}
    if isinstance(a, list) and isinstance(b, list):
        return a + b
    if isinstance(a, bool):
        return a or b if key == "timed_out" else a and b
    if key.startswith("active_shards_percent"):
        return min(a, b)  # all of the cluster's, where not all are green
    if isinstance(a, int | float):
        return a + b
    return max(a, b, key=WORST.index) if key == "status" and a in WORST else a


def search(request: Pooled, path: list[str], targets: list[Target], query: dict[str, str], body: bytes) -> Steps[Answer]:
    """A search. ``path``: its path."""
    if fits(path, targets, query):
        expression = ",".join(dict.fromkeys(target.physical for target in targets)) or request.plan.owner().names.nothing
        where = [expression if part == INDEX else part for part in path]
        return (yield request.send("POST", where, query, body, request.media or JSON))
    sent = _one_of_many(targets, query, body)
    if sent is None:
        return (yield from by_alias(request, path, targets, query, body))
    shared = {name: query[name] for name in query.keys() & ANSWERS}
    call = request.send("POST", ["_msearch"], shared, sent, _of_lines(request.media))
    call.tree = True
    answer: Answer = yield call
    if answer.status != 200:
        return answer
    found = exact.loads(answer.body)["responses"][0]
    return Answer(int(found["status"] if "error" in found else found.pop("status")), answer.headers, exact.dumps(found))


def _of_lines(media: bytes | None) -> bytes:
    """The type of lines of what is of this one."""
    return NDJSON if media is None else media if b"ndjson" in media else media.replace(b"json", b"x-ndjson")


def _one_of_many(targets: list[Target], query: dict[str, str], body: bytes) -> bytes | None:
    """The two lines of the search; None where it has parameters that are not read there, or not in the same way."""
    if not query.keys() <= HEADER | ANSWERS | BODY:
        return None
    tree = exact.loads(body) if body else {}
    for name in query.keys() & BODY:
        value = query[name]
        if name == "stats":
            tree[name] = value.split(",")
        elif name == "sort":
            given = tree.get(name, [])
            tree[name] = [*(given if isinstance(given, list) else [given]), *map(sort_of_text, value.split(","))]
        elif value.isascii() and value.isdigit():
            tree[name] = int(value)
        elif name == "track_total_hits" and value in ("true", "false"):
            tree[name] = value == "true"
        else:
            return None  # the node's to read
    header = {name: query[name] for name in query.keys() & HEADER}
    header |= {"index": list(dict.fromkeys(target.physical for target in targets))}  # type: ignore[dict-item]
    return orjson.dumps(header) + b"\n" + exact.dumps(tree) + b"\n"


def by_alias(request: Pooled, path: list[str], targets: list[Target], query: dict[str, str], body: bytes) -> Steps[Answer]:
    """One call over all, by another name for them."""
    alias = names.MANY + request.cat.new_id()
    pools = list(dict.fromkeys(target.physical for target in targets if not target.dedicated))
    own = dict.fromkeys(target.physical for target in targets if target.dedicated)
    made: Answer = yield _change(request, {"add": {"indices": pools, "alias": alias, "is_hidden": True}})
    if made.status != 200:
        return made  # a pool is gone, with the index that was in it
    expression = ",".join([alias, *own])
    where = [expression if part == INDEX else part for part in path]
    try:
        answer: Answer = yield request.send("POST", where, query, body, request.media or JSON)
    except EsproxyError:
        yield _change(request, {"remove": {"indices": pools, "alias": alias}})
        raise
    yield _change(request, {"remove": {"indices": pools, "alias": alias}})  # where it fails it is left to others
    return answer


def _change(request: Pooled, action: dict[str, Any]) -> Call:
    return request.cat.store.call("POST", b"/_aliases", orjson.dumps({"actions": [action]}))
