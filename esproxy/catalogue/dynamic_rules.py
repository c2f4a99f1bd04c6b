"""What decides the type of a new field: an index's own dynamic mapping, compiled once per index.

Both engines share this much; how they walk a document differs (inference_elasticsearch, inference_opensearch).

    value in the document      kind       without a template
    text                       string     text with a keyword of up to 256 characters in .keyword
      a number, if asked       long, double
      a date                   date       date, with its format when that is not the default
    1, -0, any digits          long       long (what is too big is the node's to refuse)
    1.0, 1e5                   double     float
    true, false                boolean    boolean
    {…}                        object     object
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue.dates import DEFAULT, DETECTED, DateFormat, date_format
from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_templates import Definition, Template, templates
from esproxy.errors import Refusal

OBJECTS = ("object", "nested")
# Of an object's template; a node leaves the others out.
OBJECT_PARAMETERS = frozenset("type dynamic enabled subobjects properties include_in_parent include_in_root".split())
RUNTIME = "runtime"  # marks the definition of a field that is not indexed: {"type": "long", "runtime": True}
TRUE, FALSE, STRICT = "true", "false", "strict"
STRICT_ALLOW_TEMPLATES, FALSE_ALLOW_TEMPLATES = "strict_allow_templates", "false_allow_templates"  # OpenSearch
# Types that take an array as one value: a template that gives one decides for the array itself.
ARRAY_TYPES = frozenset("geo_point geo_shape point shape xy_point xy_shape completion dense_vector knn_vector".split())
METADATA = {
    "elasticsearch": frozenset(
        "_id _index _source _routing _field_names _ignored _tier _doc_count _version _seq_no _nested_path"
        " _data_stream_timestamp _inference_fields _ignored_source".split()
    ),
    "opensearch": frozenset(
        "_id _index _source _routing _field_names _ignored _doc_count _version _seq_no _nested_path"
        " _data_stream_timestamp _feature".split()
    ),
}


@dataclass(slots=True, frozen=True)
class DynamicRules:
    engine: str
    version: tuple[int, ...]
    dynamic: str | None  # of the root, as declared
    subobjects: bool
    date_detection: bool
    numeric_detection: bool
    date_formats: tuple[DateFormat, ...]
    built_in_formats: bool  # the mapping names none
    templates: tuple[Template, ...]
    runtime: frozenset[str]
    total_fields: int
    depth: int
    nested_fields: int
    name_length: int | None
    given: Mapping[str, str] = field(default_factory=dict)  # path → the template that a request wants for it

    def template(self, path: str, name: str, kind: str) -> Template | None:
        wanted = self.given.get(path)
        if wanted is not None:
            for template in self.templates:
                if template.name == wanted:
                    return template
            reason = f"Can't find dynamic template for dynamic template name [{wanted}] of field [{path}]"
            raise document_error(self, reason, None, key=name, value=True)
        return next((template for template in self.templates if template.matches(path, name, kind)), None)

    def kind(self, value: Any) -> tuple[str, DateFormat | None]:
        """The kind of a value that is no object, array or null; a date's with the format that took it."""
        if isinstance(value, bool):
            return "boolean", None
        if isinstance(value, int):
            return "long", None
        if isinstance(value, float):
            return "double", None
        number = number_kind(value)
        if number is not None:
            return (number if self.numeric_detection else "string"), None
        if self.date_detection:
            for form in self.date_formats:
                if form.matches(value):
                    return "date", form
        return "string", None

    def default(self, kind: str, form: DateFormat | None) -> Definition:
        if kind == "string":
            return {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
        if kind == "date":
            return {"type": "date"} | self._shown_format("date", form)
        return {"type": "float" if kind == "double" else kind}

    def from_template(self, template: Template, name: str, kind: str, form: DateFormat | None = None) -> Definition:
        definition = template.definition(name, kind)
        if template.runtime:
            return definition | {RUNTIME: True}
        if definition["type"] in OBJECTS:
            return {key: value for key, value in definition.items() if key in OBJECT_PARAMETERS}
        if kind == "date" and definition["type"] in ("date", "date_nanos"):
            return self._shown_format(definition["type"], form) | definition
        if definition["type"] == "text" and self.engine == "opensearch":
            definition.pop("doc_values", None)  # which it leaves out, where Elasticsearch refuses the document
        return definition

    def _shown_format(self, type: str, form: DateFormat | None) -> Definition:
        """The parameters by which a node shows the format that found a date."""
        if form is None or (form.text == DEFAULT and (type == "date" or self.engine == "opensearch")):
            return {}
        if self.engine == "opensearch":
            return {"format": form.text, "print_format": form.first}
        shown = {"format": form.text}
        if self.built_in_formats and form.text != DEFAULT:
            shown["locale"] = ""  # no language, where formats of the mapping's own are read as English
        return shown


def compile_rules(mapping: Mapping[str, Any], settings: Mapping[str, Any], engine: str, version: str) -> DynamicRules:
    """Refuses what cannot be applied here: date formats and expressions that are not understood."""
    limits = {key.removeprefix("index.").removeprefix("mapping."): value for key, value in settings.items()}
    declared = mapping.get("dynamic_date_formats", DETECTED)
    formats = [declared] if isinstance(declared, str) else declared
    length = limits.get("field_name_length.limit")
    return DynamicRules(
        engine=engine,
        version=numbers(version),
        dynamic=dynamic_of(mapping),
        subobjects=not is_false(mapping.get("subobjects")),
        date_detection=not is_false(mapping.get("date_detection")),
        numeric_detection=str(mapping.get("numeric_detection", False)).lower() == "true",
        date_formats=tuple(date_format(text, engine, numbers(version)) for text in formats),
        built_in_formats="dynamic_date_formats" not in mapping,
        templates=templates(mapping.get("dynamic_templates", []), engine),
        runtime=frozenset(mapping.get("runtime", {})),
        total_fields=int(limits.get("total_fields.limit", 1000)),
        depth=int(limits.get("depth.limit", 20)),
        nested_fields=int(limits.get("nested_fields.limit", 50 if engine == "opensearch" or version.startswith("8.") else 100)),
        name_length=None if length is None else int(length),
    )


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def is_false(value: Any) -> bool:
    """A parameter that is switched off, as JSON or as text."""
    return value is not None and str(value).lower() == "false"


def dynamic_of(definition: Mapping[str, Any]) -> str | None:
    declared = definition.get("dynamic")
    return None if declared is None else str(declared).lower()


def join(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def check_at_end(rules: DynamicRules, known: Mapping[str, Field], new: Mapping[str, Definition]) -> None:
    """Limits that the node checks when the new fields are merged."""
    for path, definition in new.items():
        name = path.rpartition(".")[2]
        if rules.name_length is not None and len(name) > rules.name_length and RUNTIME not in definition:
            raise Refusal(f"Field name [{name}] is longer than the limit of [{rules.name_length}] characters")
    nested = sum(definition.get("type") == "nested" for definition in new.values())
    if nested and nested + sum(field.type.get("type") == "nested" for field in known.values()) > rules.nested_fields:
        raise Refusal(f"Limit of nested fields [{rules.nested_fields}] has been exceeded")


class Unparsed(Refusal):
    """A document that cannot be parsed. ``key``: the member at fault, where it is known and the engine tells places; ``value``:
    what is told is where its value begins."""

    key: str | None = None
    value: bool = False

    def at(self, raw: bytes) -> Unparsed:
        """The same, with the place in the document that Elasticsearch tells."""
        if self.key is not None:
            name = json.dumps(self.key, ensure_ascii=False).encode()
            found = re.search(re.escape(name) + rb"\s*:\s*", raw) if self.value else re.search(re.escape(name), raw)
            if found is not None:
                place = found.end() if self.value else found.start()
                line, column = raw.count(b"\n", 0, place) + 1, place - raw.rfind(b"\n", 0, place)
                self.reason = f"[{line}:{column}] {self.reason}"
        return self


def document_error(
    rules: DynamicRules,
    reason: str,
    cause: str | None = "illegal_argument_exception",
    *,
    key: str | None = None,
    value: bool = False,
) -> Unparsed:
    """A document that cannot be parsed, as the engine words it; its place in the body is told by who has the body."""
    elasticsearch = rules.engine == "elasticsearch"
    type = "document_parsing_exception" if elasticsearch else "mapper_parsing_exception"
    words = reason if cause is None else f"failed to parse: {reason}" if elasticsearch else "failed to parse"
    extra = {} if cause is None else {"caused_by": {"type": cause, "reason": reason}}
    error = Unparsed(words, type=type, **extra)
    error.key, error.value = key, value
    return error


def strict_error(dynamic: str, within: str, name: str, *, key: str | None = None) -> Unparsed:
    """``key``: as in Unparsed, for its value."""
    reason = f"mapping set to {dynamic}, dynamic introduction of [{name}] within [{within or '_doc'}] is not allowed"
    error = Unparsed(reason, type="strict_dynamic_mapping_exception")
    error.key, error.value = key, True
    return error


_LONG = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(
    r"[\x00-\x20]*[+-]?(?:NaN|Infinity|(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)"
    r"[pP][+-]?\d+)[fFdD]?)[\x00-\x20]*",
    re.ASCII,
)


def number_kind(text: str) -> str | None:
    """``long`` or ``double`` when Java's parseLong or parseDouble takes the text, in any script's digits for the former."""
    if len(text) <= 4000 and _LONG.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return "long"
    return "double" if _DOUBLE.fullmatch(text) else None
