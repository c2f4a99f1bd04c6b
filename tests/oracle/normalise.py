"""What may differ between two runs of one scenario: paths, by name, each with its reason. Nothing else is masked.

A path is written with ``/``; ``*`` is any one step or any part of one, ``**`` any number of steps. ``when`` limits a row to
calls whose ``METHOD /target`` matches, ``layouts`` to layouts. A masked value must still be of its type: a number stays a
number, text stays text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

from esproxy.api.deviations import EVERY, POOLS
from tests.oracle.answer import Answer

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mask:
    path: str
    why: str
    when: str = ""
    layouts: tuple[str, ...] = EVERY


@dataclass(frozen=True, slots=True)
class TextMask:
    """Part of a text that may differ: only where ``path`` says. ``put`` is what stands for it, or makes that of what is found."""

    path: str
    pattern: str
    put: str | Callable[[re.Match[str]], str]
    why: str
    layouts: tuple[str, ...] = EVERY


CLOCK = "measures the clock"
IDENTITY = "names a node, a cluster or one creation of an index: random"
SEQUENCE = "counts the writes of everybody in the pool"
DEALT = "documents are dealt to slices by a hash of their ids as they are stored"
SHARDS = "the pool's shards, which are not the index's"
STATES = r"[A-Z]+ \S*/_(stats|segments|recovery|shard_stores|search_shards)\b"
TASKS = r"[A-Z]+ (/_tasks|/_(update_by_query|delete_by_query|reindex)/\S+/_rethrottle)"
MACHINES = "tells of the operator's machines"
MASKS = [
    Mask("took", CLOCK),
    Mask("responses/*/took", CLOCK, r"(GET|POST) \S*/_msearch"),
    Mask("creation_time", CLOCK, r"POST \S*/_search/point_in_time"),
    Mask("ingest_took", CLOCK),
    Mask("name", IDENTITY, r"GET //?(\?.*)?$"),
    Mask("cluster_name", IDENTITY, r"GET //?(\?.*)?$"),
    Mask("cluster_uuid", IDENTITY, r"GET //?(\?.*)?$"),
    Mask("cluster_name", IDENTITY, r"GET /_cluster/health"),
    Mask("number_of_pending_tasks", "work of the whole cluster at this moment", r"GET /_cluster/health"),
    Mask("number_of_in_flight_fetch", "work of the whole cluster at this moment", r"GET /_cluster/health"),
    Mask("task_max_waiting_in_queue_millis", CLOCK, r"GET /_cluster/health"),
    Mask("task_max_waiting_in_queue", CLOCK, r"GET /_cluster/health"),
    Mask("*/settings/index/uuid", IDENTITY),
    Mask("*/settings/index/creation_date", CLOCK),
    Mask("*/settings/index/creation_date_string", CLOCK),
    Mask("*/settings/index.uuid", IDENTITY),
    Mask("*/settings/index.creation_date", CLOCK),
    Mask("*/settings/index.creation_date_string", CLOCK),
    Mask("**/index_uuid", IDENTITY),
    *(Mask(f"*/{name}_date*", CLOCK, r"GET /_ingest/pipeline") for name in ("created", "modified")),
    Mask("docs/**/_ingest/timestamp", CLOCK, r"POST /_ingest/"),
    Mask("metadata/indices/*/settings/index.uuid", IDENTITY),
    Mask("metadata/indices/*/settings/index.creation_date", CLOCK),
    Mask("metadata/indices/*/settings/index/creation_date", CLOCK),
    Mask("metadata/indices/*/settings/index/uuid", IDENTITY),
    Mask("metadata/indices/*/version", "counts changes of the cluster's state, and a busy node makes one of several"),
    *(Mask(f"**/{name}_date*", CLOCK, r"GET /_(index|component)_template") for name in ("created", "modified")),
    Mask("**/settings/index/resize/source/uuid", IDENTITY),
    Mask("error/failed_shards/*/node", IDENTITY),
    Mask("responses/*/error/failed_shards/*/node", IDENTITY),
    Mask("failures/*/error/failed_shards/*/node", IDENTITY),
    Mask("_shards/failures/*/node", IDENTITY),
    Mask("responses/*/_shards/failures/*/node", IDENTITY),
    Mask("responses/*/error/failed_shards/*/node", IDENTITY),
    Mask("**/initial_recovery/_id", IDENTITY),
    Mask("**/hits/*/_node", IDENTITY),
    Mask("profile/shards/*/id", IDENTITY),
    Mask("profile/shards/*/node_id", IDENTITY),
    Mask("profile/shards/*/**/*time_in_nanos", CLOCK),
    Mask("profile/shards/*/**/rewrite_time", CLOCK),
    Mask("profile/shards/*/**/breakdown/*", CLOCK),
    Mask("profile/shards/*/*_network_time_in_millis", CLOCK),
    Mask("docs/*/took", CLOCK, r"[A-Z]+ \S*_mtermvectors"),
    *(Mask(f"**/{name}", CLOCK, STATES) for name in ("*_in_millis", "*time", "*_age", "*_timestamp", "timestamp", "*_load")),
    *(
        Mask(f"**/{name}", "bytes on disk depend on when segments were written", STATES)
        for name in ("*_in_bytes", "store", "size")
    ),
    *(
        Mask(f"**/{name}", IDENTITY, STATES)
        for name in ("uuid", "*_uuid", "id", "node", "name", "*_id", "host", "ip", "*address")
    ),
    *(
        Mask(f"**/{name}", CLOCK, TASKS)
        for name in ("*_in_millis", "*_in_nanos", "*_millis", "took", "throttled", "throttled_until", "resource_stats/*/*")
    ),
    *(Mask(f"**/{name}", IDENTITY, TASKS) for name in ("id", "node", "node_id", "name", "host", "ip", "*address")),
    Mask("**/_seq_no", SEQUENCE, layouts=POOLS),
    *(Mask(f"slices/*/{name}", DEALT, r"POST /_reindex\b", layouts=POOLS) for name in ("total", "created", "updated", "batches")),
    Mask("batches", DEALT, r"POST /_reindex\S*slices", layouts=POOLS),
    Mask("**/_shards/total", SHARDS, layouts=POOLS),
    Mask("**/_shards/successful", SHARDS, layouts=POOLS),
    Mask("**/_shards/skipped", SHARDS, layouts=POOLS),
]
HASHED = "in the order of a hash"


def in_order(found: re.Match[str]) -> str:
    return ", ".join(sorted(re.split(", ?", found[0])))


# What a tenant is not told: taken out of both answers.
LEFT_OUT = [
    Mask("**/attributes/*", MACHINES, r"[A-Z]+ \S*_(search_shards|shard_stores)"),
    *(Mask(f"nodes/*/{name}", MACHINES, TASKS) for name in ("attributes/*", "roles")),
    Mask("**/shard_path/*_path", MACHINES, STATES),
    Mask("**/unassigned_info/details", MACHINES, STATES),
]
# Keys of objects that differ by themselves.
KEYS = [
    Mask("**/stores/*/*", IDENTITY, r"[A-Z]+ \S*_shard_stores"),
    Mask("nodes/*", IDENTITY, r"[A-Z]+ (\S*_search_shards|/_nodes|/_tasks|/\S+/_rethrottle)"),
]
TEXT_MASKS = [
    TextMask("node_failures/**/reason", r"(?<=node \[)[^]]+", "<node>", IDENTITY),
    *(
        TextMask(f"{at}error/**/reason", r"(?<=associated with it \[)[^]]+", in_order, HASHED)
        for at in ("", "docs/*/", "responses/*/", "items/*/*/")
    ),
    TextMask("error/**/reason", r"^\[[^]]+\]\[[\d.]+:\d+\](?=\[indices:)", "<node>", IDENTITY),
    TextMask("error/**/reason", r"(?<=simulate_template_)[\w-]{22}", "<uuid>", IDENTITY),
    TextMask("**/reason", r"(?<=because \")\w+(?=(\[\d\])?\" is null)", "<x>", "named so by the compiler"),
    TextMask("**/*explanation/**/description", r"(?<=Automaton@)[0-9a-f]+", "<x>", IDENTITY),
    TextMask("error/**/reason", r"(?<=more than one write index \[)[^]]+", in_order, HASHED),
    TextMask("error/**", r"/[\w-]{22}\]", "/<uuid>]", IDENTITY),
    TextMask("items/*/*/error/**", r"/[\w-]{22}\]", "/<uuid>]", IDENTITY),
    TextMask("explanations/*/error", r"/[\w-]{22}\]", "/<uuid>]", IDENTITY),
    TextMask("error/**", r"(?<=No search context found for id )\[+[^]]+\](\[\d+\])?", "<n>", "counts the searches of a node"),
    TextMask("**/error/**/reason", r"(?<=[sS]eqNo \[)\d+(?=\])", "<n>", SEQUENCE, POOLS),
    TextMask("**/*explanation/**/description", r"(?<= in )\d+(?=\) \[)", "<n>", "the place of a document in the pool", POOLS),
    TextMask("**/*explanation/**/description", r"(?<= match id )\d+", "<n>", "the place of a document in the pool", POOLS),
    TextMask("error/**/reason", r"(?<=node\.ECall@)[0-9a-f]+", "<x>", IDENTITY),
    TextMask("error/**/reason", r"(?<=Doc id )\d+", "<n>", "the place of a document in the pool", POOLS),
    TextMask("hits/hits/*/_shard", r"(?<=\]\[)\d+(?=\])", "<n>", SHARDS, POOLS),
]
# _cat/indices: what a column may show differently. Widths of columns are compared where no such column is shown.
CAT_COLUMNS = {
    "uuid": IDENTITY,
    "store.size": "bytes on disk depend on when segments were written",
    "pri.store.size": "bytes on disk depend on when segments were written",
    "dataset.size": "bytes on disk depend on when segments were written",
    **dict.fromkeys(
        ("store", "dataset", "size", "size.memory", "bytes_total"), "bytes on disk depend on when segments were written"
    ),
    **dict.fromkeys(("node", "ip", "id", "source_node", "target_node", "source_host", "target_host"), IDENTITY),
    **dict.fromkeys(("time", "start_time", "start_time_millis", "stop_time", "stop_time_millis"), CLOCK),
    "unassigned.details": MACHINES,
    "creation.date": CLOCK,
    "creation.date.string": CLOCK,
}
CAT_TEXT = [
    (r"(?<=\s)[\w-]{22}(?=\s|$)", "<uuid>"),
    (r"(?<![\w.-])\d+(\.\d+)?(b|kb|mb|gb)(?=\s|$)", "<size>"),
    (r"(?<=\s)1\d{12}(?=\s|$)", "<millis>"),
    (r"(?<=\s)\d+(\.\d+)?(ms|s|m)(?=\s|$)", "<duration>"),
    (r"(?<=\s)20\d\d-\d\d-\d\dT[\d:.]+Z(?=\s|$)", "<time>"),
]
CAT_BYTES = [(r"(?<=\s)\d{3,}(?=\s|$)", "<size>")]  # with `bytes=`, sizes are plain numbers


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A path pattern as a regular expression over the steps, each followed by a separator no key holds."""
    text = ""
    for step in pattern.split("/"):
        text += r"(?:[^\x1f]*\x1f)*" if step == "**" else re.escape(step).replace(r"\*", r"[^\x1f]*") + "\x1f"
    return re.compile(text)


