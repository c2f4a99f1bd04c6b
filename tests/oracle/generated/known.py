"""Causes of differences that generated calls have shown and that are not mended yet: defects, each with what is known of it.

A row: a pattern for the beginning of a cause as ``Judge.cause`` words it, with ``@`` and the call behind; the engines and the
layouts in which it shows, and what differs. A cause without a row is unknown, and fails the test. What is mended comes off this
list, and into ``tests/scenarios/generated.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.oracle.compare import Difference
from tests.oracle.placements import layouts_in
from tests.oracle.scenario import Engine

POOLS = "per-tenant shared"
EVERY = "dedicated per-tenant shared"
SORTED = r"(msearch body/responses/#|search body)/_shards/failures"
KNOWN: tuple[tuple[str, str, str, str], ...] = (
    # data
    (r"indices\.get(_mapping|_field_mapping)? body/[^:]*/(properties|mappings)/[^:]*: .* → <missing>", "es os", "shared",
     "fields that a script brings to a document are kept in it and not in the mapping, so they are not found by a search"),
    (r"indices\.get(_mapping|_field_mapping)? body/[^:]*/(properties|mappings)/[^:]*: <missing> →", "es os", "shared",
     "fields of a document that the node refuses for another of its fields stay in the mapping"),
    (r"bulk body/items/#/index/error/reason: failed to parse field #", "es os", "shared",
     "what two documents of one bulk make of a new field: the other's words about the second"),
    (
        r"count body/count: # → # @ .*[?&]q=[^ ]*_index:.*analyzer=",
        "es os",
        POOLS,
        "a name of an index in a query string that is analyzed: the analyzer cuts the physical name, so nothing is found",
    ),
    (
        r"search body/aggregations/…/value: # → # @ .*cardinality[^}]*_index",
        "es os",
        POOLS,
        "how many indices there are, by `cardinality` of `_index`: those in one physical index count once",
    ),
    # statuses
    (r"search status: # → # \(the node's answer could not be understood\)", "es os", EVERY,
     "ranges with the same key make an answer with duplicate keys, which is not passed on"),
    (r"search status: # → # \(a document in a query is not available for an index with renamed fields\)", "es os", POOLS,
     "`more_like_this` of a document in the query, for an index with renamed fields: refused"),
    (r"search status: # → # \(No mapping found for # in order to sort on\) \(Cannot fetch values for internal field", "os",
     POOLS, "marks in the field `_index` are an error, where on a node no document came to be marked"),
    (r"search status: # → # \((Input string is null|features that prevent cachability)", "os", "per-tenant",
     "suggestions that a node fails to make: answered"),
    (r"cat\.\w+ status: # → # \(request # contains unrecognized parameter", "es os", POOLS,
     "`help` about a table of some indices: answered, where a node refuses it"),
    (r"render_search_template status: # → # \(the node's answer could not be understood\)", "es os", EVERY,
     "a template that makes no JSON: its answer is none either, and is not passed on"),
    (r"rank_eval body/error/root_cause/#/type: compile error", "es os", EVERY,
     "a stored script that is no template, of rated searches: refused in the words about its place"),
    (
        r"search status: # → # \(routing is required for #/#\) @ .*more_like_this.*_index",
        "es",
        POOLS,
        "`more_like_this` a document of another index, with a routing, beside one in the query: refused",
    ),
    (
        r"search headers/warning: .* → <missing> @ .*ignore_throttled.*scroll",
        "es",
        POOLS,
        "the warning about a parameter of a scroll that is no longer wanted",
    ),
    # orders, and which of several faults is told
    (rf"{SORTED}(/#/(index|reason/reason|reason/\w+))?:", "es os", POOLS,
     "which failure of several shards is told for an index, and their order"),
    (r"update_by_query body/error/", "es os", POOLS, "a script that fails in several indices: in which of them first"),
    (r"indices\.put_mapping body/error/root_cause/#/reason: Mapper for #", "es os", POOLS,
     "which of several faults of a mapping is told, in the order of a hash"),
    (r"rank_eval body/details/\w+/unrated_docs/#/_index", "es os", POOLS, "the order of equal hits"),
    (r"indices\.validate_query body/explanations", "es os", POOLS,
     "explanations of an index with several shards, and the filter of an alias, which is not told"),
    (r"explain body/explanation/description: Failure to meet condition", "es os", POOLS,
     "the filter of an alias is not told by an explanation"),
    (r"search body/error/failed_shards/#/index:", "es os", POOLS, "the order in which an error tells of failed shards"),
    (r"search body/aggregations/…/meta: <missing> → \{\}", "os", "mixed", "the empty `meta` of aggregations over both"),
    # figures
    (r"search body/aggregations/…/(bg_count|score|buckets)", "es os", POOLS,
     "backgrounds of significant terms leave out documents within documents, which no filter for a scope reaches"),
    (r"search body/aggregations/…/(mean|variance|skewness|kurtosis|name|covariance|correlation)\b", "es os", POOLS,
     "`matrix_stats`: the order of its fields by a hash of physical names, and rounding by the order of documents"),
    (r"search body/aggregations/…/meta: \{\} → <missing>", "os", POOLS,
     "the empty `meta` of aggregations that a shard has rewritten, within a query that is always true or false"),
    (r"search body/hits/max_score: #\.# → None", "os", POOLS, "no hits of a sorted search in which shards failed: 0.0 there"),
    (r"search body/hits/max_score: #\.# → #\.#", "es os", "per-tenant",
     "`more_like_this` weighs terms by the number of all documents of the physical index"),
    (r"search body/suggest/\w+/#/options/#/score", "es os", "per-tenant",
     "phrases are weighed by the number of all documents of the physical index"),
    (r"cluster\.health body/active_shards_percent_as_number", "es os", POOLS, "copies of indices beside each other"),
    (r"cluster\.state body/metadata/indices/[\w-]+/mapping_version", "es os", POOLS, "is always 1"),
    (r"field_caps body/fields/(_parent_join|\w+#)", "es os", POOLS, "`_parent_join` of an index with a join is not told"),
    # words
    (r"search body/error/failed_shards/#/reason/caused_by/reason: cannot resolve symbol #", "os", "per-tenant",
     "how far a path in a document is unknown to a script"),
    (r"render_search_template body/error/root_cause/#/script", "es os", POOLS,
     "a stored script that is no template: its source is told and not its name"),
    (r"bulk body/items/#/\w+: .* → <missing>", "es os", POOLS, "a pipeline that is not there, of a record of several"),
    (r"search body/hits/hits: ", "es os", POOLS, "values of a sort by `_doc` behind one by `_score`"),
)  # fmt: skip


def unknown(causes: Mapping[str, list[Difference]], placement: str, engine: Engine) -> dict[str, list[Difference]]:
    """Those that no row is about."""
    layouts = {placement, *layouts_in(placement)}
    rows = [
        re.compile(pattern)
        for pattern, engines, where, _ in KNOWN
        if engine.is_one_of(engines.split()) and not layouts.isdisjoint(where.split())
    ]

    def told(cause: str, found: Difference) -> bool:
        return any(row.match(f"{cause} @ {found.call.line()}") for row in rows)

    left = {cause: [one for one in found if not told(cause, one)] for cause, found in causes.items()}
    return {cause: found for cause, found in left.items() if found}
