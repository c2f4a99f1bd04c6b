"""A ``Plan`` is one request, understood: all that the answer's way back (``esproxy.answer``) needs to know, and what becomes of
the names in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from esproxy.api.filter_path import FilterPath
from esproxy.api.kinds import Kind
from esproxy.api.routes import Route
from esproxy.api.tables import Endpoint
from esproxy.cluster import Cluster
from esproxy.errors import Refusal
from esproxy.heads import Head
from esproxy.languages import Edits, LanguageError, lucene
from esproxy.languages.lucene import Form
from esproxy.languages.script_errors import NAME
from esproxy.tenancy.cursors import Sealer
from esproxy.tenancy.identify import PatternIdentity
from esproxy.tenancy.metafields import Restores
from esproxy.tenancy.tenant import Tenant, Tenants
from esproxy.tenancy.text import restore_text

# Endpoints that say what aliases indices get that are not there yet.
MAKES_ALIASES = frozenset(
    ("indices.put_template", "indices.put_index_template", "indices.simulate_template", "indices.simulate_index_template",
     "cluster.put_component_template")
)  # fmt: skip
MANY = 1000  # scripts of one request that are remembered: a node takes fewer at once
TASK_ID = re.compile(r"[^:]+:[+-]?\d+")


@dataclass
class Plan:
    """One request, understood. ``spelled`` maps what is sent as an index name to what the client wrote.

    Without slots, because ``twin`` copies a dict at once."""

    head: Head
    cluster: Cluster
    route: Route
    endpoint: Endpoint
    parts: dict[str, str]
    query: dict[str, str]
    raw_path: str
    tenant: Tenant | None
    pattern: PatternIdentity | None
    tenants: Tenants
    sealer: Sealer
    spelled: dict[str, str] = field(default_factory=dict)
    path: str = ""  # as it is sent, where it says what the client's leaves out
    typed: bool = False  # typed_keys is asked for by us, not by the client
    filter_path: FilterPath | None = None
    drawing: dict[str, str] = field(default_factory=dict)  # what the client said about the look of a cat table
    meta: Restores | None = None
    help: bool = False  # the columns of a cat table are asked for, which say nothing of anybody
    apart: bool = False  # of a tenant who may have pools, but for indices that are in none
    create: str | None = None  # an index in a pool that is to be made before this goes on
    fields: dict[str, str] = field(default_factory=dict)  # that an index in a pool does not have: the name sent → the client's
    looked_up: set[str] = field(default_factory=set)  # in front of ids in the pools that queries look documents up in
    scripts: dict[str, str] = field(default_factory=dict)  # sources as they were sent → the client's
    edited: list[Edits] = field(default_factory=list)  # those of the scripts that are sent otherwise
    stored: dict[str, str] = field(default_factory=dict)  # names as sent, or sources in their place → the client's
    dotted: list[str] = field(default_factory=list)  # patterns of a composable template
    hidden: bool = False  # the index is declared as hidden
    pit: bool = False  # the search names no index: its point in time does
    ready: Ready | None = None  # it was understood before, see esproxy.ready

    def twin(self, head: Head) -> Plan:
        """The same plan for another request with the same head. Path and query are shared, and not to be changed."""
        plan = object.__new__(Plan)
        plan.__dict__.update(self.__dict__)
        plan.head = head
        plan.spelled = self.spelled.copy()
        plan.fields, plan.scripts, plan.stored, plan.edited = {}, {}, {}, []
        plan.dotted, plan.hidden, plan.looked_up = [], False, set()
        return plan

    @property
    def product(self) -> bool:
        return self.cluster.product

    @property
    def pretty(self) -> bool:
        return self.query.get("pretty", "false") != "false"

    def answer_state(self) -> int | None:
        """The rule table of the answer; a HEAD's is that of the GET it stands for."""
        row = self.route.row
        return self.cluster.engine.tables.endpoints[row.head_of].response if row.head_of else self.endpoint.response

    def owner(self) -> Tenant:
        """The tenant, known by now. Raises Refusal when nothing in the request told it."""
        if self.tenant is None:
            raise Refusal("nothing in the request tells the tenant")
        return self.tenant

    @property
    def tenant_id(self) -> str:
        """Empty while nothing has told it."""
        return "" if self.tenant is None else self.tenant.id

    def index(self, name: str, *, creatable: bool = False) -> str:
        self._adopt(name)
        return self.owner().names.one(name, self.spelled, product=self.product, creatable=creatable)

    @property
    def per_item(self) -> bool:
        """An index name that is none is the error of one item, not of the request."""
        return self.route.row.name in ("bulk", "mget")

    def alias(self, name: str) -> str:
        """The physical name of an alias to be made or removed. Raises Refusal for what only the prefix would make legal."""
        if self.route.row.name in MAKES_ALIASES and "{index}" in name:  # which the index's physical name is put for
            if not name.startswith("{index}"):
                raise Refusal(f"Invalid alias name [{name}]: the placeholder {{index}} can only begin it here")
            return name
        if name.startswith(("_", "-", "+")) and name != "_all":
            raise Refusal(
                f"Invalid alias name [{name}]: must not start with '_', '-', or '+'", type="invalid_alias_name_exception"
            )
        return self.expression(name)

    def bulk_name(self, name: str) -> str:
        """An illegal name is its item's error, said by the node. What the prefix would make legal goes without it: no index
        can have such a name. ``_all`` alone means something to a node, and gets a second underscore."""
        if not name or name[0] in "_-+":
            sent = "__all" if name == "_all" else name
        elif ":" in name and name[0] != "<":
            sent = "_" + name  # no colon may follow a prefix: a node could look for a remote cluster
        else:
            self._adopt(name)
            sent = ("<" + self.owner().names.prefix + name[1:]) if name[0] == "<" else self.owner().names.prefix + name
        self.spelled[sent] = name
        return sent

    def pattern_name(self, pattern: str) -> str:
        """The physical form of a pattern that a template matches. Raises Refusal for what only the prefix would make legal."""
        if pattern.startswith("_"):
            raise self._no_template(f"index_pattern [{pattern}] must not start with '_'")
        if self.product and self.route.row.name == "indices.put_index_template":
            self.dotted.append(pattern)
        return self._spell(self.owner().names.prefix + pattern, pattern)

    def _no_template(self, why: str) -> Refusal:
        words = f"index_template [{self.parts.get('name', '')}] invalid, cause [Validation Failed: 1: {why};]"
        return Refusal(words, type="invalid_index_template_exception")

    def _spell(self, sent: str, name: str) -> str:
        self.spelled[sent] = name
        return sent

    def expression(self, text: str, *, aliases: bool = False) -> str:
        if self.pattern is not None:
            for term in text.split(","):
                self._adopt(term.removeprefix("-"))
        return self.owner().names.expression(
            text, self.spelled, product=self.product, before_9=self.cluster.before_9, aliases=aliases
        )

    def name(self, name: str) -> str:
        """The physical name of a pipeline."""
        return name if name == "_none" else self.script(name)

    def script(self, name: str) -> str:
        """The physical name of a stored script or template."""
        return self._spell(self.owner().names.prefix + name, name)

    def runs(self, sent: str, source: str, edits: Edits | None = None) -> None:
        """A script of the client's is sent so, after these ``edits``."""
        if len(self.scripts) < MANY:
            self.scripts[sent] = source
            if edits is not None and edits.items:
                self.edited.append(edits)

    def runs_stored(self, name: str) -> str:
        """The physical name of a script that is run, or of a template that is rendered."""
        sent = self.script(name)
        if len(self.stored) < MANY:
            self.stored[sent] = name
        return sent

    def stores(self, name: str) -> str:
        """The physical name of a script to be stored. Raises Refusal for one that errors would show cut, see
        ``languages.script_errors``."""
        sent = self.script(name)
        if len(sent.encode()) > NAME:
            most = NAME - len(self.owner().names.prefix)
            raise Refusal(f"the name of a stored script can be {most} bytes long here, and [{name[:most]}...] is longer")
        return sent

    def names(self, text: str, kind: Kind) -> str:
        """The physical names of a path: one to be made, or a list of names and patterns. Raises Refusal."""
        if self.head.method in ("PUT", "POST"):
            if text.startswith("_") and kind is Kind.TEMPLATE:
                raise self._no_template("name must not start with '_'")
            return self._spell(self.owner().names.prefix + text, text)
        sent = ",".join(self.owner().names.prefix + term for term in text.split(","))
        return self._spell(sent, text)

    def restored(self, text: str) -> str:
        """A node's words with names as the client knows them."""
        prefix = self.owner().names.prefix
        inside = "[" + self.owner().names.inside
        if inside in text:  # a pipeline, see esproxy.metadata.ingest
            text = text.replace(inside, "[")
        if self.path:
            text = text.replace(f"[{self.path}]", f"[{self.raw_path}]")
        return restore_text(text, prefix, self.spelled, anywhere=self.route.row.names is not None)

    def lucene(self, text: str, default: str | None = None) -> str:
        """Query-string text with the index names in it made physical; ``default`` is its default field. Raises Refusal."""
        try:
            return lucene.rewrite(text, None, self._lucene_value, default=default)
        except LanguageError as error:
            raise Refusal(f"Failed to parse query [{text}]: {error}", type="query_shard_exception") from None

    def lucene_restored(self, text: str) -> str:
        """Query-string text of an answer, as the client wrote it."""
        try:
            return lucene.rewrite(text, None, self._lucene_restored) if "_index" in text else text
        except LanguageError:  # which no request of ours has sent
            return text

    def _lucene_restored(self, name: str, text: str, form: Form) -> str:
        if name != "_index":
            return text
        prefix = self.owner().names.prefix
        if form is Form.REGEX:
            return text.removeprefix(prefix.replace(".", "\\.") + "(").removesuffix(")")
        return text.removeprefix(prefix)

    def _lucene_value(self, name: str, text: str, form: Form) -> str:
        if name != "_index":
            return text
        self._adopt(text)
        prefix = self.owner().names.prefix
        return prefix.replace(".", "\\.") + f"({text})" if form is Form.REGEX else prefix + text

    def open_cursor(self, token: str) -> str:
        """The node's cursor for a client's token. Raises Refusal as a node does for an id that is none."""
        kind = self.route.row.cursor
        cursor = self.sealer.open(token, tenant=self.owner().id, kind=kind, cluster=self.cluster.name)
        if cursor is None:
            raise Refusal("Cannot parse scroll id" if kind == "scroll" else f"invalid id: [{token}]")
        return cursor

    def seal_cursor(self, cursor: str) -> str:
        """The client's token for a node's cursor."""
        kind = "scroll" if "scroll" in self.query else self.route.row.cursor
        return self.sealer.seal(cursor, tenant=self.owner().id, kind=kind, cluster=self.cluster.name)

    def open_task(self, shown: str) -> str | None:
        """The node's id of a task, of what its client was told; None for one that nobody was. Raises Refusal for what is none."""
        if not TASK_ID.fullmatch(shown):
            raise Refusal(f"malformed task id {shown}", type="illegal_argument_exception")
        token, _, number = shown.partition(":")
        task = self.sealer.open(token, tenant=self.owner().id, kind="task", cluster=self.cluster.name)
        return task if task is not None and task.endswith(f":{number}") else None

    def seal_task(self, task: str) -> str:
        """The client's id of a node's task: it reads as ids do, and its number is the node's."""
        token = self.sealer.seal(task, tenant=self.owner().id, kind="task", cluster=self.cluster.name)
        return token + task[task.rindex(":") :]

    def _adopt(self, name: str) -> None:
        """In index-pattern mode a name tells the tenant, and all names must tell the same."""
        if self.pattern is None:
            return
        tenant = self.pattern.tenant_of(name.removeprefix("<").removesuffix(">"))
        if self.tenant is None:
            self.tenant = self.tenants.get(tenant)
        elif self.tenant.id != tenant:
            raise Refusal("the request names indices of more than one tenant")


