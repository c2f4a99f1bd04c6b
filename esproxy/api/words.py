"""Short names for the terms that rows of corrections are written in."""

from __future__ import annotations

from esproxy.api.kinds import Kind
from esproxy.api.schema import Leaf, Ref

INDEX, EXPR, ALIAS = Leaf(Kind.INDEX), Leaf(Kind.EXPR), Leaf(Kind.ALIAS)
ID, ROUTING, FIELD, SOURCE = Leaf(Kind.ID), Leaf(Kind.ROUTING), Leaf(Kind.FIELD), Leaf(Kind.SOURCE)
DOC, CURSOR, TEXT, SCRIPT, LUCENE, KQL = (Leaf(k) for k in (Kind.DOC, Kind.CURSOR, Kind.TEXT, Kind.SCRIPT, Kind.LUCENE, Kind.KQL))
STORED_SCRIPT, PIPELINE, UNKNOWN = Leaf(Kind.STORED_SCRIPT), Leaf(Kind.PIPELINE), Leaf(Kind.UNKNOWN)
GROUP = Leaf(Kind.GROUP)
TEMPLATE, PATTERN, SEARCH_PIPELINE = Leaf(Kind.TEMPLATE), Leaf(Kind.PATTERN), Leaf(Kind.SEARCH_PIPELINE)
NODE, ADDRESS, HIDDEN = Leaf(Kind.NODE), Leaf(Kind.ADDRESS), Leaf(Kind.HIDDEN)

DSL = "_types.query_dsl:"
AGG = "_types.aggregations:"
SEARCH = "_global.search._types:"
QUERY = Ref(DSL + "QueryContainer")
ERROR_CAUSE = Ref("_types:ErrorCause")
SHARDS = Ref("_types:ShardStatistics")

QUOTES = "text that quotes names"