def matches(pattern: str, path: Path) -> bool:
    return compiled(pattern).fullmatch("".join(step + "\x1f" for step in path)) is not None


METHODS = re.compile(r"(?<=allowed: \[)[A-Z, ]+(?=\])")
POOLED_DOCUMENT = re.compile(r"HEAD \S+/_doc/")
WRITERS = re.compile(r"(?<=more than one write index \[)[^\]]+(?=\])")  # in the order of a hash


def normalise(answer: Answer, call: str, layouts: Collection[str]) -> Answer:
    """A copy in which everything that may differ is masked, saved values under their names."""
    headers = {name: [_saved(value, answer.saved) for value in values] for name, values in answer.headers.items()}
    if re.match(r"HEAD /(\?|$)", call):
        headers.pop("content-length", None)  # as long as the node's name is
    if call.startswith("HEAD") and "x-elastic-product" in headers:
        headers.pop("content-length", None)  # Elasticsearch tells none for an index; the GET's is right as well
    if POOLED_DOCUMENT.match(call) and not set(layouts).isdisjoint(POOLS):
        headers.pop("content-length", None)  # _seq_no is in what is measured
    if "allow" in headers:
        headers["allow"] = [",".join(sorted(re.split(", *", value))) for value in headers["allow"]]
    if "warning" in headers:  # OpenSearch warns once per node and not per call, so only the first run sees it
        kept = [value for value in headers.pop("warning") if not value.startswith("299 OpenSearch")]
        if kept:
            headers["warning"] = sorted(re.sub(r'"[^"]*GMT"$', '"<date>"', value) for value in kept)
    here = set(layouts) or {"dedicated"}
    masks = [mask.path for mask in MASKS if here & set(mask.layouts) and (not mask.when or re.match(mask.when, call))]
    texts = [mask for mask in TEXT_MASKS if here & set(mask.layouts)]
    if answer.layout == "text" and isinstance(answer.body, str):
        body: Any = cat_text(_saved(answer.body, answer.saved), call) if "/_cat/" in call else _saved(answer.body, answer.saved)
    else:
        out = [mask.path for mask in LEFT_OUT if re.match(mask.when, call)]
        keys = [mask.path for mask in KEYS if re.match(mask.when, call)]
        body = _walk(_profile_in_order(answer.body), (), Masks(masks, texts, out, keys), answer.saved)
        if isinstance(body, dict) and str(body.get("error")).startswith("Incorrect HTTP method"):
            body["error"] = METHODS.sub(in_order, body["error"])
        if "/_cat/" in call and isinstance(body, list):
            body = [_cat_row(row) for row in body]
            body = body if re.search(r"[?&]s=", call) else sorted(body, key=str)
    return Answer(answer.status, headers, body, answer.layout, answer.saved)


