"""Attacks by pipelines: what a node runs for a tenant moves no document out of what is the tenant's. Rows of ``attack``."""

from __future__ import annotations

from typing import Any

from tests.oracle.attack import RAW, request, row

KEPT = request("PUT", "/_ingest/pipeline/twin", {"processors": [{"set": {"field": "a", "value": "one"}}]})
WRITTEN = request("PUT", "/books/_doc/piped?pipeline=twin", {"k": "a"})
SAFE = (200, 201, 400, 404, 409, 500)
# The victim's name, so that an error may quote what was sent without a dot in it.
VICTIMS = "'zenith' + '.books'"

# --- B49: where processors would take a document ----------------------------------------------------------

PROCESSORS: tuple[Any, ...] = (
    {"set": {"field": "_index", "value": RAW}},
    {"set": {"field": "_index", "value": "{{to}}"}},
    {"set": {"field": "_index", "copy_from": "to"}},
    {"set": {"field": "ctx._index", "value": RAW}},
    {"set": {"field": "_ingest._index", "value": RAW}},
    {"set": {"field": "{{at}}", "value": RAW}},
    {"append": {"field": "_index", "value": [RAW]}},
    {"remove": {"field": "_index"}},
    {"rename": {"field": "to", "target_field": "_index"}},
    {"convert": {"field": "to", "target_field": "_index", "type": "string"}},
    {"lowercase": {"field": "upper", "target_field": "_index"}},
    {"gsub": {"field": "_index", "pattern": "^.*$", "replacement": RAW}},
    {"grok": {"field": "to", "patterns": ["%{GREEDYDATA:_index}"]}},
    {"dissect": {"field": "to", "pattern": "%{_index}"}},
    {"json": {"field": "as_json", "add_to_root": True}},
    {"kv": {"field": "as_pairs", "field_split": " ", "value_split": "="}},
    {"csv": {"field": "to", "target_fields": ["_index"]}},
    {"join": {"field": "parts", "separator": ".", "target_field": "_index"}},
    {"dot_expander": {"field": "*"}},
    {"date_index_name": {"field": "day", "date_formats": ["yyyy"], "index_name_prefix": "zenith.", "date_rounding": "y"}},
    {"date_index_name": {"field": "day", "date_formats": ["yyyy"], "index_name_prefix": "{{to}}", "date_rounding": "y",
                         "index_name_format": "'zenith.books'"}},
    {"script": {"source": f"ctx._index = {VICTIMS}"}},
    {"script": {"source": f"ctx['_ind' + 'ex'] = {VICTIMS}"}},
    {"script": {"source": f"ctx.put('_index', {VICTIMS}); ctx._id = '1'; ctx._routing = 'z'"}},
    {"script": {"source": f"ctx._index = '<' + {VICTIMS} + '>'"}},
    {"script": {"source": f"ctx._index = '-*,' + {VICTIMS}"}},
    {"script": {"source": "ctx._index = null"}},
    {"script": {"source": "ctx._index = ['a', 'b']"}},
    {"script": {"source": "ctx.remove('_index')"}},
    {"script": {"source": "ctx.clear()"}},
    {"script": {"source": "params.p = ''; ctx.p = ''"}},
    {"script": {"id": "zenith.plus"}},
    {"pipeline": {"name": "zenith.stamp"}},
    {"pipeline": {"name": "zenith~stamp"}},
    {"pipeline": {"name": "{{pipe}}"}},
    {"foreach": {"field": "parts", "processor": {"set": {"field": "_index", "value": "zenith.{{_ingest._value}}"}}}},
    {"foreach": {"field": "parts", "processor": {"pipeline": {"name": "zenith.stamp"}}}},
    {"fail": {"message": "x", "on_failure": [{"set": {"field": "_index", "value": RAW}}]}},
    {"set": {"field": "_routing", "value": "zenith"}},
    {"set": {"field": "_version_type", "value": "external"}},
)  # fmt: skip
DOCUMENT = {
    "to": RAW, "upper": RAW.upper(), "at": "_index", "day": "2026", "parts": ["zenith", "books"], "pipe": "zenith.stamp",
    "as_json": '{"_index": "zenith.books"}', "as_pairs": "_index=zenith.books _id=1",
}  # fmt: skip
for processor in PROCESSORS:
    evil = request("PUT", "/_ingest/pipeline/evil", {"processors": [processor]})
    row("B49", evil, 200, 400, 404, twin=KEPT)
    written = request("PUT", "/books/_doc/b49?pipeline=evil", DOCUMENT)
    row("B49", written, *SAFE, twin=WRITTEN, twin_status=(200, 201), before=(evil, KEPT))
    stop = {"processors": [processor, {"terminate": {}}], "on_failure": [{"set": {"field": "_index", "value": RAW}}]}
    stopped = request("PUT", "/_ingest/pipeline/evil", stop)
    row("B49", stopped, 200, 400, 404, twin=KEPT)
    lines = ({"index": {"_index": "books", "_id": "b49", "pipeline": "evil"}}, DOCUMENT)
    row("B49", request("POST", "/_bulk", lines), 200, 400, twin=WRITTEN, twin_status=(200, 201), before=(stopped, KEPT))
    tried = {"pipeline": stop, "docs": [{"_index": RAW, "_source": DOCUMENT}]}
    row("B50", request("POST", "/_ingest/pipeline/_simulate", tried), 200, 400, 404, 500)

