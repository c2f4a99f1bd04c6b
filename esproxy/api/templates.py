"""Corrections for what makes indices of something else: templates, rollover, resizing.

Rows as in ``overrides``, of which these are a part. Names of templates are the tenant's own namespace; what a template matches
are patterns of index names (``PATTERN``), which take the tenant's prefix each.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind
from esproxy.api.patch import Also, Is, Keys, Row
from esproxy.api.schema import SCALAR, Leaf, Ref
from esproxy.api.words import INDEX, PATTERN, TEMPLATE

_NO_STREAMS = Leaf(Kind.REFUSE, "data streams are not available yet")
_NAME = "the name of a template"
_PATTERNS = "patterns of index names"
_SETTINGS = Ref("indices._types:IndexSettings")
_ALIAS_KEYS = "keys are names of aliases"

VERDICTS: list[Row] = [
    *(
        Is(type_, prop, TEMPLATE, _NAME)
        for type_, prop in (
            ("indices.put_index_template:Request", "composed_of"),
            ("indices.put_index_template:Request", "ignore_missing_component_templates"),
            ("indices.simulate_template:Request", "composed_of"),
            ("indices.simulate_template:Request", "ignore_missing_component_templates"),
            ("indices._types:IndexTemplate", "composed_of"),
            ("indices._types:IndexTemplate", "ignore_missing_component_templates"),
            ("indices._types:IndexTemplateWithRollover", "composed_of"),
            ("indices._types:IndexTemplateWithRollover", "ignore_missing_component_templates"),
            ("indices.get_index_template:IndexTemplateItem", "name"),
            ("indices.simulate_template:Overlapping", "name"),
            ("cluster._types:ComponentTemplate", "name"),
        )
    ),
    *(
        Is(type_, "index_patterns", PATTERN, _PATTERNS)
        for type_ in (
            "indices.put_index_template:Request",
            "indices.simulate_template:Request",
            "indices._types:IndexTemplate",
            "indices._types:IndexTemplateWithRollover",
            "indices.simulate_template:Overlapping",
            "indices.put_template:Request",
            "indices._types:TemplateMapping",
        )
    ),
    *(
        Is(type_, "data_stream", _NO_STREAMS, "an index that a document makes would be a data stream")
        for type_ in ("indices.put_index_template:Request", "indices.simulate_template:Request")
    ),
    Keys("indices.get_template:Response", None, Kind.TEMPLATE, "keys are names of templates"),
    *(
        Keys(type_, "aliases", Kind.ALIAS, _ALIAS_KEYS)
        for type_ in (
            "indices.put_index_template:IndexTemplateMapping",
            "indices._types:IndexTemplateSummary",
            "indices._types:IndexTemplateSummaryWithRollover",
            "cluster._types:ComponentTemplateSummaryRes",
            "indices.simulate_template:Template",
            "cluster._types:ComponentTemplateSummary",
            "indices.put_template:Request",
            "indices._types:TemplateMapping",
            "indices.rollover:Request",
            "indices.shrink:Request",
            "indices.split:Request",
            "indices.clone:Request",
        )
    ),
    *(
        Is(type_, "settings", _SETTINGS, "settings of indices")
        for type_ in (
            "cluster._types:ComponentTemplateSummary",
            "cluster._types:ComponentTemplateSummaryRes",
            "indices._types:TemplateMapping",
            "indices.rollover:Request",
            "indices.shrink:Request",
            "indices.split:Request",
            "indices.clone:Request",
        )
    ),
    Is("cat.templates:TemplatesRecord", "name", SCALAR, "cat tables are restored by columns"),
    Is("indices.rollover:Response", "new_index", INDEX, "the definitions have a plain string"),
    Is("indices.rollover:Response", "old_index", INDEX, "the definitions have a plain string"),
]

SYNTAX: list[Row] = [
    Also("indices.put_template:Request", {"template": PATTERN}, "how one pattern was written in older nodes"),
]

ROWS: list[Row] = [*VERDICTS, *SYNTAX]
