"""Calls that are answered differently though no deviation says so: defects that are known, small and not mended yet.

Each row: a scenario, the beginning of the call, the families of engines (``es``, ``os``) on which it differs, and what differs. The
oracle lets exactly these calls differ, and fails when a listed one no longer does.
"""

from __future__ import annotations

KNOWN: tuple[tuple[str, str, str, str], ...] = (
    ("admin.cat_text", "GET /_cat/indices?pri=true&v&h=index,pri.store.size,store.size", "es os", "a column that stands twice stands once"),
    ("admin.cat_json", "GET /_cat/indices?format=json&h=index&filter_path=*.index", "es os", "a node sends no body for a list filtered away"),
    ("admin.health", "GET /_cluster/health/logs-a,nope", "os", "the share of active shards when one of the indices is missing"),
    ("indices.dot_and_hidden", "PUT /.", "es", "the warning about a name that begins with a dot: under a prefix it does not"),
    ("indices.bad_names", "PUT /.", "es", "the warning about a name that begins with a dot, beside the error"),
    ("documents.reading", "GET /books/_doc/1?_source_include=k", "os", "a hint names a parameter of another engine"),
    ("documents.reading", "GET /books/_doc/1?fields=k", "es os", "a node words a parameter of the past"),
    ("documents.reading", "GET /_all/_doc/1", "os", "words for a cluster without indices"),
    ("documents.content", "PUT /books/_doc/7?source=", "es os", "words for a body in a parameter where none is read"),
    ("expressions.empty_cluster", "GET /_search?allow_no_indices=false", "es os", "words for a cluster without indices"),
    ("indices.bad_bodies", "PUT /x", "es os", "words for an unknown setting"),
    ("indices.bad_names", "GET /a:b", "es", "words for a remote cluster where none can be"),
    ("queries_term.metadata", "POST /left/_search", "es os", "an empty name compared with _index finds nothing and is no error"),
    ("queries_text.match_family", "POST /lib/_search", "os", "minimum_should_match of a legacy query cannot be an object"),
    ("queries_text.spans", "POST /lib/_search", "os", "words of an error about a span over _index"),
    ("root.front_page", "GET //", "es os", "the cluster's uuid, which the test masks for / alone"),
    ("root.front_page", "PUT /", "es os", "DELETE is not among the methods of /"),
    ("root.front_page", "POST /", "es os", "DELETE is not among the methods of /"),
    ("root.front_page", "DELETE /", "es os", "a method that / does not have"),
    ("targets.paths", "GET /ab//_search", "os", "how an error spells the path"),
    ("targets.paths", "GET //ab/_search", "os", "how an error spells the path"),
    ("targets.paths", "GET /%ZZ/_search", "es", "words for a broken escape"),
    ("targets.paths", "GET /ab%", "es", "words for a broken escape"),
    ("targets.parameters", "GET /ab/_search?sizze=1", "es os", "a hint that nodes do not give here"),
    ("targets.parameters", "GET /ab/_search?q=%", "es os", "words for a broken escape"),
    ("targets.media_types", "POST /ab/_search", "es os", "words for an empty content type"),
    ("targets.media_types", "GET /ab/_search?source=", "os", "a node fails with 500 without source_content_type"),
    ("updates.scripts", "POST /books/_update/1", "es os", "the position in a script that was rewritten"),
)


def known(scenario: str, call: str, family: str) -> int | None:
    """The row for a call, by its place in KNOWN."""
    for i, (name, start, families, _) in enumerate(KNOWN):
        if name == scenario and call.startswith(start) and family in families.split():
            return i
    return None
