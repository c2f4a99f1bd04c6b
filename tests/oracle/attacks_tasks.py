"""Attacks by tasks: what others have under way is not seen, told of, slowed down or cancelled. Rows of ``attack``."""

from __future__ import annotations

from tests.oracle.attack import request, row

QUERY = {"query": {"match_none": {}}}
LIST = request("GET", "/_tasks")
STARTED = request("POST", "/books/_delete_by_query?wait_for_completion=false", QUERY)
NODE = "qnTZttHBSNKrSUiLn6anXx"  # reads like the id of a node
SEALED = "c2VhbGVkLWJ5LXNvbWVib2R5LWVsc2UtYnV0LW5vdC1ieS11cw=="
IDS = (
    f"{NODE}:1", f"{NODE}:2", f"{SEALED}:1", f"{SEALED}:-1", "zenith/1:1", "zenith%2F:1", "*:1", "_all:1", "_local:1", ":1", "1:",
)  # fmt: skip

for options in (
    "", "?detailed", "?detailed=true&group_by=none", "?group_by=parents&detailed", "?actions=*", "?actions=indices:*&detailed",
    "?nodes=*", "?nodes=_all", f"?nodes={NODE}", "?nodes=_local&detailed", f"?parent_task_id={NODE}:1", "?node_id=_all",
    f"?parent_task={NODE}:1", "?group_by=none&wait_for_completion=true&timeout=1s&actions=nope",
):  # fmt: skip
    row("E08", request("GET", f"/_tasks{options}", headers={"x-opaque-id": "zenith/x"}), 200, 400, twin=LIST)
    row("E08", request("POST", f"/_tasks/_cancel{options}"), 200, 400, twin=STARTED)
for id in IDS:
    row("E08", request("GET", f"/_tasks/{id}"), 400, 404, 405, twin=STARTED)
    row("E08", request("GET", f"/_tasks/{id}?wait_for_completion=true"), 400, 404, 405, twin=STARTED)
    row("E08", request("POST", f"/_tasks/{id}/_cancel"), 200, 400, 404, 405, twin=STARTED)
    for call in ("_update_by_query", "_delete_by_query"):
        row("E08", request("POST", f"/{call}/{id}/_rethrottle?requests_per_second=-1"), 200, 400, 404, 405, twin=STARTED)
for target in ("/.tasks/_search", "/.tasks/_doc/1", "/_tasks/../.tasks/_search", "/_tasks/_all", "/_tasks/x/_cancel/y"):
    row("E08", request("GET", target), 200, 400, 404, 405, twin=LIST)
for opaque in ("zenith/", "/zenith/", "../zenith/x", "zenith/x, acme/y"):  # before which the proxy writes its own
    started = request("POST", "/books/_delete_by_query?wait_for_completion=false", QUERY, {"x-opaque-id": opaque})
    row("E08", started, 200, twin=STARTED)
row("E08", request("POST", "/zenith.books/_delete_by_query?wait_for_completion=false", QUERY), 200, 404, twin=STARTED)