@dataclass(frozen=True, slots=True)
class Masks:
    """What holds for one call."""

    values: list[str]
    texts: list[TextMask]
    out: list[str]
    keys: list[str]

    def key(self, path: Path) -> str:
        known = NODE.fullmatch(path[-1]) and any(matches(pattern, path) for pattern in self.keys)
        return "<node>" if known else path[-1]

    def leaves_out(self, path: Path) -> bool:
        return any(matches(pattern, path) for pattern in self.out)


NODE = re.compile(r"[\w-]{22}")


def _walk(value: Any, path: Path, masks: Masks, saved: dict[str, str]) -> Any:
    if not isinstance(value, (dict, list)) and any(matches(mask, path) for mask in masks.values):
        return f"<{path[-1]}: {type(value).__name__}>"
    if isinstance(value, dict):
        shown = ((key, item, (*path, key)) for key, item in value.items())
        return {
            _saved(masks.key(place), saved): _walk(item, place, masks, saved)
            for key, item, place in shown
            if not masks.leaves_out(place)
        }
    if isinstance(value, list):
        return [_walk(item, (*path, str(place)), masks, saved) for place, item in enumerate(value)]
    if isinstance(value, str):
        for mask in masks.texts:
            if matches(mask.path, path):
                value = re.sub(mask.pattern, mask.put, value)
        value = WRITERS.sub(lambda found: ",".join(sorted(found[0].split(","))), value)
        return _saved(value, saved)
    return value


