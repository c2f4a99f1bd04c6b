"""What type a new field of a document gets, where the node must not decide it.

A pool of ``shared`` holds many tenants' indices, so its node adds no field by itself. Before a document with unknown paths is
let in, ``new_fields`` says what a node would have made of them in an index of that tenant's own: under its ``dynamic``, date
detection, dynamic templates and limits, per engine and version. ``add_fields`` then adds them to the entry and the pool.

    rules = compile_rules(mapping, settings, engine, version)     once per index and mapping
    new = infer(read(raw), rules, entry.fields)                   {path: definition}, parents before what is in them

Refusals are the node's own and concern the one document: in a bulk they become that item's error. Left to the node are values
that a type does not take (its document is refused and the fields stay, unlike on a node, which forgets them) and clashes of
known leaves with objects.

Definitions are as a client would put them; a runtime field's has ``"runtime": true`` and belongs under ``runtime``, not
``properties``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import DynamicRules, check_at_end, compile_rules, document_error
from esproxy.catalogue.dynamic_templates import Definition
from esproxy.catalogue.inference_elasticsearch import ElasticsearchWalk
from esproxy.catalogue.inference_opensearch import OpenSearchWalk
from esproxy.errors import Refusal

__all__ = ["DynamicRules", "compile_rules", "infer", "new_fields", "read"]


def new_fields(
    document: dict[str, Any],
    mapping: Mapping[str, Any],
    known: Mapping[str, Field],
    engine: str,
    version: str,
    settings: Mapping[str, Any] | None = None,
    given: Mapping[str, str] | None = None,
) -> dict[str, Definition]:
    """The fields that a document has and its index does not, for a mapping that is looked at once. ``given``: by path, the name
    of the dynamic template that is to be taken for it."""
    rules = compile_rules(mapping, settings or {}, engine, version)
    return infer(document, replace(rules, given=given) if given else rules, known)


def infer(document: dict[str, Any], rules: DynamicRules, known: Mapping[str, Field]) -> dict[str, Definition]:
    """Logical path → definition, in the order the document brings them."""
    walk = (ElasticsearchWalk if rules.engine == "elasticsearch" else OpenSearchWalk)(rules, known)
    try:
        walk.document(document)
    except RecursionError:
        raise document_error(rules, "the document is nested too deep") from None
    new = walk.new
    check_at_end(rules, known, new)
    return new


def read(raw: bytes) -> dict[str, Any]:
    """A document as ``infer`` wants it: whole numbers of any size stay whole, which faster readers do not promise."""
    try:
        document = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        cause = {"type": "json_parse_exception", "reason": str(error)}
        raise Refusal("failed to parse", type="mapper_parsing_exception", caused_by=cause) from None
    if not isinstance(document, dict):
        raise Refusal("Malformed content, must start with an object", type="mapper_parsing_exception")
    return document


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"Non-standard token '{text}'")
