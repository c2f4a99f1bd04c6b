"""Configuration: ``load`` makes ``Settings`` from file, environment and flags, or raises ``ConfigError`` with all problems.

    settings = load("esproxy.toml")
    settings.listen.port, settings.clusters["main"].nodes, …

The models are in ``esproxy.settings.models``, one class per section; every setting is in docs/settings.md.
"""

from __future__ import annotations

import sys

from esproxy.settings.checks import warnings
from esproxy.settings.load import (
    CONFIG_VARIABLE,
    dump_for_worker,
    load,
    read_from_supervisor,
    with_keys,
)
from esproxy.settings.models import (
    LAYOUTS_AVAILABLE,
    Cluster,
    Identity,
    Limits,
    Listen,
    Placement,
    Rule,
    Settings,
    Tenants,
    Upstream,
)
from esproxy.settings.page import effective, markdown
from esproxy.settings.problems import ConfigError, Problem

__all__ = [
    "CONFIG_VARIABLE",
    "LAYOUTS_AVAILABLE",
    "Cluster",
    "ConfigError",
    "Identity",
    "Limits",
    "Listen",
    "Placement",
    "Problem",
    "Rule",
    "Settings",
    "Tenants",
    "Upstream",
    "dump_for_worker",
    "effective",
    "load",
    "markdown",
    "read_from_supervisor",
    "warnings",
    "with_keys",
]

if __name__ == "__main__":
    if sys.argv[1:] != ["--markdown"]:
        sys.exit("usage: python -m esproxy.config --markdown")
    sys.stdout.write(markdown())
