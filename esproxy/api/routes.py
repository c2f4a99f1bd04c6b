"""From method and path to an endpoint.

The route list is the policy: what has no row in ``ENDPOINTS`` is refused, whatever the definitions know: with the reason that
``verdicts`` has for it. URL templates, parameters and tables come from the generated tables; a row adds what no definition says:
what a form without an index means, and who restores the answer.

Matching is a trie over the segments as sent: literals go before placeholders, and an escaped literal is none, as in the nodes,
and the first that has any method decides. A path that exists under another method is a 405, any other a 400, in Elasticsearch's
words.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from esproxy.api.endpoints import VIRTUAL
from esproxy.api.kinds import Kind
from esproxy.api.tables import Tables
from esproxy.api.target import Target
from esproxy.api.verdicts import reason
from esproxy.errors import unknown_endpoint, wrong_method


@dataclass(frozen=True, slots=True)
class Row:
    """One endpoint's policy.

    ``all``: the path without ``{index}`` means every index of the tenant; without ``{name}`` where that is what is ``listed``.
    ``required``: what a refusal says of the path without it. ``names``: what the endpoint is about besides indices, whose names
    then stand anywhere in its texts. ``answer``: name of the handler in ``esproxy.answer`` that makes the answer from the node's,
    None for the rule table alone, "text" for one without names, "virtual" for one that is made here, "template" for one that
    becomes a search, "pipeline" for pipelines, "tasks" for lists of tasks, "reindex" and "rank_eval" for what has scripts and
    templates that are read behind the pass, "pits" for all points in time.
    ``write``: the index in the path is one that may be created. ``keyed``: the answer's keys are index names, so
    ``filter_path`` is ours to apply.
    ``refused``: why the endpoint is not for a tenant.
    ``since_9``: methods that Elasticsearch 8 does not have.
    ``cursor``: what the cursors in request and answer are. ``head_of``: the endpoint whose answer's head a HEAD asks for.
    """

    name: str
    all: bool = False
    listed: str = "index"
    required: str = ""
    names: Kind | None = None
    answer: str | None = None
    keyed: bool = False
    write: bool = False
    cursor: str = "pit"
    head_of: str | None = None
    refused: str = ""
    since_9: tuple[str, ...] = ()


# The orders in which nodes list methods.
ORDERS = {"elasticsearch": ("GET", "POST", "PUT", "DELETE", "HEAD"), "opensearch": ("GET", "PUT", "POST", "HEAD", "DELETE")}

RETHROTTLED = ("update_by_query", "delete_by_query", "reindex")

ENDPOINTS = {
    row.name: row
    for row in (
        Row("info", answer="info"),
        Row("ping", answer="info", head_of="info"),
        Row("indices.create", write=True),
        Row("indices.delete", required="index / indices is missing"),
        Row("indices.exists", head_of="indices.get", keyed=True),
        Row("indices.get", keyed=True),
        Row("indices.get_mapping", all=True, keyed=True),
        Row("indices.get_field_mapping", all=True, keyed=True),
        Row("indices.put_mapping"),
        Row("indices.refresh", all=True),
        Row("index", write=True),
        Row("create", write=True),
        Row("get"),
        Row("exists", head_of="get"),
        Row("get_source"),
        Row("exists_source", head_of="get_source"),
        Row("update", write=True),
        Row("delete"),
        Row("bulk"),
        Row("mget"),
        Row("search", all=True),
        Row("count", all=True),
        Row("msearch", all=True),
        Row("scroll", cursor="scroll"),
        Row("clear_scroll", cursor="scroll"),
        Row("open_point_in_time"),
        Row("close_point_in_time"),
        Row("create_pit"),
        Row("delete_pit"),
        Row("get_all_pits", answer="pits", keyed=True),
        Row("delete_all_pits", answer="pits", keyed=True),
        Row("delete_by_query"),
        Row("update_by_query"),
        Row("reindex", answer="reindex"),
        Row("rank_eval", all=True, answer="rank_eval"),
        Row("terms_enum"),
        Row("field_caps", all=True),
        Row("explain"),
        Row("indices.flush", all=True),
        Row("indices.validate_query", all=True),
        Row("indices.get_settings", all=True, keyed=True),
        Row("indices.put_settings", all=True),
        Row("indices.put_alias"),
        Row("indices.get_alias", all=True, keyed=True),
        Row("indices.exists_alias", all=True, keyed=True, head_of="indices.get_alias"),
        Row("indices.delete_alias"),
        Row("indices.update_aliases"),
        Row("indices.open", required="index is missing"),
        Row("indices.close", required="index is missing"),
        Row("indices.add_block"),
        Row("indices.remove_block", since_9=("DELETE",)),
        Row("indices.stats", all=True, keyed=True),
        Row("indices.segments", all=True, keyed=True),
        Row("indices.recovery", all=True, keyed=True),
        Row("indices.shard_stores", all=True, keyed=True),
        Row("indices.forcemerge", all=True),
        Row("indices.clear_cache", all=True),
        Row("indices.upgrade", all=True, keyed=True),
        Row("indices.get_upgrade", all=True, keyed=True),
        Row("indices.analyze"),
        Row("indices.resolve_index"),
        Row("search_shards", all=True, keyed=True, answer="once"),  # whose keys are nodes: one is told once
        Row("termvectors"),
        Row("mtermvectors"),
        Row("indices.put_index_template", names=Kind.TEMPLATE),
        Row("indices.get_index_template", all=True, listed="name", names=Kind.TEMPLATE),
        Row("indices.exists_index_template", names=Kind.TEMPLATE, head_of="indices.get_index_template"),
        Row("indices.delete_index_template", names=Kind.TEMPLATE),
        Row("indices.simulate_index_template", names=Kind.TEMPLATE, answer="simulated"),
        Row("indices.simulate_template", names=Kind.TEMPLATE, answer="simulated"),
        Row("cluster.put_component_template", names=Kind.TEMPLATE),
        Row("cluster.get_component_template", all=True, listed="name", names=Kind.TEMPLATE),
        Row("cluster.exists_component_template", names=Kind.TEMPLATE, head_of="cluster.get_component_template"),
        Row("cluster.delete_component_template", names=Kind.TEMPLATE),
        Row("indices.put_template", names=Kind.TEMPLATE),
        Row("indices.get_template", all=True, listed="name", names=Kind.TEMPLATE, keyed=True),
        Row("indices.exists_template", names=Kind.TEMPLATE, keyed=True, head_of="indices.get_template"),
        Row("indices.delete_template", names=Kind.TEMPLATE),
        Row("indices.rollover", keyed=True),
        Row("indices.shrink"),
        Row("indices.split"),
        Row("indices.clone"),
        Row("get_script_context"),
        Row("get_script_languages"),
        *(
            Row(f"ingest.{name}", names=Kind.PIPELINE, answer="pipeline", keyed=True)
            for name in ("put_pipeline", "get_pipeline", "delete_pipeline", "simulate")
        ),
        Row("ingest.processor_grok"),
        Row("search_pipeline.put", names=Kind.SEARCH_PIPELINE),
        Row("search_pipeline.get", all=True, listed="pipeline", names=Kind.SEARCH_PIPELINE, keyed=True),
        Row("search_pipeline.delete", names=Kind.SEARCH_PIPELINE),
        Row("put_script", names=Kind.STORED_SCRIPT),
        Row("get_script", names=Kind.STORED_SCRIPT),
        Row("delete_script", names=Kind.STORED_SCRIPT),
        Row("render_search_template", names=Kind.STORED_SCRIPT),
        Row("search_template", all=True, names=Kind.STORED_SCRIPT, answer="template"),
        Row("msearch_template", all=True, names=Kind.STORED_SCRIPT, answer="template"),
        *(
            Row(name, names=Kind.TASK, answer="tasks", keyed=True)
            for name in ("tasks.list", "tasks.get", "tasks.cancel", *(f"{name}_rethrottle" for name in RETHROTTLED))
        ),
        Row("cat.templates", all=True, listed="name", names=Kind.TEMPLATE, answer="cat"),
        Row("cat.component_templates", all=True, listed="name", names=Kind.TEMPLATE, answer="cat"),
        Row("cat.aliases", all=True, listed="name", answer="cat"),
        Row("cat.indices", all=True, answer="cat"),
        Row("cat.shards", all=True, answer="cat"),
        Row("cat.segments", all=True, answer="cat"),
        Row("cat.recovery", all=True, answer="cat"),
        Row("cat.health", answer="cat"),
        Row("cat.count", all=True, answer="text", since_9=("POST",)),
        Row("cluster.health", all=True, answer="health", keyed=True),
        *(Row(name, answer="virtual", keyed=True) for name in sorted(VIRTUAL)),
    )
}


@dataclass(slots=True)
class Route:
    """What a path leads to. ``template`` are its segments; ``with_index`` the same endpoint's template that
    names an index, for rows where its absence means all."""

    row: Row
    template: tuple[str, ...]
    with_index: tuple[str, ...] | None


def _with_name(
    template: tuple[str, ...], templates: list[tuple[list[str], tuple[str, ...]]], listed: str
) -> tuple[str, ...] | None:
    """The form that says with ``{index}`` what ``template`` says without, if there is one; of several the one most alike."""
    name = "{" + listed + "}"
    if name in template:
        return None
    wanted = {name, *(part for part in template if part[0] == "{")}
    forms = [other for _, other in templates if {part for part in other if part[0] == "{"} == wanted]
    return max(forms, key=lambda other: len(set(other) & set(template)), default=None)


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.strip("/").split("/")) if path != "/" else ()


@dataclass(slots=True)
class _Node:
    literal: dict[str, _Node] = field(default_factory=dict)
    named: _Node | None = None
    methods: dict[str, Route] = field(default_factory=dict)


class Router:
    """All routes of one engine's tables."""

    def __init__(self, tables: Tables) -> None:
        self.root = _Node()
        self.order = ORDERS[tables.engine]
        for name, row in ENDPOINTS.items():
            endpoint = tables.endpoints.get(name)
            if endpoint is None:  # an endpoint that this engine does not have
                continue
            templates = [(methods, _segments(path)) for methods, path in endpoint.urls]
            for methods, template in templates:
                self._add(methods, template, Route(row, template, _with_name(template, templates, row.listed)))
        for name, urls in tables.refused.items():
            refused = Row(name, refused=f"[{name}] is refused: {reason(name)}")
            for methods, path in urls:
                self._add(methods, _segments(path), Route(refused, _segments(path), None))

    def _add(self, methods: list[str], template: tuple[str, ...], route: Route) -> None:
        node = self.root
        for part in template:
            if part.startswith("{"):
                node.named = node = node.named or _Node()
            else:
                node = node.literal.setdefault(part, _Node())
        for method in methods:
            node.methods.setdefault(method, route)

    def match(self, method: str, target: Target, uri: str, path: str, *, before_9: bool = False) -> tuple[Route, dict[str, str]]:
        """The route and its named segments. Raises Refusal: 405 with the methods there are, else 400. ``path``: what is said to
        have no handler; OpenSearch leaves parameters out there."""
        for node in self._nodes(self.root, target.raw, 0):
            if not node.methods:
                continue
            route = node.methods.get(method)
            if route is None or (before_9 and method in route.row.since_9):
                there = [name for name, other in node.methods.items() if not (before_9 and name in other.row.since_9)]
                raise wrong_method(uri, method, sorted(there, key=self.order.index))
            names = {part[1:-1]: target.path[i] for i, part in enumerate(route.template) if part[0] == "{"}
            return route, names
        raise unknown_endpoint(path, method)

    def check_typed(self, method: str, target: Target, uri: str) -> None:
        """Raises Refusal as Elasticsearch 8 does for a path of two segments that is none: it still knows /{index}/{type} for
        a POST, if only to say that there is nothing."""
        if method != "POST" and not any(node.methods for node in self._nodes(self.root, target.raw, 0)):
            raise wrong_method(uri, method, ["POST"])

    def _nodes(self, node: _Node, path: list[str], at: int):
        """Every node that the path leads to, the most literal first."""
        if at == len(path):
            yield node
            return
        if not path[at]:
            return  # an empty segment is nobody's name
        following = node.literal.get(path[at])
        if following is not None:
            yield from self._nodes(following, path, at + 1)
        if node.named is not None:
            yield from self._nodes(node.named, path, at + 1)
