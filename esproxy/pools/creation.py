"""One index that is to be made in a pool: what its creator wrote, over what the templates of its tenant say, and its aliases.

The nodes keep the templates, under the tenant's prefix, as for its indices outside of pools; so their own endpoints are the same
for every layout. Which ones apply is worked out here (``esproxy.metadata.templates``), from all of the tenant's. The directory
tells whether it ever had any: it is read for each creation by realtime get, and whoever puts a template has said so in it
before the node hears of it. So a tenant without templates pays nothing for them, and one that is acknowledged is applied.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from esproxy.answer import Walk
from esproxy.catalogue.change import NoChange, change_directory
from esproxy.catalogue.documents import Directory, Entry
from esproxy.catalogue.pools import Plan
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Calls, Reply
from esproxy.metadata.templates import Templates, aliases, laid_over, with_defaults
from esproxy.pools.aliases import alias_properties, check_filter, new_targets
from esproxy.pools.mappings import check_new_mapping
from esproxy.pools.mixture import whole_directory
from esproxy.pools.pooled import Apart, Pooled
from esproxy.pools.settings import flat_settings
from esproxy.procedures.alias import change_aliases
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.fill import Fill

KINDS = {
    "indices.get_index_template": ["_index_template"],
    "cluster.get_component_template": ["_component_template"],
    "indices.get_template": ["_template"],
}


class Copy(NamedTuple):
    """What is made of another index: in its layout, whatever placement says of the name, and without templates."""

    layout: str
    fill: Fill


class Creation:
    """``settings`` are flat, ``aliases`` as in a body."""

    def __init__(
        self,
        request: Pooled,
        name: str,
        mapping: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        aliases: dict[str, Any] | None = None,
        copy: Copy | None = None,
    ) -> None:
        self.request = request
        self.name = name
        self.mapping = mapping or {}
        self.settings = settings or {}
        self.aliases = aliases or {}
        self.copy = copy
        self.explicit = True
        self.changes: list[tuple[str, str, str, dict[str, Any]]] = []  # the aliases to be made
        self.warnings: list[str] = []  # of Elasticsearch

    def make(self, *, explicit: bool = True) -> Steps[Entry]:
        """The index, with its aliases. Raises Refusal."""
        request, self.explicit = self.request, explicit
        check_new_mapping(self.mapping, request.product)
        plan, fill = self._plan(self.mapping, self.settings), None if self.copy is None else self.copy.fill
        entry = yield from create(request.cat, request.tenant, self.name, plan, explicit, self._declare, fill)
        if self.changes:
            yield from request.sight.look()
            target = yield from request.one(self.name)
            try:
                for _, _, alias, properties in self.changes:
                    yield from check_filter(request, target, alias, properties)
            except Refusal:
                if explicit:  # then nobody else has made it
                    yield from delete(request.cat, request.tenant, [self.name])
                raise
            cluster = request.plan.cluster
            yield from change_aliases(request.cat, request.tenant, lambda now: new_targets(now, self.changes, cluster))
        return entry

    def _plan(self, mapping: dict[str, Any], settings: dict[str, Any]) -> Plan:
        plan = self.request.index_plan(self.name, mapping, settings)
        return plan if self.copy is None else replace(plan, layout=self.copy.layout)

    def _declare(self, directory: Directory) -> Steps[Plan]:
        request, name = self.request, self.name
        mapping, settings, wanted = self.mapping, self.settings, self.aliases
        if directory.templates is not False and self.copy is None:
            found = yield from _templates(request)
            if directory.templates is None:
                yield from _remember(request, bool(found.composable or found.legacy))
            mapping, settings, wanted = self._over(found)
            check_new_mapping(mapping, request.product)
        request.plan.hidden = str(settings.get("index.hidden", False)).lower() == "true"
        properties = {alias: alias_properties(given or {}) for alias, given in wanted.items()}
        if properties:
            if request.mixture:
                directory = yield from whole_directory(directory, request.plan, properties)
            self.changes = [("add", name, alias, given) for alias, given in properties.items()]
            new_targets(directory, self.changes, request.plan.cluster, making=name)
        return self._plan(mapping, settings)

    def _over(self, found: Templates) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """What was declared over the templates that match."""
        product = self.request.product
        hidden = str(self.settings.get("index.hidden", False)).lower() == "true"
        winner = found.winner(self.name, hidden=hidden)
        mapping: dict[str, Any] = {}
        if winner is not None:
            if not self.explicit and winner["index_template"].get("allow_auto_create") is False:
                raise _forbidden(self.name, winner["name"])
            layers = found.layers(winner)
            for layer in layers:
                mapping = laid_over(mapping, layer.get("mappings") or {}, product)
            mapping = laid_over(mapping, self.mapping, product)
        else:
            layers = found.legacy_layers(self.name, hidden=hidden)
            mapping = self.mapping
            names = sorted(name for name, one in found.legacy.items() if one in layers)
            if len(names) > 1:
                told = f"[{self.name}] matches multiple legacy templates [{', '.join(names)}]"
                self.warnings.append(f"index {told}, composable templates will only match a single template")
            for layer in reversed(layers):
                mapping = with_defaults(mapping, layer.get("mappings") or {})
        settings: dict[str, Any] = {}
        wanted: dict[str, Any] = {}
        for layer in layers:
            settings |= flat_settings(layer.get("settings") or {})
            wanted |= aliases(layer, self.name)
        return mapping, settings | self.settings, wanted | self.aliases


def _forbidden(name: str, template: str) -> Refusal:
    reason = f"no such index [{name}] and composable template [{template}] forbids index auto creation"
    words = {"resource.type": "index_or_alias", "resource.id": name, "index_uuid": "_na_", "index": name}
    return Refusal(reason, status=404, type="index_not_found_exception", **words)


def _templates(request: Pooled) -> Steps[Templates]:
    """All of the tenant's, with the client's own names in them."""
    own = request.plan.owner().names.prefix + "*"
    answers = yield Calls([request.send("GET", [*path, own], {}) for path in KINDS.values()])
    composable, components, legacy = (_told(request, kind, told) for kind, told in zip(KINDS, answers, strict=True))
    named = {one["name"]: one["component_template"] for one in components.get("component_templates", ())}
    return Templates(composable.get("index_templates", []), named, legacy)


def settings_of_templates(request: Pooled, name: str, directory: Directory) -> Steps[dict[str, Any]]:
    """The settings, by their whole names, that an index gets which a first write makes. Raises Refusal."""
    if directory.templates is False:
        return {}
    _, settings, _ = Creation(request, name)._over((yield from _templates(request)))
    return settings


def _told(request: Pooled, kind: str, told: Answer) -> dict[str, Any]:
    if told.status == 404:
        return {}
    state = request.plan.cluster.engine.tables.endpoints[kind].response
    if told.status != 200 or state is None:
        raise Failed(f"the cluster did not tell of templates: {told.status}")
    tree: dict[str, Any] = orjson.loads(Walk(request.plan, state).feed(told.body, True))
    return tree


def _remember(request: Pooled, has: bool) -> Steps[None]:
    def note(directory: Directory) -> None:
        if directory.templates is not None:
            raise NoChange  # by one who puts a template at this moment
        directory.templates = has

    yield from change_directory(request.cat, request.tenant, note)


def put_template(request: Pooled) -> Steps[Reply]:
    """The template itself is kept by the nodes, as outside of pools."""

    def note(directory: Directory) -> None:
        if directory.templates:
            raise NoChange
        directory.templates = True

    yield from change_directory(request.cat, request.tenant, note)
    raise Apart