class Ready:
    """A plan that is only ever copied, and what it leads to. ``target`` None: to a procedure for pools, or to what is kept of
    that in ``form`` (see ``esproxy.pools.straight``)."""

    __slots__ = ("behind", "form", "media", "names", "path", "plan", "target")

    def __init__(self, plan: Plan, target: bytes | None, media: bytes | None, id: str | None = None) -> None:
        """``id``: of the document in the plan's path and target, where each copy gets its own."""
        self.plan = plan
        self.target = target
        self.behind = b""
        self.path: str | None = None  # of the client, up to the id
        if id is not None:
            self.path = plan.raw_path.removesuffix(id)
            if target is not None:
                path, mark, query = target.partition(b"?")
                self.target, self.behind = path.removesuffix(id.encode()), mark + query
        self.media = media
        self.names = len(plan.spelled)  # of the target
        self.form: object = None

    def twin(self, head: Head, id: str | None = None) -> Plan:
        plan = self.plan.twin(head)
        plan.ready = self
        if id is not None:
            plan.parts = {**plan.parts, "id": id}
            plan.raw_path = f"{self.path}{id}"
        return plan

    def sent(self, plan: Plan) -> bytes | None:
        """The node's target of a copy; None where it has to be made."""
        if self.target is None or len(plan.spelled) != self.names:
            return None
        return self.target if self.path is None else self.target + plan.parts["id"].encode() + self.behind
