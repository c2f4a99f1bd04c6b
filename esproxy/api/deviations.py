"""What a tenant sees differently from a cluster of its own: the whole list, by layout.

The table is closed: the differential oracle compares everything that no row names, `docs/deviations.md` is made of it
(``python -m esproxy.api.deviations``), and a new row needs a call on a bare node that shows why equality is
impossible. At most 5 rows for `dedicated`, 15 for `per-tenant`, 25 for `shared`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LIMITS = {"dedicated": 5, "per-tenant": 15, "shared": 25}
EVERY = tuple(LIMITS)
POOLS = ("per-tenant", "shared")
POSITION = r"\[?\b\d+:\d+\]?|line: \d+, column: \d+|\[line=\d+; col=\d+\]|byte offset: #\d+"
# A score that is no whole number. Whole ones are made by constants, and are compared.
STATISTICS = r"\d+\.\d*[1-9]\d*(?:E-?\d+)?"
MEASURED = (
    "store", "indexing", "get", "merges", "refresh", "flush", "warmer", "query_cache", "fielddata", "completion",
    "segments", "translog", "request_cache", "bulk", "commit", "seq_no", "retention_leases", "mappings", "file_sizes",
    "index/size", "index/files", "search/request",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Deviation:
    """One row. The first seven columns are for readers, the rest for the oracle.

    ``layouts``: where it holds; it counts against the limit of each. ``refused``: the status with which the proxy answers
    where the node may do something else; where the node answers with the same, and there are ``masks``, those alone hold.
    ``masks``: paths in ``status|headers|body/…`` of an answer, each with the regular expression of the text that may differ
    there (empty: the whole value; ``absent``: whether it is there at all). Where it is ``unordered:KEY``, the order of a list of
    hits, told apart by KEY, is not compared; with ``ties:KEY`` only of those with equal values of sort, or scores; with
    ``scored:KEY`` only of those that statistics have scored. ``everywhere``: holds in every call; else only in calls of scenarios
    that name the row.
    """

    layouts: tuple[str, ...]
    name: str
    construct: str
    differs: str
    reason: str
    way_out: str
    still: str
    refused: str = ""
    masks: tuple[tuple[str, str], ...] = ()
    everywhere: bool = False


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        layouts=("dedicated",),
        name="name-length",
        construct=(
            "names of indices and aliases; of stored scripts, which the cluster keeps under the prefix in every layout; templates"
            " for all names (`*`)"
        ),
        differs=(
            "a name may be as long as 255 bytes, a script's 256, less the tenant's name and the separator; a template for all"
            " names applies to hidden indices, too"
        ),
        reason=(
            "the physical name holds the tenant's prefix, and so does the pattern of a template, which is not for all names of"
            " the cluster; the cluster's own limit is 255 bytes, and errors cut a script's"
        ),
        way_out="shorter tenant names; templates for the names that are meant",
        still="the answer is the cluster's own for a name that is too long; which templates apply to all indices but hidden ones",
        refused="400",
        masks=(
            ("body/*/mappings/**", ""),
            ("headers/warning/*", ""),  # that several legacy templates match
            ("body/error/**/reason", r"\d+ > 255"),
        ),
    ),
    Deviation(
        layouts=EVERY,
        name="error-position",
        construct="errors about a body that names an index, or about a document in an object of `per-tenant`",
        differs="line and column stand where the fault is in the body that the cluster got",
        reason="a body whose names were rewritten, or that has an object around it, is longer than the client's",
        way_out="none needed: the text beside the position says what is wrong",
        still="everything but the two numbers",
        masks=(
            ("body/error/**/line", ""),
            ("body/error/**/col", ""),
            *((path, POSITION) for path in ("body/error/**", "body/items/*/*/error/**")),
        ),
        everywhere=True,
    ),
    Deviation(
        layouts=EVERY,
        name="strict-body",
        construct="bodies that can name an index: everything but documents",
        differs="JSON outside RFC 8259 and keys that no definition knows are refused, many of them in words of the proxy's own;"
        " of a bulk past the window, records before such a line have been taken (`x-esproxy-records-taken` tells how many)",
        reason="what the proxy understands and what the cluster parses must be the same; unknown keys could name an index; a bulk"
        " past the window is larger than a node takes",
        way_out="send JSON and documented keys, or bulks within `limits.window`",
        still="the answer is a 400 in Elasticsearch's shape",
        refused="400",
    ),
    Deviation(
        layouts=EVERY,
        name="random-score",
        construct="random_score",
        differs="the scores that a seed makes, and the order they give",
        reason="the cluster mixes the hash of the physical name into the seed",
        way_out="none needed: they are random; the same seed still gives the same scores each time",
        still="which documents match, and everything but scores and order",
        masks=(("body/hits/max_score", ""), ("body/hits/hits/*/_score", ""), ("body/hits/hits", "unordered:_id")),
    ),
    Deviation(
        layouts=EVERY,
        name="outside",
        construct="what reaches outside the tenant: remote clusters in index expressions (`a:b`), fields of type `percolator`,"
        " settings of the cluster, and settings of an index that choose its nodes",
        differs="every remote name is not found, patterns included; the field type is refused; the settings are those of a"
        " cluster where none has been set, and none can be; no node but the tenant's one can be chosen",
        reason=(
            "on a node a remote pattern without a match selects all local indices, other tenants' among them; and a node looks "
            "up what a query in a document names, in any index, while it indexes the document; settings of the"
            " cluster are everybody's, and so are its nodes"
        ),
        way_out="name the indices without a cluster; keep queries outside of documents",
        still="the answer is a 404 or 400 in Elasticsearch's shape",
        refused="404|400",
    ),
    Deviation(
        layouts=("shared",),
        name="scores",
        construct="scores of text and terms, and explanations of them",
        differs="the scores, the order that they alone give, and the figures and clauses that explain them",
        reason="the cluster counts over all documents of the physical index how rare a term is and how long a field",
        way_out="sort by a field, or place the index in another layout",
        still="which documents match, how many, scores of constant queries, the order of everything that is sorted",
        masks=(
            ("body/**/max_score", STATISTICS),
            ("body/**/_score", STATISTICS),
            ("body/**/matched_queries/*", STATISTICS),
            ("body/**/_explanation/**", ""),
            ("body/explanation/**", ""),
            ("body/**/hits", "scored:_id,_index"),
        ),
        everywhere=True,
    ),
    Deviation(
        layouts=POOLS,
        name="equal-hits",
        construct="hits with equal values of sort, or equal scores",
        differs="their order among themselves",
        reason="the cluster gives it by shards and segments, and those are the pool's",
        way_out="sort by one more field",
        still="which documents are found, and the order of all others",
        masks=(("body/**/hits", "ties:_id,_index"),),
        everywhere=True,
    ),
    Deviation(
        layouts=("per-tenant",),
        name="across",
        construct=(
            "aggregations, collapse, suggestions and what else is computed over hits of several indices; scrolls over several"
            " with scripts, explanations, or an order by other than numbers, dates and keywords; `more_like_this` a document of"
            " another index"
        ),
        differs="refused where the indices have to be asked one by one: aggregations where several have values of a field",
        reason="the fields of each index lie in an object of its own; an aggregation over two fields is another than over one",
        way_out="name the indices one by one, or place them in another layout",
        still="the answer is a 400 in Elasticsearch's shape; searches, counts and scrolls over several indices are equal",
        refused="400",
    ),
    Deviation(
        layouts=("per-tenant",),
        name="root-parameters",
        construct="parameters at the root of a mapping but `dynamic`, `enabled` and `subobjects`, put to an index that exists",
        differs="refused, for an index that was made without any",
        reason="they apply to the whole physical index, where it is one of several objects; an index made with them is alone",
        way_out="declare them when the index is created",
        still="the answer is a 400 in Elasticsearch's shape; what was refused is not in the mapping afterwards",
        refused="400",
        masks=(("body/*/mappings/**", ""),),
    ),
    Deviation(
        layouts=POOLS,
        name="search-phases",
        construct=(
            "how a node went about a search: `profile`; the phases of a search over several indices, and on how many shards it"
            " failed; `terminated_early` in one for no hits, on OpenSearch"
        ),
        differs=(
            "a profile tells of no query, and how aggregations went through the segments of the pool; the number of partial"
            " reductions; the phase that an error is told of; that a total was taken from figures of the whole index is not"
        ),
        reason=(
            "a node draws a query with the filter in it, and with patterns as the terms that the whole physical index has for"
            " them, which may be others'; fewer shards are searched at once, or each index by itself; a filter has to look at"
            " documents"
        ),
        way_out="none needed; for the profile of a query an index that is alone, or another layout",
        still="everything that was found or went wrong; in an index that is alone profiles are as on a node",
        masks=(
            ("body/num_reduce_phases", ""),
            ("body/_shards/failed", r"[1-9]\d*"),
            ("body/responses/*/_shards/failed", r"[1-9]\d*"),
            ("body/error/phase", ""),
            ("body/responses/*/error/phase", ""),
            ("body/terminated_early", "absent"),
            ("body/responses/*/terminated_early", "absent"),
            ("body/**/profile/shards/*/searches/*/query", ""),
            ("body/**/profile/shards/*/aggregations/**", ""),
        ),
        everywhere=True,
    ),
    Deviation(
        layouts=POOLS,
        name="script-position",
        construct="errors of scripts that name fields or read an index's name, an id or a routing",
        differs="where in the script the fault is: offsets, and the mark below the line",
        reason="names of fields are longer in the script that the node runs, and metadata is read through functions",
        way_out="none needed: the line itself is shown",
        still="everything else of the error, the script and its line among it",
        masks=(("body/**/position/*", ""), ("body/**/script_stack/*", r" *\^---- HERE")),
        everywhere=True,
    ),
    Deviation(
        layouts=("per-tenant",),
        name="others-warnings",
        construct="warnings of Elasticsearch about parameters of a mapping that are no longer wanted",
        differs="one about a field of another index of the same tenant may come with a write that adds a field",
        reason="the cluster reads the mapping of the whole physical index then, and its warnings do not say whose field it is",
        way_out="mend the mapping that the warning is about",
        still="all headers but warnings",
        masks=(("headers/warning", ""),),
        everywhere=True,
    ),
    Deviation(
        layouts=POOLS,
        name="declared-once",
        construct=(
            "settings that bound what a request may ask for (`index.max_…`) or decide what answers hold, `runtime` and `derived`"
            " fields of a mapping, and `copy_to` a field that it does not have, for an index that exists; fields of type"
            " `lookup`; `runtime` and `derived` fields whose name begins with an underscore"
        ),
        differs="they are refused; the others are declared when the index is created, fields also in a request",
        reason=(
            "the cluster has them once for the physical index, which other indices share (one made with them has its own); and it"
            " looks values up in a whole physical index without a filter, so others would show; a field that is made hides the"
            " meta field of its name, and filters are on those"
        ),
        way_out="declare them at once; look documents up with a second search, or place the index in another layout",
        still="the answer is a 400 in Elasticsearch's shape",
        refused="400",
    ),
    Deviation(
        layouts=POOLS,
        name="measures",
        construct=(
            "figures that measure a physical index, in `_cat` tables, `_stats`, `_segments` and `_recovery`: sizes, segments,"
            " deleted documents, operations, searches, caches, and their times"
        ),
        differs=(
            "what follows from the index's own documents and mapping is told by a fixed measure: sizes, one segment for each"
            " shard with documents, memory of fields as if they were loaded; searches are counted that name a group (`stats`);"
            " all others read as zero"
        ),
        reason=(
            "the cluster keeps them by shard and segment, in which several indices lie; they, and any share of them, would tell"
            " of what others write and ask"
        ),
        way_out="place an index that is measured in another layout",
        still="names, health, state, shards, copies, counts of documents, dates; which figures there are and how they look",
        masks=(
            *((f"body/*/{column}", "") for column in ("docs.deleted", "dd", "store.size", "pri.store.size", "dataset.size")),
            ("body", r" *(?<![\w.-])(\d+(\.\d+)?(b|kb|mb|gb|ms|s|micros)?|<size>|true|false)(?=\s|$)"),
            *((f"body/**/{metric}/**", "") for metric in MEASURED),
            ("body/**/search/*_*", ""),  # what searches of a group did is compared
            ("body/**/docs/deleted", ""),
            ("body/size_in_bytes", ""),
            ("body/indices/*/size_in_bytes", ""),
            ("body/**/docs/total_size*", ""),
            ("body/**/shard_stats/total_count", ""),
            ("body/**/num_*_segments", ""),
            *((f"body/*/{column}", "") for column in ("generation", "docs.deleted", "committed", "compound", "segment")),
        ),
    ),
    Deviation(
        layouts=POOLS,
        name="doc-order",
        construct="sort by `_doc`",
        differs="the values, and the order that they give",
        reason="they are the places of documents in the segments of the pool",
        way_out="sort by a field",
        still="which documents are found, and the order that what stands before `_doc` gives",
        masks=(("body/hits/hits", "unordered:_id,_index"), ("body/hits/hits/*/sort/*", "")),
    ),
    Deviation(
        layouts=POOLS,
        name="document-bytes",
        construct="documents that are no JSON in UTF-8: broken ones; comments, a byte order mark, halves of characters",
        differs="they are refused in the proxy's words; a node takes comments and marks, and words what is broken in its own way",
        reason=(
            "a document is read to find its fields, or put into an object, and two parsers do not make the same of such bytes;"
            " a node that reads on until it stumbles tells of fields that it met, and those may be others'"
        ),
        way_out="send JSON as it is defined",
        still="the answer is a 400 in Elasticsearch's shape; in a bulk it is that item's, and the others go on",
        refused="400",
        masks=(("body/error/**", ""), ("body/items/*/*/error/**", "")),
    ),
    Deviation(
        layouts=POOLS,
        name="fields-at-large",
        construct=(
            "scripts that hand all fields on (`def d = doc`, `params` as a whole), and `kql`; in `shared` aggregations, collapse,"
            " cursors over several indices of which not all have a field that no alias can stand for (an object, what is in a"
            " nested one, a key of `flattened`), or that one has which is alone in its pool"
        ),
        differs="they are refused; the latter only where others in the pool of an index have a field of that name",
        reason=(
            "the cluster gives a script every field of the physical index, which it cannot list and which has other names there,"
            " and knows one meaning of a name for all indices of a request: other tenants' fields would show, their types and"
            " formats"
        ),
        way_out="write `doc[name]` where the value is needed; name the indices one by one; place the index in another layout",
        still="the answer is a 400 in Elasticsearch's shape; in an index that is alone they are as on a node",
        refused="400",
    ),
    Deviation(
        layouts=("shared",),
        name="pool-terms",
        construct=(
            "`suggest`, `rewrite` of a validation, and `index_filter` of a list of terms, where others have documents in the same"
            " physical index"
        ),
        differs="they are refused",
        reason="they are made of the terms and values of the whole physical index, whatever the query",
        way_out="declare a field of type completion when the index is created, or analysis of its own; or another layout",
        still="the answer is a 400 in Elasticsearch's shape; in an index that is alone they are as on a node",
        refused="400",
    ),
    Deviation(
        layouts=("shared",),
        name="term-figures",
        construct="what term vectors tell of more than a document, where others have documents in the same physical index",
        differs=(
            "they come without the figures of their fields, which nodes add unasked; `term_statistics`, `field_statistics` and"
            " `filter` are refused"
        ),
        reason="they are counted over the whole physical index",
        way_out="give the index analysis of its own when it is created; or another layout",
        still="the terms of a document with their frequencies and positions; in an index that is alone, everything",
        refused="400",
        masks=(("body/**/field_statistics", "absent"),),
    ),
)


def page() -> str:
    """``docs/deviations.md``."""
    lines = [
        "# Deviations",
        "",
        "<!-- made by `python -m esproxy.api.deviations > docs/deviations.md` from esproxy/api/deviations.py -->",
        "",
        "What a tenant sees differently from a cluster of its own. Whatever is not in this list is equal, or a defect: the",
        "tests compare every answer with a bare node's and except only these rows.",
    ]
    counts = [f"{len(rows_of([layout]))} of at most {limit} in `{layout}`" for layout, limit in LIMITS.items()]
    lines += ["", f"There are {', '.join(counts)}.", ""]
    lines += ["| layouts | construct | what differs | reason | way out | still compared |", "|---|---|---|---|---|---|"]
    for row in DEVIATIONS:
        where = "all" if row.layouts == EVERY else ", ".join(f"`{layout}`" for layout in row.layouts)
        lines.append(f"| {where} | {row.construct} | {row.differs} | {row.reason} | {row.way_out} | {row.still} |")
    return "\n".join(lines) + "\n"


def rows_of(layouts: Iterable[str]) -> list[Deviation]:
    """The rows that hold where indices lie in these layouts."""
    return [row for row in DEVIATIONS if not set(row.layouts).isdisjoint(layouts)]


if __name__ == "__main__":
    print(page(), end="")
