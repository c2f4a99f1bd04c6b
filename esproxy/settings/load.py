"""From file, environment and flags to ``Settings``, or to a list of all that is wrong.

Later sources win, setting by setting: defaults → file → environment (``ESPROXY_LISTEN__PORT``) → flags. Then every
section is validated, every check run on the sections that are usable, and secrets are read from their files.
"""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from esproxy.settings import checks
from esproxy.settings.models import Cluster, Keys, Settings
from esproxy.settings.problems import ConfigError, Problem, from_validation, unknown
from esproxy.settings.types import REVEAL

PREFIX = "ESPROXY_"
CONFIG_VARIABLE = "ESPROXY_CONFIG"


class Environment(Settings, BaseSettings):
    """Knows which variables there are; ``EnvSettingsSource`` reads them for it. Never made itself."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__", enable_decoding=False)


def load(
    path: str | os.PathLike[str] | None = None,
    flags: Mapping[str, Any] | None = None,
    upstream: list[str] | None = None,
) -> Settings:
    """The effective settings. ``flags`` nests as the file does; ``upstream`` are nodes of the cluster that tenants live in.

    Raises ConfigError with all problems.
    """
    data = {} if path is None else read_file(Path(path))
    found = strange_variables(os.environ)
    data = merged(merged(data, EnvSettingsSource(Environment)()), flags or {})
    if upstream:
        placement = data.get("placement")
        name = placement.get("cluster", "main") if isinstance(placement, Mapping) else "main"
        data = merged(data, {"clusters": {str(name): {"nodes": upstream}}})
    unusable: set[str] = set()
    try:
        settings = Settings.model_validate(data)
    except ValidationError as error:
        found += from_validation(error, Settings)
        settings, unusable = usable(data, error)
    found += checks.problems(settings, unusable)
    settings = with_secrets(settings, found)
    if found:
        raise ConfigError(found)
    return settings


def usable(data: Mapping[str, Any], error: ValidationError) -> tuple[Settings, set[str]]:
    """What is left without the settings that are wrong, so that it can be checked too, and their paths: ``listen.port``."""
    rest = {key: dict(value) if isinstance(value, Mapping) else value for key, value in data.items()}
    unusable = set()
    for one in error.errors(include_url=False):
        section, *names = map(str, one["loc"])
        unusable.add(".".join([section, *names[:1]]))
        if names and isinstance(rest.get(section), dict):
            rest[section].pop(names[0], None)
        else:
            rest.pop(section, None)
    return Settings.model_validate(rest), unusable


def read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}")]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem("", f"is no TOML: {error}")]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([Problem("", f"is not UTF-8: byte {error.start}")]) from error


def strange_variables(environ: Mapping[str, str]) -> list[Problem]:
    """Variables that look like settings and are none. Those inside a section are found by its model."""
    sections = list(Settings.model_fields)
    found = []
    for name in sorted(environ):
        section = name.removeprefix(PREFIX).partition("__")[0].lower()
        if name.startswith(PREFIX) and "__" in name and section not in sections:
            found.append(Problem(name, unknown(section, sections)))
    return found


def merged(base: Any, over: Any) -> Any:
    """``over`` on top of ``base``: tables key by key, anything else as a whole."""
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return over
    return {**base, **{key: merged(base[key], value) if key in base else value for key, value in over.items()}}


def with_secrets(settings: Settings, found: list[Problem]) -> Settings:
    """The same with secrets read from their files; what cannot be read is added to ``found``."""
    clusters = {name: cluster_with_secrets(name, cluster, found) for name, cluster in settings.clusters.items()}
    return settings.model_copy(update={"clusters": clusters})


def cluster_with_secrets(name: str, cluster: Cluster, found: list[Problem]) -> Cluster:
    update: dict[str, Any] = {}
    for secret in ("password", "api_key"):
        path = getattr(cluster, f"{secret}_file")
        if path is None:
            continue
        try:
            text = Path(path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8"
            found.append(Problem(f"clusters.{name}.{secret}_file", f"cannot be read: {why}"))
            continue
        if not text:
            found.append(Problem(f"clusters.{name}.{secret}_file", "is empty"))
        update |= {secret: SecretStr(text), f"{secret}_file": None}
    for file in ("ca_file", "client_cert", "client_key"):
        path = getattr(cluster, file)
        if path is not None and not os.access(path, os.R_OK):
            found.append(Problem(f"clusters.{name}.{file}", "cannot be read"))
    return cluster.model_copy(update=update)


def with_keys(settings: Settings) -> Settings:
    """The same with a key made for this start when none is configured."""
    if settings.secrets.keys:
        return settings
    return settings.model_copy(update={"secrets": Keys.model_validate({"keys": [secrets.token_urlsafe(48)]})})


def dump_for_worker(settings: Settings) -> str:
    """JSON with its secrets in clear, for ``read_from_supervisor`` at the other end of a pipe."""
    return settings.model_dump_json(context=REVEAL)


def read_from_supervisor(text: str) -> Settings:
    return Settings.model_validate_json(text)
