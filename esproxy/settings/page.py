"""Settings as text: the page docs/settings.md, and the effective settings as TOML.

The page is made by ``python -m esproxy.config --markdown > docs/settings.md``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from esproxy.settings.models import Settings
from esproxy.settings.problems import inner_model

INTRODUCTION = """\
# Settings

<!-- Made by `python -m esproxy.config --markdown`. A test compares it. -->

Settings come from a TOML file (`esproxy serve --config FILE`, or `ESPROXY_CONFIG`), the environment and flags; later ones
win. The variable of a setting is `ESPROXY_`, its section, `__` and its name, in capitals: `ESPROXY_LISTEN__PORT`,
`ESPROXY_CLUSTERS__MAIN__PASSWORD`. Lists are written with commas there, or as JSON. Sizes are bytes, or text with a unit of
1024 (`"512kb"`, `"16mb"`); times are seconds. An unknown key is an error; `esproxy check FILE` reports all problems at once,
and `esproxy check --effective FILE` prints what is in force.
"""


def markdown() -> str:
    return INTRODUCTION + "".join(section(title, model) for title, model in sections())


def sections() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every table of the file with its model, in the order of the models."""
    for name, field in Settings.model_fields.items():
        model = inner_model(field.annotation)
        assert model is not None, f"section {name} has no model"
        yield (f"[{name}.<name>]" if name == "clusters" else f"[{name}]"), model
        for inner, item in model.model_fields.items():
            if (nested := inner_model(item.annotation)) is not None:
                yield f"[[{name}.{inner}]]", nested


def section(title: str, model: type[BaseModel]) -> str:
    lines = [f"\n## `{title}`\n\n{(model.__doc__ or '').strip()}\n\n| setting | default | meaning |\n|---|---|---|\n"]
    for name, field in model.model_fields.items():
        if inner_model(field.annotation) is None:
            lines.append(f"| `{name}` | {default(field)} | {field.description} |\n")
    return "".join(lines)


def default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "unset" if field.default is None else f"`{json.dumps(field.default)}`"


def effective(settings: Settings) -> str:
    """The settings as TOML that could be a file; secrets are masked."""
    lines: list[str] = []
    table([], settings.model_dump(mode="json"), lines)
    return "\n".join(lines).strip() + "\n"


def table(path: list[str], values: Mapping[str, Any], lines: list[str]) -> None:
    """A table: first its plain values, then the tables in it."""
    plain = {key: value for key, value in values.items() if value is not None and not is_table(value)}
    if path and (plain or not values):
        lines += ["", f"[{'.'.join(map(toml_key, path))}]"]
    lines += [f"{toml_key(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in plain.items()]
    for key, value in values.items():
        if isinstance(value, Mapping):
            table([*path, key], value, lines)
        elif is_table(value):
            for item in value:
                lines += ["", f"[[{'.'.join(map(toml_key, [*path, key]))}]]"]
                lines += [f"{toml_key(name)} = {json.dumps(one, ensure_ascii=False)}" for name, one in item.items()]


def is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def toml_key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else json.dumps(key)