def _saved(text: str, saved: dict[str, str]) -> str:
    """Values that the scenario saved stand under their names. Short ones are compared as they are: they would
    be found by chance."""
    for name, value in saved.items():
        if len(value) > 7:
            text = text.replace(value, f"<{name}>")
    return text


def _profile_in_order(body: Any) -> Any:
    """The shards of a profile come in the order of a hash of their ids, ``[node][index][number]``, and nodes' ids are drawn."""
    profile = body.get("profile") if isinstance(body, dict) else None
    shards = profile.get("shards") if isinstance(profile, dict) else None
    if not isinstance(shards, list):
        return body
    in_order = sorted(shards, key=lambda shard: str(shard.get("id")).partition("]")[2])
    return body | {"profile": profile | {"shards": in_order}}


def _cat_row(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {key: f"<{key}>" if key in CAT_COLUMNS and value is not None else value for key, value in row.items()}


def cat_text(text: str, call: str) -> str:
    """A table: where a cell may differ, the widths of columns may too, so runs of blanks count as one there. Rows
    that no one asked to be sorted come in any order."""
    masked = text
    patterns = CAT_TEXT + CAT_BYTES if "bytes=" in call else CAT_TEXT
    for pattern, put in patterns:
        masked = re.sub(pattern, put, masked, flags=re.MULTILINE)
    if masked != text:
        masked = re.sub(r"[ ]+", " ", masked)
    if not re.search(r"[?&](s=|help)", call):
        masked = "".join(sorted(masked.splitlines(keepends=True)))
    return masked


__all__ = ["CAT_COLUMNS", "MASKS", "TEXT_MASKS", "Mask", "TextMask", "matches", "normalise"]
