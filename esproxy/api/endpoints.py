"""Which endpoints the tables hold, and what no definition says of their parameters.

Widening the API starts here: a name more in ``ENDPOINTS``, then the generator names every position that needs a verdict.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind

ENDPOINTS = (
    # documents and search
    "info", "ping", "index", "create", "get", "exists", "get_source", "exists_source", "update", "delete", "bulk", "mget", "search", "count",
    "msearch", "scroll", "clear_scroll", "open_point_in_time", "close_point_in_time",
    "delete_by_query", "update_by_query", "field_caps", "explain",
    # indices
    "indices.create", "indices.delete", "indices.exists", "indices.get", "indices.get_mapping", "indices.put_mapping", "indices.get_field_mapping",
    "indices.refresh", "indices.flush", "indices.get_settings", "indices.put_settings", "indices.validate_query",
    "indices.put_alias", "indices.get_alias", "indices.exists_alias", "indices.delete_alias", "indices.update_aliases",
    # cluster and cat
    "cluster.health", "cat.indices", "cat.count", "cat.health",
)  # fmt: skip

FRAMING = {"bulk": "bulk", "msearch": "msearch"}

# (endpoint or "*", parameter) → kind. The definitions type these as strings, or as types that mean different things in different places.
PATH = {
    ("*", "id"): Kind.ID,
    ("indices.put_alias", "name"): Kind.ALIAS,
    ("indices.get_alias", "name"): Kind.ALIAS,
    ("indices.exists_alias", "name"): Kind.ALIAS,
    ("indices.delete_alias", "name"): Kind.ALIAS,
    ("indices.get_settings", "name"): Kind.COPY,  # names of settings
}
QUERY = {
    ("*", "q"): Kind.LUCENE,
    ("*", "df"): Kind.FIELD,
    ("*", "sort"): Kind.FIELD,  # a list of field[:order]
    ("*", "pipeline"): Kind.PIPELINE,
    ("*", "s"): Kind.COPY,  # columns to sort a cat table by
    ("*", "h"): Kind.COPY,  # columns of a cat table
}

# Parameters that nodes accept beside the defined ones: endpoint → names. Tried on running nodes.
EXTRA: dict[str, dict[str, Kind]] = {"*": {}}

# A body in the query string. Nodes read it where there is no body; two places for one thing is how filters are passed by.
NO_BODY_IN_URL = "a body is sent as a body, not in the parameters [source] and [source_content_type]"
REFUSED_WITH_BODY = {"source": NO_BODY_IN_URL, "source_content_type": NO_BODY_IN_URL}
