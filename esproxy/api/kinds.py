"""The vocabulary shared by the rule tables, the compiled core and the layouts.

A **kind** says what a position in a body, a path or a query string *means*, the same for everybody. What is
*done* there is a **binding** (``esproxy.tenancy.layouts``). The numbers are part of the rule-table format
(docs/design/rule-tables.md): append, never renumber.
"""

from enum import IntEnum


class Kind(IntEnum):
    """Meaning of a position. Kinds below 32 fit the core's action table."""

    COPY = 0  # an ordinary scalar: copied
    OPAQUE = 1  # any JSON: checked lexically, copied, never interpreted
    REFUSE = 2  # never let through; the state carries the reason
    INDEX = 3  # exactly one index, alias or data stream name
    EXPR = 4  # an index expression: names, commas, wildcards, exclusions, date math
    ALIAS = 5  # the name of an alias, where it cannot be an index
    ID = 6  # a document's id
    ROUTING = 7  # a routing value, or a comma list of them
    FIELD = 8  # a field name, path or pattern, with or without ^boost
    QUERY = 9  # the root of a query: an object that a layout may wrap
    DOC = 10  # a document
    LUCENE = 11  # query-string text
    SCRIPT = 12  # source text of a script
    CURSOR = 13  # scroll id, point in time id
    TASK = 14  # task id
    TEXT = 15  # free text that may quote names
    SETTINGS = 16  # an index settings object, dotted or nested
    PIPELINE = 17  # name of an ingest pipeline
    STORED_SCRIPT = 18  # name of a stored script or search template; in errors it can be a script's source
    SEARCH_PIPELINE = 19  # name of a search pipeline
    TEMPLATE = 20  # name of an index, component or legacy template
    UNKNOWN = 21  # key kind in answers: a key no definition knows: copied and counted
    TAGGED = 22  # key kind in answers: "type#name" as made by typed_keys; the tag picks the state
    SOURCE = 23  # like FIELD, but true and false are not names: a source filter
    KQL = 24  # Kibana query language text
    WRAPPER = 25  # base64 of a query
    NODE = 26  # id or name of a node
    ADDRESS = 27  # where a node listens
    HIDDEN = 28  # what an answer says of the operator's machines; also a key kind
    PATTERN = 29  # a pattern of index names that a template matches
    GROUP = 30  # a name under which nodes count searches


class Mark(IntEnum):
    """What a pass saw on its way, as bits of ``Pass.marks``; states name them, except META_FIELD."""

    AGGS = 1  # the body asks for aggregations: send typed_keys
    SUGGEST = 2  # the body asks for suggestions: send typed_keys
    META_FIELD = 4  # a FIELD value was ``_index``: bucket keys or sort values will hold physical names
    SCRIPT = 8  # the body holds a script
    RUNTIME = 16  # the body defines runtime or derived fields
    DOC = 32  # the body holds a document
    GLOBAL = 64  # the body has a global aggregation, which leaves the query's hits


class Op(IntEnum):
    """What a binding does at a kind; the core's whole repertoire."""

    COPY = 0
    PREFIX = 1  # insert bytes after the opening quote of a plain name; anything else is a STOP
    STRIP = 2  # remove bytes after the opening quote; a string that does not begin with them is a STOP
    STOP = 3  # hand (kind, raw token) to the resolver, put what it returns
    WRAP = 4  # put bytes before and after an object; other values are a STOP
    REFUSE = 5  # end the pass
    DROP = 6  # leave the key and its value out
    WATCH = 7  # copy; a string equal to the given bytes sets META_FIELD
    OMIT = 8  # a STOP; where the resolver answers nothing (b""), the member is left out, unless it is its object's first
