"""``_cat/aliases`` for a tenant in pools, whose aliases no node knows: the node is asked for the table of an alias that is not
there, so that it judges the parameters and names the columns, and the rows are the directory's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from esproxy.catalogue.documents import Directory
from esproxy.catalogue.store import Steps
from esproxy.exchange import Large, Reply
from esproxy.pools.aliases import aliases_of, chosen
from esproxy.pools.cat import Rows, table_headers_of, table_reply
from esproxy.pools.cat_figures import sort_rows
from esproxy.pools.pooled import NOT_THERE, Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.rewriting.query import physical_query
from esproxy.tenancy.expressions import Options

COLUMNS = {
    "alias": ("alias", "a"),
    "index": ("index", "i", "idx"),
    "filter": ("filter", "f", "fi"),
    "routing.index": ("routing.index", "ri", "routingIndex"),
    "routing.search": ("routing.search", "rs", "routingSearch"),
    "is_write_index": ("is_write_index", "w", "isWriteIndex"),
}


def aliases(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    query = physical_query(plan, [], None)
    plan.drawing = {key: plan.query[key] for key in ("format", "v") if key in plan.query}
    header = query.get("v", "false") != "false"
    asked = {name: value for name, value in query.items() if name != "format"}
    if query.get("help", "false") != "false":
        told = yield request.send("GET", ["_cat", "aliases"], {"help": "true"})
        return Reply(told.status, table_headers_of(request, told), told.body)
    told = yield request.send("GET", ["_cat", "aliases", NOT_THERE], asked | {"v": "true", "format": "text"})
    if told.status >= 400:
        return node_reply(request, told)
    options = replace(Options.of(plan.query, closed=True, expand="all"), ignore_unavailable=True)
    found, _ = yield from request.resolved("_all", options, stay=True)
    rows = _rows(request.seen, found.found, request.parts.get("name"))
    sort_rows(rows, [part for part in query.get("s", "").split(",") if part])
    columns = told.body.decode().split()
    shown = [{column: row[column] for column in columns} for row in rows]
    return table_reply(request, shown, columns, told, header)


def _rows(directory: Directory, indices: Iterable[str], named: str | None) -> Rows:
    """Every alias with each of its indices that are among these; a column under each of its names."""
    patterns = [] if named in (None, "_all", "*") else str(named).split(",")
    rows = []
    for index in sorted(indices):
        own = aliases_of(directory, index)
        for alias in chosen(patterns, list(own)) if patterns else own:
            cells = {column: cell for name, cell in _cells(alias, index, own[alias]).items() for column in COLUMNS[name]}
            rows.append(cells)
    return sorted(rows, key=lambda row: row["alias"])


def _cells(alias: str, index: str, properties: dict[str, Any]) -> dict[str, str]:
    writes = properties.get("is_write_index")
    return {
        "alias": alias,
        "index": index,
        "filter": "*" if "filter" in properties else "-",
        "routing.index": properties.get("index_routing", "-"),
        "routing.search": properties.get("search_routing", "-"),
        "is_write_index": "-" if writes is None else str(writes).lower(),
    }
