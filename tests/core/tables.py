"""Small rule tables and bindings for the core's tests, by name, so that corpus files can say which they mean.

They are shaped like the real ones and hold every feature of the format once; the real tables are in test_real_tables.py. What
bindings put into a body is made of words that no test body holds, so that "take them out again" is a check of its own.
"""

from __future__ import annotations

from typing import Any

from esproxy.core import Action, Bindings, Kind, Op, Table

Rows = dict[str, dict[str, Any]]


def numbered(rows: Rows, reasons: list[str]) -> tuple[list[dict[str, Any]], list[str], dict[str, int]]:
    """States with numbers for names, as a rule-table file has them; state 0 is opaque and state 1 a scalar."""
    rows = {"opaque": {"kind": "OPAQUE"}, "scalar": {}, **rows}
    number = {name: i for i, name in enumerate(rows)}
    states = []
    for row in rows.values():
        state = dict(row)
        for key in ("keys", "tags"):
            if key in state:
                state[key] = {name: number[target] for name, target in state[key].items()}
        if "other" in state:
            state["other"] = [state["other"][0], number[state["other"][1]]]
        if "items" in state:
            state["items"] = number[state["items"]]
        states.append(state)
    return states, reasons, number


STATES, REASONS, ROOTS = numbered(
    {
        "search": {
            "keys": {
                "query": "query",
                "knn": "knn",
                "size": "scalar",
                "index": "expr",
                "ids": "id",
                "routing": "routing",
                "sort": "field",
                "_source": "source",
                "script": "script",
                "aggs": "aggs",
                "doc": "doc",
                "settings": "settings",
                "text": "lucene",
                "secret": "refused",
                "filters": "filters",
                "ext": "opaque",
                "empty": "empty",
                "pit": "cursor",
                "": "scalar",
                "schlüssel": "scalar",
                "a_key_of_more_than_sixteen_bytes": "index",
                "a_key_of_more_than_sixteen_bytez": "scalar",
            },
            "ensure": ["query"],
            "unless": ["knn"],
        },
        "query": {"kind": "QUERY", "keys": {"match": "fields", "bool": "bool", "nested": "nested", "match_all": "empty"}},
        "clause": {"keys": {"match": "fields", "bool": "bool", "nested": "nested", "match_all": "empty"}},
        "bool": {"keys": {"must": "clause", "filter": "clause", "boost": "scalar"}},
        "nested": {"keys": {"path": "field", "query": "clause"}},
        "fields": {"other": ["FIELD", "options"]},
        "options": {"keys": {"query": "scalar", "boost": "scalar"}},
        "empty": {"keys": {}},
        "knn": {"keys": {"field": "field", "k": "scalar", "filter": "query"}, "ensure": ["filter"]},
        "expr": {"kind": "EXPR"},
        "index": {"kind": "INDEX"},
        "id": {"kind": "ID"},
        "routing": {"kind": "ROUTING"},
        "field": {"kind": "FIELD"},
        "source": {"kind": "SOURCE", "keys": {"includes": "field"}},
        "lucene": {"kind": "LUCENE"},
        "script": {"kind": "SCRIPT", "keys": {"source": "script", "params": "opaque"}, "mark": "SCRIPT"},
        "doc": {"kind": "DOC", "mark": "DOC"},
        "settings": {"kind": "SETTINGS"},
        "cursor": {"kind": "CURSOR"},
        "refused": {"kind": "REFUSE", "reason": 1},
        "aggs": {"other": ["COPY", "agg"], "mark": "AGGS"},
        "agg": {"keys": {"terms": "terms", "aggs": "aggs", "filters": "filters"}},
        "terms": {"keys": {"field": "field", "size": "scalar"}},
        "filters": {"other": ["COPY", "clause"], "items": "clause"},
        # answers
        "answer": {
            "keys": {"took": "scalar", "hits": "hits", "aggregations": "tagged", "reason": "text", "indices": "indices"},
            "other": ["UNKNOWN", "opaque"],
        },
        "hits": {"keys": {"total": "opaque", "hits": "hit"}, "other": ["UNKNOWN", "opaque"]},
        "hit": {
            "keys": {
                "_index": "index",
                "_id": "id",
                "_routing": "routing",
                "_score": "scalar",
                "_source": "doc",
                "fields": "answered",
            },
            "other": ["UNKNOWN", "opaque"],
        },
        "answered": {"other": ["FIELD", "opaque"]},
        "indices": {"other": ["INDEX", "opaque"]},
        "tagged": {"other": ["TAGGED", "opaque"], "tags": {"sterms": "buckets", "top_hits": "hits"}},
        "buckets": {"keys": {"buckets": "bucket", "sum_other_doc_count": "scalar"}, "other": ["UNKNOWN", "opaque"]},
        "bucket": {
            "keys": {"key": "scalar", "doc_count": "scalar"},
            "other": ["TAGGED", "opaque"],
            "tags": {"sterms": "buckets"},
        },
        "text": {"kind": "TEXT"},
        # bulk
        "action": {"keys": {"index": "meta", "create": "meta", "update": "meta", "delete": "meta"}},
        "meta": {"keys": {"_index": "index", "_id": "id", "routing": "routing", "if_seq_no": "scalar"}, "ensure": ["routing"]},
        "update": {"keys": {"doc": "doc", "script": "script", "upsert": "doc", "doc_as_upsert": "scalar"}},
    },
    ["unused", "this key is not for tenants"],
)
TABLE = Table(STATES, REASONS)

