"""Corrections for stored scripts and search templates.

Rows as in ``overrides``, of which these are a part. A stored script's name is in the tenant's own namespace. What a template is
made into is only known once a node has rendered it, so a template itself is not read here (``esproxy.procedures.rendered``).
"""

from __future__ import annotations

from esproxy.api.patch import Is, New, Row
from esproxy.api.schema import ANY, SCALAR, Ref
from esproxy.api.words import SCRIPT, STORED_SCRIPT

_NAME = "the name of a stored script"
_UNREAD = "read behind the pass: its language says what it is"
_RENDERED = "read once it has been rendered"
_GLOBAL = "_global."

ROWS: list[Row] = [
    New("esproxy:ScriptToStore", {"lang": SCALAR, "source": ANY, "options": ANY}, _UNREAD),
    Is(_GLOBAL + "put_script:Request", "script", Ref("esproxy:ScriptToStore"), _UNREAD),
    Is("_types:StoredScript", "source", SCRIPT, "as it was sent to the node"),
    Is(_GLOBAL + "get_script:Response", "_id", STORED_SCRIPT, _NAME),
    *(
        Is(_GLOBAL + type_, prop, term, why)
        for type_ in ("search_template:Request", "render_search_template:Request", "msearch_template:TemplateConfig")
        for prop, term, why in (("id", STORED_SCRIPT, _NAME), ("source", ANY, _RENDERED), ("params", ANY, _RENDERED))
    ),
    Is(_GLOBAL + "render_search_template:Response", "template_output", ANY, "made of what the client sent"),
]