# --- B49: what reaches out, however deep it stands --------------------------------------------------------

OUT: tuple[dict[str, Any], ...] = (
    {"reroute": {"destination": RAW}}, {"reroute": {"dataset": "x", "namespace": "y"}}, {"enrich": {"policy_name": "p"}},
    {"inference": {"model_id": "m"}}, {"geoip": {"field": "ip"}}, {"ip_location": {"field": "ip"}},
    {"set_security_user": {"field": "u"}}, {"text_embedding": {"model_id": "m"}}, {"ml_inference": {"model_id": "m"}},
    {"user_agent": {"field": "a", "regex_file": "../../secret"}}, {"rero\u0075te": {}}, {"Reroute": {}}, {"": {}},
)  # fmt: skip
for out in OUT:
    for body in (
        {"processors": [out]},
        {"processors": [{"set": {"field": "a", "value": "one"}, **out}]},
        {"processors": [], "on_failure": [out]},
        {"processors": [{"fail": {"message": "x", "on_failure": [out]}}]},
        {"processors": [{"foreach": {"field": "a", "processor": out}}]},
        {"processors": [{"foreach": {"field": "a", "processor": {"foreach": {"field": "b", "processor": out}}}}]},
        {"processors": [{"fail": {"message": "x", "on_failure": [{"fail": {"message": "y", "on_failure": [out]}}]}}]},
    ):
        row("B49", request("PUT", "/_ingest/pipeline/evil", body), 400, twin=KEPT)
    row("B50", request("POST", "/_ingest/pipeline/_simulate", {"pipeline": {"processors": [out]}, "docs": [{}]}), 400, twin=KEPT)
for raw in (
    b'{"processors":[{"\\u0072eroute":{"destination":"zenith.books"}}]}',
    b'{"processors":[],"processors":[{"reroute":{}}]}',
    b'{"\\u0070rocessors":[{"reroute":{}}]}',
    b'{"processors":{"reroute":{}}}',
    b'{"processors":[[{"reroute":{}}]]}',
    b'{"processors":[{"foreach":{"field":"a","processor":[{"reroute":{}}]}}]}',
):
    row("B49", request("PUT", "/_ingest/pipeline/evil", raw), 400, twin=KEPT)

# --- names of pipelines -----------------------------------------------------------------------------------

NAMES = (
    "zenith.stamp", "zenith~stamp", "acme~twin", "*", "_all", "zenith.*", "*stamp", "a,zenith.stamp", "..%2Fzenith.stamp", "nope",
)  # fmt: skip
row("B49", request("DELETE", "/_ingest/pipeline/evil"), 200, 404, twin=KEPT)
for name in NAMES:
    row("W19", request("GET", f"/_ingest/pipeline/{name}"), 200, 400, 404, twin=KEPT)
    row("W19", request("PUT", f"/_ingest/pipeline/{name}", {"processors": []}), 200, 400, twin=KEPT)
    row("W19", request("DELETE", f"/_ingest/pipeline/{name}"), 200, 400, 404, twin=KEPT)
    row("W19", request("POST", f"/_ingest/pipeline/{name}/_simulate", {"docs": [{"_source": {}}]}), 200, 400, 404, twin=KEPT)
    row("W19", request("PUT", f"/books/_doc/w19?pipeline={name}", {"k": "a"}), *SAFE, twin=KEPT)
    settings = {"settings": {"index.default_pipeline": name, "index": {"final_pipeline": name}}}
    made = request("PUT", "/w19", settings)
    row("W19", made, 200, 400, twin=KEPT)
    row("W19", request("PUT", "/w19/_doc/1", DOCUMENT), *SAFE, twin=KEPT, before=(made,))
row("W19", request("GET", "/_ingest/pipeline"), 200, 404, twin=KEPT)
row("B50", request("POST", "/_ingest/_simulate", {"docs": [{"_index": RAW, "_source": {}}]}), 400, 404, 405, twin=KEPT)
row("B50", request("POST", f"/_ingest/{RAW}/_simulate", {"docs": [{"_source": {}}]}), 400, 404, 405, twin=KEPT)
row("W19", request("GET", "/_ingest/geoip/database"), 400, 404, 405, twin=KEPT)
