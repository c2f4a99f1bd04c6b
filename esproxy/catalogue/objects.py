"""A logical index's mapping as the object that it is in ``per-tenant``, and back.

The object ``n17`` has the index's properties and what an object can have of its root: ``dynamic``, ``enabled``, ``subobjects``.
Definitions that speak of other fields (``copy_to``, an alias's ``path``, scripts) speak of them by their physical paths.
Other root parameters are those of the whole physical index, which is a pool of one then, without an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from esproxy.catalogue import names
from esproxy.errors import Refusal
from esproxy.languages import LanguageError, painless

OBJECTS = ("enabled", "subobjects")  # root parameters that an object has as well
Rename = Callable[[str], str]


def object_mapping(mapping: dict[str, Any], number: int, *, new: bool = True) -> dict[str, Any]:
    """The properties that a pool gets with a new entry: its object, whose ``dynamic`` is the index's own. ``new`` False: with an
    addition to the entry's mapping. Raises Refusal."""
    other = sorted(mapping.keys() - {"dynamic", "properties", "_meta", *OBJECTS})
    if other:  # a new index is alone then
        raise Refusal(f"{other} of a mapping cannot be changed for an index in a pool that has others in it")
    definition: dict[str, Any] = {"type": "object"}
    if new or "dynamic" in mapping:
        definition["dynamic"] = mapping.get("dynamic", True)
    definition |= {key: mapping[key] for key in OBJECTS if key in mapping}
    definition["properties"] = physical_properties(mapping.get("properties", {}), number)
    return {names.object_name(number): definition}


def physical_properties(properties: dict[str, Any], number: int) -> dict[str, Any]:
    prefix = names.object_name(number) + "."
    return _properties(properties, lambda path: prefix + path, lambda script: _script(script, number))


def logical_object(declared: dict[str, Any], physical: dict[str, Any], number: int) -> dict[str, Any]:
    """The mapping that a client sees, of a node's answer about the physical one: with the fields that the node has added."""
    name = names.object_name(number)
    prefix = name + "."
    bare, unscripted = _back(number)
    own = physical.get("properties", {}).get(name, {})
    shown = {key: own[key] for key in ("dynamic", *OBJECTS) if key in own and (key in declared or own[key] != "true")}
    if "_meta" in declared:
        shown["_meta"] = declared["_meta"]
    made = {bare(key): value for key, value in physical.get("runtime", {}).items() if key.startswith(prefix)}
    if made:
        shown["runtime"] = made  # by ``dynamic: runtime``
    properties = _properties(own.get("properties", {}), bare, unscripted)
    return {**shown, "properties": properties} if properties else shown


def logical_definition(definition: dict[str, Any], number: int) -> dict[str, Any]:
    """One field's definition as a client sees it."""
    shown: dict[str, Any] = _definition(definition, *_back(number))
    return shown


def logical_text(text: str, number: int) -> str:
    """A node's words about the object, without it."""
    name = names.object_name(number)
    if f'"{{"{name}":' in text:  # a document is quoted, as far as a node quotes it
        text = re.sub(rf'"\{{"{name}":(.*?)\}}"(?=; line: )', r'"\1"', text, flags=re.DOTALL).replace(f'"{{"{name}":', '"')
    return text.replace(name + ".", "").replace(f"['{name}']", "").replace(f"[{name}]", "[_doc]")


def _back(number: int) -> tuple[Rename, Callable[[Any], Any]]:
    """What gives paths and scripts back as the client wrote them."""
    name = names.object_name(number)
    prefix = name + "."

    def unscripted(script: Any) -> Any:
        return _map_source(script, lambda source: source.replace(prefix, "").replace(f"['{name}']", ""))

    return lambda path: path.removeprefix(prefix), unscripted


def _properties(properties: dict[str, Any], rename: Rename, script: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: _definition(definition, rename, script) for name, definition in properties.items()}


def _definition(definition: Any, rename: Rename, script: Callable[[Any], Any]) -> Any:
    if not isinstance(definition, dict):
        return definition
    out = dict(definition)
    if "copy_to" in out:
        out["copy_to"] = _paths(out["copy_to"], rename)
    if out.get("type") == "alias" and isinstance(out.get("path"), str):
        out["path"] = rename(out["path"])
    if out.get("type") == "completion":
        out["contexts"] = [
            {**context, "path": rename(context["path"])} if isinstance(context, dict) and "path" in context else context
            for context in out.get("contexts", [])
        ]
        if not out["contexts"]:
            del out["contexts"]
    if "script" in out:
        out["script"] = script(out["script"])
    if isinstance(out.get("properties"), dict):
        out["properties"] = _properties(out["properties"], rename, script)
    return out


def _paths(value: Any, rename: Rename) -> Any:
    if isinstance(value, str):
        return rename(value)
    return [rename(item) if isinstance(item, str) else item for item in value] if isinstance(value, list) else value


def _script(script: Any, number: int) -> Any:
    name = names.object_name(number)

    def rewritten(source: str) -> str:
        try:
            if any(ref.kind is not painless.Ref.SOURCE for ref in painless.scan(source).computed):
                raise Refusal("a script that computes names of fields is not available in a mapping of an index in a pool")
            return painless.rewrite(source, lambda path: f"{name}.{path}", source_root=name)
        except LanguageError as error:
            raise Refusal(f"the script cannot be understood: {error}", type="script_exception") from None

    return _map_source(script, rewritten)


def _map_source(script: Any, change: Callable[[str], str]) -> Any:
    if isinstance(script, str):
        return change(script)
    if isinstance(script, dict) and isinstance(script.get("source"), str):
        return {**script, "source": change(script["source"])}
    return script