PREFIX, BEFORE, BEHIND, ABSENT, ROUTING = b"zqp.", b'{"zqb":', b',"zqe":[1]}', b'{"zqa":{}}', b'"zqr"'
NAMES = dict.fromkeys((Kind.INDEX, Kind.EXPR, Kind.ALIAS), Action(Op.PREFIX, PREFIX))

ACTIONS: dict[str, dict[Kind, Action]] = {
    "copy": {},
    "dedicated": {**NAMES, Kind.FIELD: Action(Op.WATCH, b"_index"), Kind.SCRIPT: Action(Op.STOP), Kind.SETTINGS: Action(Op.STOP)},
    "shared": {
        **NAMES,
        Kind.ID: Action(Op.PREFIX, PREFIX),
        Kind.ROUTING: Action(Op.DROP, absent=ROUTING),
        Kind.QUERY: Action(Op.WRAP, BEFORE, BEHIND, ABSENT),
        Kind.CURSOR: Action(Op.REFUSE, b"no cursors"),
    },
    "per-tenant": {
        **NAMES,
        Kind.ID: Action(Op.PREFIX, PREFIX),
        Kind.FIELD: Action(Op.PREFIX, PREFIX),
        Kind.SOURCE: Action(Op.PREFIX, PREFIX),
        Kind.DOC: Action(Op.WRAP, BEFORE, BEHIND),
        Kind.QUERY: Action(Op.WRAP, BEFORE, BEHIND, ABSENT),
        Kind.LUCENE: Action(Op.STOP),
        Kind.SCRIPT: Action(Op.STOP),
    },
    "stops": dict.fromkeys([kind for kind in Kind if kind not in (Kind.REFUSE, Kind.COPY)], Action(Op.STOP)),
    "drops": dict.fromkeys((Kind.DOC, Kind.FIELD, Kind.SETTINGS, Kind.UNKNOWN, Kind.ID, Kind.SCRIPT), Action(Op.DROP)),
    "restore": {
        **dict.fromkeys((Kind.INDEX, Kind.EXPR, Kind.ALIAS, Kind.ID, Kind.FIELD, Kind.SOURCE), Action(Op.STRIP, PREFIX)),
        Kind.TAGGED: Action(Op.STRIP),
    },
    "verify": {**dict.fromkeys((Kind.INDEX, Kind.ID), Action(Op.STRIP, PREFIX)), Kind.TEXT: Action(Op.STOP)},
}
BINDINGS = {name: Bindings(actions) for name, actions in ACTIONS.items()}
