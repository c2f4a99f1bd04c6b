"""Corrections for ``_reindex``, ``_rank_eval`` and ``_terms_enum``.

Rows as in ``overrides``, of which these are a part. A script of ``_reindex`` is read behind the pass, since it may write into
which index a document goes (``esproxy.procedures.reindex``); a template of ``_rank_eval`` once it is rendered.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind
from esproxy.api.patch import Also, Ensure, Is, Keys, New, QueryRoot, Row, Variant
from esproxy.api.schema import ANY, SCALAR, Dict, Leaf, Ref
from esproxy.api.words import DSL, ERROR_CAUSE, FIELD, GROUP, ID, PIPELINE, ROUTING, SEARCH, STORED_SCRIPT

_REINDEX, _RANK = "_global.reindex:", "_global.rank_eval:"
_LABEL = "a label in the body"
_RENDERED = "read once it has been rendered"
_OF_A_SEARCH = {
    **dict.fromkeys(
        ("explain", "from", "min_score", "profile", "seq_no_primary_term", "terminate_after", "timeout", "track_scores",
         "track_total_hits", "version"),
        SCALAR,
    ),
    "stats": GROUP,
    **dict.fromkeys(("docvalue_fields", "fields"), Ref(DSL + "FieldAndFormat")),
    "stored_fields": FIELD,
}  # fmt: skip

ROWS: list[Row] = [
    Variant("esproxy:ScriptOfReindex", "_types:Script", {"source": SCALAR}, "kept in the tenant's indices behind the pass"),
    Is(_REINDEX + "Request", "script", Ref("esproxy:ScriptOfReindex"), "it may write into which index a document goes"),
    Is(_REINDEX + "Source", "remote", Leaf(Kind.REFUSE, "there are no remote clusters for a tenant"), "reaches out"),
    Also(_REINDEX + "Source", _OF_A_SEARCH, "nodes read a whole search there"),
    Is(_REINDEX + "Destination", "pipeline", PIPELINE, "the definitions have a plain string"),
    QueryRoot(_REINDEX + "Source", "query", "selects what is copied"),
    Ensure(_REINDEX + "Source", ("query",), "no query is every document"),
    # rank evaluation
    Is(_RANK + "RankEvalRequestItem", "request", Ref(SEARCH + "SearchRequestBody"), "nodes read a whole search"),
    Is(_RANK + "RankEvalRequestItem", "params", ANY, _RENDERED),
    *(Is(_RANK + "RankEvalRequestItem", name, SCALAR, _LABEL) for name in ("id", "template_id")),
    *(Is(_RANK + name, "_id", ID, "the id of a document") for name in ("DocumentRating", "RankEvalHit", "UnratedDocument")),
    Also(_RANK + "RankEvalHit", {"_routing": ROUTING}, "nodes tell of it where a document was given one"),
    New("esproxy:TemplateToRank", {"id": STORED_SCRIPT, "source": ANY, "lang": SCALAR, "options": ANY}, _RENDERED),
    New("esproxy:TemplateItem", {"id": SCALAR, "template": Ref("esproxy:TemplateToRank")}, "nodes take them"),
    Also(_RANK + "Request", {"templates": Ref("esproxy:TemplateItem")}, "nodes take them"),
    Keys(_RANK + "Response", "details", Kind.COPY, _LABEL),
    New("esproxy:FailedRank", {"error": ERROR_CAUSE}, "the definitions do not say"),
    Is(_RANK + "Response", "failures", Dict(SCALAR, Ref("esproxy:FailedRank")), "the definitions do not say"),
    # terms
    QueryRoot("_global.terms_enum:Request", "index_filter", "decides which shards answer"),
]
