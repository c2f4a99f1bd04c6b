"""What is known of one upstream cluster: which engine and version it runs, and the tables that fit it.

Nothing is known until a node has been asked (``procedures.discover``); until then requests wait for that.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from esproxy import core
from esproxy.api.routes import Router
from esproxy.api.tables import Tables, load


class Engine:
    """Tables, router and compiled grammar of an engine; shared by all clusters that run it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tables: Tables = load(name)
        self.router = Router(self.tables)
        self.grammar = core.Table(self.tables.states, self.tables.reasons)


engine = cache(Engine)


class Cluster:
    """One cluster. ``product``: it is Elasticsearch, whose clients look for the product header on every answer; ``before_9``: one
    that reads expressions and words errors otherwise than the newest does; ``before_3``: such a one of OpenSearch."""

    __slots__ = ("before_3", "before_9", "engine", "info", "name", "product", "unknown_keys")

    def __init__(self, name: str, engine_name: str, info: dict[str, Any]) -> None:
        self.name = name
        self.engine = engine(engine_name)
        self.info = info  # what the node said of itself at ``/``
        self.unknown_keys = 0  # in answers: what no definition knows, which is copied
        self.product = self.engine.name == "elasticsearch"
        major = str(info.get("version", {}).get("number", "")).partition(".")[0]
        self.before_9 = self.product and major.isdigit() and int(major) < 9
        self.before_3 = not self.product and major.isdigit() and int(major) < 3
