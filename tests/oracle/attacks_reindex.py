"""Attacks by copying and by rating: no document comes from others or goes to them. Rows of ``attack``."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.oracle.attack import RAW, request, row

VICTIMS = "'zenith' + '.books'"  # so that an error may quote what was sent without a dot in it
ZENITH = {"zenith": "zenith"}
COPY = request("POST", "/_reindex", {"source": {"index": "books"}, "dest": {"index": "copied"}})
SAFE = (200, 201, 400, 404, 409, 500)


def reindex(script: Any, **more: Any) -> bytes:
    body = {"source": {"index": "books"}, "dest": {"index": "copied"}, "script": script, **more}
    return request("POST", "/_reindex?refresh=true", body)


# --- B30, B31: from where and to where --------------------------------------------------------------------

for source in (
    {"index": RAW}, {"index": ["books", RAW]}, {"index": f"books,{RAW}"}, {"index": "*"}, {"index": "_all"},
    {"index": "zenith.*"}, {"index": "remote:books"}, {"index": "<{now'zenith.books'}>"}, {"index": ".tasks"}, {"index": []},
    {"index": "books", "query": {"terms": {"k": {"index": RAW, "id": "1", "path": "k"}}}},
    {"index": "books", "query": {"more_like_this": {"like": [{"_index": RAW, "_id": "1"}], "min_term_freq": 1}}},
    {"index": "books", "runtime_mappings": {"r": {"type": "lookup", "target_index": RAW, "input_field": "k"}}},
):  # fmt: skip
    row("B30", request("POST", "/_reindex", {"source": source, "dest": {"index": "copied"}}), *SAFE, twin=COPY)
for dest in (
    {"index": RAW}, {"index": "zenith.made"}, {"index": "<zenith.{now/d}>"}, {"index": "copied", "pipeline": "zenith.stamp"},
    {"index": "copied", "pipeline": "zenith~stamp"}, {"index": "_all"}, {"index": ["copied", RAW]},
    {"index": "copied", "routing": "=zenith"},
    {"index": "remote:copied"}, {"index": ".tasks"}, {"index": f"-*,{RAW}"},
):  # fmt: skip
    row("B30", request("POST", "/_reindex", {"source": {"index": "books"}, "dest": dest}), *SAFE, twin=COPY)
for remote in ({"host": "http://169.254.169.254/"}, {"host": "http://127.0.0.1:9200", "username": "a", "password": "b"}, {}):
    body = {"source": {"index": RAW, "remote": remote}, "dest": {"index": "copied"}}
    row("B31", request("POST", "/_reindex", body), 400, twin=COPY)
ESCAPED = b'{"source":{"index":"x","\\u0072emote":{"host":"http://x"}},"dest":{"index":"c"}}'
row("B31", request("POST", "/_reindex", ESCAPED), 400, twin=COPY)

# --- B32: what scripts make of a document -----------------------------------------------------------------

SOURCES = (
    f"ctx._index = {VICTIMS}",
    f"ctx._index = {VICTIMS}; ctx._id = '1'; ctx._routing = 'v'",
    f"ctx['_ind' + 'ex'] = {VICTIMS}",
    f"ctx.put('_index', {VICTIMS})",
    f"ctx.op = 'delete'; ctx._index = {VICTIMS}; ctx._id = '1'",
    f"ctx.putAll(['_index': {VICTIMS}, 'op': 'delete', '_id': '1'])",
    f"ctx.replaceAll((k, v) -> k == '_index' ? {VICTIMS} : v)",
    f"metadata().index = {VICTIMS}",
    f"Map m = ctx; m._index = {VICTIMS}; return;",
    f"ctx._index = {VICTIMS}; return; }} void g() {{",
    f"ctx._index = {VICTIMS} //",
    f"ctx._index = {VICTIMS} /*",
    f"ctx._index = {VICTIMS}; }} if (true) {{ return; }} {{",
    f"void esproxyRun(Map ctx, Map params) {{ }} ctx._index = {VICTIMS}",
    f"String f(Map c) {{ c._index = {VICTIMS}; return 'x' }} f(ctx)",
    f"def f = () -> {{ ctx._index = {VICTIMS}; return 1 }}; f()",
    f"String esproxyPrefix = ''; ctx._index = {VICTIMS}",
    f"try {{ ctx._index = {VICTIMS}; throw new Exception() }} catch (Exception e) {{ return }}",
    f"ctx._index = '<' + {VICTIMS} + '>'",
    f"ctx._index = '-*,' + {VICTIMS}",
    "ctx._index = '<{now{\\'' + 'zenith' + '.books\\'}}>'",
    f"ctx._index = ['{'a'}', {VICTIMS}]",
    f"ctx._index = new StringBuilder().append({VICTIMS})",
    "ctx._index = null", "ctx.remove('_index')", "ctx.clear()", "while (true) { ctx._index = 'x' }",
    "params.esproxyPrefix = ''; params.clear()",
    f"/a{{/.matcher('x'); ctx._index = {VICTIMS}",
    f"ctx._source = null; ctx._index = {VICTIMS}",
)  # fmt: skip
for source in SOURCES:
    sent = reindex({"source": source, "params": ZENITH})
    row("B32", sent, *SAFE, twin=COPY)
    row("B32", reindex({"lang": "painless", "source": source, "params": ZENITH}, conflicts="proceed"), *SAFE, twin=COPY)
    stored = request("PUT", "/_scripts/evil", {"script": {"lang": "painless", "source": source}})
    row("B32", stored, 200, 400, twin=COPY)
    row("B32", reindex({"id": "evil", "params": ZENITH}), *SAFE, twin=COPY)
for script in (
    {"id": "zenith.plus"}, {"id": "zenith.plus", "source": "1"}, {"source": "1", "lang": "expression"},
    {"lang": "mustache", "source": "{}"},
    {"id": "evil", "lang": "painless"}, {}, [], "ctx._index = 'x'", {"source": {"a": 1}}, {"source": "1", "nope": 1},
    {"id": "evil,zenith.plus"},
    {"id": "../zenith.plus"},
):  # fmt: skip
    row("B32", reindex(script), *SAFE, twin=COPY)
row("B32", request("DELETE", "/_scripts/evil"), 200, 404, twin=COPY)

# --- B27, C35: rating and listing terms (each on one engine, as their twins) ------------------------------

rank = partial(row, twin_status=(200, 400, 405))
RATED = {"id": "q", "request": {"query": {"match_all": {}}}, "ratings": [{"_index": "books", "_id": "1", "rating": 1}]}
METRIC = {"precision": {"k": 5}}
GOOD = request("POST", "/books/_rank_eval", {"requests": [RATED], "metric": METRIC})
LOOKUP = {"terms": {"k": {"index": RAW, "id": "1", "path": "k"}}}
for item in (
    {**RATED, "request": {"query": LOOKUP}}, {**RATED, "ratings": [{"_index": RAW, "_id": "1", "rating": 1}]},
    {**RATED, "request": {"query": {"query_string": {"query": f"_index:{RAW}"}}}}, {**RATED, "index": RAW},
):  # fmt: skip
    rank("B27", request("POST", "/books/_rank_eval", {"requests": [item], "metric": METRIC}), 200, 400, 404, 405, twin=GOOD)
TEXT = '{"query":{"terms":{"k":{{#toJson}}l{{/toJson}}}}}'
for template in ({"source": {"query": LOOKUP}}, {"source": TEXT}, {"id": "zenith.find"}):
    body = {
        "requests": [{"id": "q", "template_id": "t", "params": {"l": LOOKUP["terms"]["k"]}, "ratings": []}],
        "templates": [{"id": "t", "template": template}], "metric": METRIC,
    }  # fmt: skip
    rank("B27", request("POST", "/books/_rank_eval", body), 200, 400, 404, 405, twin=GOOD)
for target in (f"/{RAW}/_rank_eval", f"/_rank_eval?index={RAW}", "/*/_rank_eval", "/_rank_eval"):
    rank("B27", request("POST", target, {"requests": [RATED], "metric": METRIC}), 200, 400, 404, 405, twin=GOOD)
TERMS = request("POST", "/books/_terms_enum", {"field": "k"})
for target in (f"/{RAW}/_terms_enum", f"/books,{RAW}/_terms_enum", "/*/_terms_enum", f"/books/_terms_enum?index={RAW}"):
    for body in ({"field": "k.keyword"}, {"field": "_index"}, {"field": "_index", "string": "zenith"}, {"field": "_id"}):
        rank("C35", request("POST", target, {**body, "index_filter": {"match_all": {}}}), 200, 400, 404, 405, twin=TERMS)
rank("C35", request("POST", "/books/_terms_enum", {"field": "k", "index_filter": LOOKUP}), 200, 400, 404, 405, twin=TERMS)
