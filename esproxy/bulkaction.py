"""What nodes say of an action line that is no action."""

from __future__ import annotations

from typing import Any

from esproxy.errors import Refusal

VERBS = ("create", "delete", "index", "update")
OBJECTS = ("dynamic_templates", "_source")


def check_action(action: Any, number: int, product: bool) -> None:
    """Raises Refusal, in a node's words, for a line that is no action with plain members."""
    front = f"Malformed action/metadata line [{number}], expected"
    if not isinstance(action, dict):
        raise Refusal(f"{front} START_OBJECT but found [{_token(action)}]")
    if not action:
        raise Refusal(f"{front} FIELD_NAME but found [END_OBJECT]")
    verb, meta = next(iter(action.items()))
    if verb not in VERBS:
        named = "field [create], [delete], [index] or [update]" if product else f"one of [{', '.join(VERBS)}]"
        raise Refusal(f"{front} {named} but found [{verb}]")
    if not isinstance(meta, dict):
        raise Refusal(f"{front} START_OBJECT or END_OBJECT but found [{_token(meta)}]")
    for key, value in meta.items():
        if isinstance(value, list) or (isinstance(value, dict) and key not in OBJECTS):
            raise Refusal(f"{front} a simple value for field [{key}] but found [{_token(value)}]")


def _token(value: Any) -> str:
    """What a node's parser calls the beginning of a value."""
    if value is None:
        return "VALUE_NULL"
    if isinstance(value, bool):
        return "VALUE_BOOLEAN"
    if isinstance(value, (int, float)):
        return "VALUE_NUMBER"
    if isinstance(value, str):
        return "VALUE_STRING"
    return "START_ARRAY" if isinstance(value, list) else "START_OBJECT"
