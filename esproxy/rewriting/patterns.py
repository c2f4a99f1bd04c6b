"""Patterns of fields: in a pool that others share a pattern would reach their fields, too. They hold nothing for the
client's documents, but errors would name them, and a node counts them against its limits. So a pattern becomes the index's own
fields that it matches. Queries for a text leave out those of types that know no text, and are lenient with ``*``, as nodes are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from esproxy.catalogue.dynamic_rules import OBJECTS
from esproxy.catalogue.fields import unheld
from esproxy.errors import Refusal
from esproxy.rewriting.places import members
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.fieldnames import Divided, FieldNames
from esproxy.tenancy.target import Target

LISTS = ("docvalue_fields", "fields")
NOTHING = unheld("")  # for a query, an empty list would mean all fields
# Types that no query for a text takes: a pattern leaves them out, where a name would not be.
NO_TEXT = frozenset(
    "geo_point geo_shape point shape xy_point xy_shape binary dense_vector sparse_vector knn_vector rank_vectors rank_feature"
    " rank_features aggregate_metric_double histogram percolator".split()
)
BY_DEFAULT = ("query_string", "simple_query_string", "multi_match")  # that need not name fields
DEFAULT_FIELD = "index.query.default_field"
TEXT_QUERIES = ("query_string", "simple_query_string", "multi_match", "combined_fields")


class Patterns:
    def __init__(
        self, names: FieldNames, targets: list[Target], defined: Mapping[str, str] | None = None, *, shown: bool = False
    ) -> None:
        """``defined``: what the request makes, by the client's names; ``shown``: the answer tells of a query."""
        self.names = names
        self.shown = shown
        self.targets = targets
        self.defined = defined or {}

    def matched(self, pattern: str, *, text: bool = False) -> list[str]:
        """The physical names of the fields that a pattern matches; ``text``: those that are searched for a text."""
        made = [self.defined[name] for name in matching(pattern, list(self.defined))]
        return sorted({*map(self.names.physical, self.logical(pattern, text)), *made})

    def logical(self, pattern: str, text: bool = True) -> list[str]:
        """The same of the indices alone, by the client's names."""
        return sorted({path for target in self.targets for path in matching(pattern, list(_leaves(target, text)))})

    def expand(self, states: list[dict[str, Any]], state: int, tree: Any) -> None:
        """In place."""
        for holder, keys, key, below in members(states, state, tree):
            value = holder.get(key)
            if key in TEXT_QUERIES and isinstance(value, dict) and "bool" in keys:
                self.text(key, value)
            elif key == "exists" and isinstance(value, dict) and "bool" in keys:
                self.exists(holder, value)
            elif key not in LISTS:
                continue
            elif isinstance(value, list) and states[states[below].get("items", below)].get("kind") == "FIELD":
                holder[key] = [one for part in value for one in self._expanded(part)] or [NOTHING]
            elif states[states[below].get("items", below)].get("other", ("COPY", 1))[0] == "FIELD":  # of highlights
                parts = value if isinstance(value, list) else [value]
                made = [self._by_name(part) if isinstance(part, dict) else part for part in parts]
                holder[key] = made if isinstance(value, list) else made[0]

    def text(self, name: str, options: dict[str, Any]) -> None:
        """The options of a query for a text in some fields, by default those that the settings of an index say."""
        given, default = options.get("fields") or options.get("default_field"), False
        if given is None and name in BY_DEFAULT:
            given, default = self.defaults(), True
        listed = given if isinstance(given, list) else [given]
        if not default and not any(isinstance(one, str) and "*" in one for one in listed):
            return
        options.pop("default_field", None)
        if "*" in (str(one).partition("^")[0] for one in listed):
            options.setdefault("lenient", True)
        lacking = self.names.lacking.copy()
        fields = [one for part in listed for one in self._expanded(part, text=True)]
        options["fields"] = (list(map(self.names.physical, fields)) if default and given != ["*"] else fields) or [NOTHING]
        if default and options.get("lenient") is True and not self.shown:
            self.names.lacking = lacking  # what others have of such a name says nothing then

    def defaults(self) -> list[str]:
        """By the client's names."""
        found = {str(target.index.settings.get(DEFAULT_FIELD, "*")) for target in self.targets}
        if len(found) > 1:
            raise Divided("these indices have different default fields: search them one by one")
        declared = self.targets[0].index.settings.get(DEFAULT_FIELD, "*") if self.targets else "*"
        if not isinstance(declared, (str, list)):
            raise Refusal(f"the setting [{DEFAULT_FIELD}] is no list of fields")
        return [str(name) for name in (declared.split(",") if isinstance(declared, str) else declared)]

    def exists(self, holder: dict[str, Any], options: dict[str, Any]) -> None:
        """Is there a value in any of the fields?"""
        name = options.get("field")
        if not isinstance(name, str) or "*" not in name:
            return
        found = self.matched(name) or [NOTHING]
        if len(found) == 1:
            options["field"] = found[0]
            return
        told = {key: options[key] for key in ("boost", "_name") if key in options}
        del holder["exists"]
        holder["constant_score"] = {"filter": {"bool": {"should": [{"exists": {"field": one}} for one in found]}}, **told}

    def _expanded(self, part: Any, *, text: bool = False) -> Iterator[Any]:
        """What stands for an item of a list. Values that are not mapped are read from documents, under the names in them."""
        name = part.get("field") if isinstance(part, dict) else part
        unmapped = isinstance(part, dict) and str(part.get("include_unmapped", "false")).lower() == "true"
        if isinstance(name, str) and unmapped and ("*" in name or name in self.names.sent):
            yield {**part, "field": self.names.in_source(self.names.sent.get(name, name))}
        elif not isinstance(name, str) or "*" not in name:
            yield part
        if not isinstance(name, str) or "*" not in name:
            return
        pattern, boosted, boost = name.partition("^")
        for found in self.matched(pattern, text=text):
            yield {**part, "field": found} if isinstance(part, dict) else found + boosted + boost

    def _by_name(self, part: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, options in part.items():
            for found in self._expanded(name):
                out.setdefault(found, options)
        return out


def made_by(tree: dict[str, Any], sent: Mapping[str, str]) -> dict[str, str]:
    """The runtime and derived fields that a request makes, those in composites among them: the client's name → the one sent."""
    found = {}
    for kind in ("runtime_mappings", "derived"):
        for physical, definition in (tree.get(kind) or {}).items():
            name = sent.get(physical, physical)
            found[name] = physical
            found |= {f"{name}.{inner}": f"{physical}.{inner}" for inner in (definition or {}).get("fields") or {}}
    return found


def _leaves(target: Target, text: bool) -> Iterator[str]:
    """The index's fields that hold values, by their logical names, with the fields below them."""
    for path, field in target.index.fields.items():
        kind = _kind(field.type, target)
        if kind not in OBJECTS and not (text and kind in NO_TEXT):
            yield path
            yield from (f"{path}.{name}" for name in field.type.get("fields") or {})


def _kind(definition: Mapping[str, Any], target: Target) -> str:
    kind = str(definition.get("type", "object"))
    there = target.index.fields.get(str(definition.get("path"))) if kind == "alias" else None
    return kind if there is None else str(there.type.get("type", "object"))
