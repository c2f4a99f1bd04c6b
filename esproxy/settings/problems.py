"""A problem: where, what is wrong, what to do; and pydantic's errors in these words.

Messages are ours and not pydantic's, so that they stay the same over its versions; each is pinned by a
``tests/unit/config/bad/bad.*.toml``. Values of secrets never stand in a message.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from esproxy.settings.types import shown

SECRET = {"password", "api_key", "keys"}
BOUNDS = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}


@dataclass(frozen=True, slots=True)
class Problem:
    """``key`` is the path of the setting, dotted; text reads on after it."""

    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.key}: {self.text}" if self.key else self.text


class ConfigError(Exception):
    """The configuration cannot be used. Holds all problems, not the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(map(str, self.problems)))


def dotted(loc: tuple[int | str, ...]) -> str:
    """``("placement", "rules", 0, "layout")`` → ``placement.rules[0].layout``."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def from_validation(error: ValidationError, root: type[BaseModel]) -> list[Problem]:
    found = []
    for one in error.errors(include_url=False):
        loc = tuple(one["loc"])
        if one["type"] == "extra_forbidden":
            found.append(Problem(dotted(loc), unknown(str(loc[-1]), known_names(root, loc[:-1]))))
        else:
            found.append(
                Problem(dotted(loc), describe(one["type"], one.get("ctx", {}), one["input"], secret=not SECRET.isdisjoint(loc)))
            )
    return found


def unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"is not a setting; did you mean {near[0]}?"
    return f"is not a setting; there are: {', '.join(known)}"


def describe(kind: str, ctx: dict[str, Any], value: Any, *, secret: bool) -> str:
    """What is wrong with one value."""
    was = "" if secret else f", is {shown(value)}"
    if kind == "value_error":
        return str(ctx["error"])
    if kind == "missing":
        return "is missing, and has no default"
    if kind == "literal_error":
        return f"must be one of {ctx['expected']}".replace("'", '"').replace(" or ", ", ") + was
    for short, words in BOUNDS.items():
        if short in ctx:
            return f"must be {words} {ctx[short]:g}{was}"
    if kind == "too_short":
        return f"must have at least {ctx['min_length']} item"
    if kind == "string_too_short":
        return "must not be empty"
    wanted = {
        "int": "a whole number", "float": "a number", "finite_number": "a number", "bool": "true or false", "string": "text",
        "list": "a list", "dict": "a table", "model": "a table",
    }  # fmt: skip
    for prefix, words in wanted.items():
        if kind.startswith(prefix):
            return f"must be {words}{was}"
    return f"cannot be used ({kind}){was}"


def known_names(root: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The names that may stand at a path of the settings."""
    model = model_at(root, loc)
    return [] if model is None else list(model.model_fields)


def model_at(root: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model at a path; an index of a list and a key of a table lead to the model of their items."""
    model: type[BaseModel] | None = root
    inside = False  # the next part is an index or a key
    for part in loc:
        if inside:
            inside = False
            continue
        if model is None or str(part) not in model.model_fields:
            return None
        annotation = model.model_fields[str(part)].annotation
        model = inner_model(annotation)
        inside = get_origin(annotation) in (list, dict)
    return model


def inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model in ``list[Model]``, ``dict[str, Model]``, ``Annotated[Model, …]``; None when there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        found = inner_model(argument)
        if found is not None:
            return found
    return None
