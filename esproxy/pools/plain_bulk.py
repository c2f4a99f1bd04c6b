"""A bulk of plain records over open indices in pools, rewritten in one pass of the core.

Nearly every bulk is one: its action lines index, create or delete, say ``_id``, perhaps ``_index``, and nothing that the proxy
has a part in; its documents bring no field that is not there. So a record costs no call into Python and no object.

    _index   ─▶ ``aim``         once for each run of records with the same one: the target, from memory
                core.Hits       puts the physical name in its place
    _id      ─▶ core.Hits       the scope in front; the routing behind, and the physical name where the line had none
    document ─▶ core.Documents  as its layout stores it, when all its fields are there
                ``__call__``    one that holds what may have to be escaped

Action lines are read by a table of their own (``states``), which has no other members than those that the core may copy; so any
other, however it is spelled, ends the pass.

There is one meaning, that of ``pools.bulk``, which reads each record: whatever would need more here, or a word of our own, is
``Odd`` or ends the pass, and the bulk goes there as if nothing had been tried. Nothing has been sent by then.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from esproxy import core
from esproxy.api import tables
from esproxy.api.kinds import Kind
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.target import Target

PARAMETERS = frozenset(("refresh", "timeout", "wait_for_active_shards", "filter_path", "error_trace", "human", "pretty"))
VERBS = ("index", "create", "delete")
OURS = ("require_alias",)  # a plain value that is not the node's
LINE, META, INDEX, ID, VALUE, DOCUMENT = range(6)  # states
LONGEST = 512  # bytes of an id


class Odd(Exception):
    """A record that is not plain."""


def states(engine: tables.Engine, named: bool) -> list[dict[str, Any]]:
    """Of plain action lines. ``named``: they may name an index."""
    found = tables.load(engine)
    members = found.states[found.states[found.roots["bulk.action"]]["keys"]["index"]]["keys"]
    copied = {name: VALUE for name, state in members.items() if not found.states[state] and name not in OURS}
    meta = {**copied, "_id": ID, **({"_index": INDEX} if named else {})}
    return [{"keys": dict.fromkeys(VERBS, META)}, {"keys": meta}, {"kind": "INDEX"}, {"kind": "ID"}, {}, {"kind": "DOC"}]


@cache
def table(engine: tables.Engine, named: bool) -> core.Table:
    return core.Table(states(engine, named), [])


class Records(core.Hits):
    """Aims a pass at the targets of its records, and answers what it stops at. ``default``: the index of the path, for lines that
    name none."""

    def __init__(self, request: Pooled, default: str | None) -> None:
        self.request = request
        self.default = default
        self.known: dict[str, tuple[Target, bytes, bytes, bytes]] = {}  # name → target, and the texts that edits point into
        self.target: Target | None = None

    def aim(self, raw: bytes | None) -> tuple[core.Bindings, int, core.Documents | None]:
        """The next records are for this ``_index``."""
        name = self.default if raw is None else orjson.loads(raw)
        if not isinstance(name, str):
            raise Odd
        if name not in self.known:
            self.known[name] = self._found(name, raw is not None)
        self.target, self.name_token, self.before_id, self.behind_id = self.known[name]
        self.token, self.only = raw or b"", [self.target]
        self.most = LONGEST - len(self.target.id_front) + 2
        return self.target.written, DOCUMENT, self.target.documents

    def _found(self, name: str, named: bool) -> tuple[Target, bytes, bytes, bytes]:
        target = self.request.remembered(name)
        if target is None or not _takes_plain(target):
            raise Odd
        physical = orjson.dumps(target.physical)
        index = b"" if named else b',"_index":' + physical
        return target, physical, b'"' + target.id_front.encode(), index + b',"routing":' + orjson.dumps(target.id_front)

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        target = self.target
        if kind is not Kind.DOC or target is None or raw[:1] != b"{":
            raise Odd
        if target.naming.inferred and not target.known.has_all(raw):
            raise Odd
        return target.naming.document(raw)


def _takes_plain(target: Target) -> bool:
    """Does the id alone say where its documents go, and nothing else change them?"""
    return target.shards.count == 1 and not target.requires_routing and not target.joins and not target.piped


def plain_bulk(request: Pooled) -> bytes | None:
    """The body as it is sent; None for one that has to be read record by record."""
    plan, body = request.plan, request.body
    if not plan.query.keys() <= PARAMETERS:
        return None
    default = request.parts.get("index")
    named = default is None or b'"_index"' in body[: body.find(b"\n") + 1]
    records = Records(request, None if named else default)
    grammar, depth = table(plan.cluster.engine.name, named), request.pools.max_depth
    run = core.BulkPass(grammar, LINE, DOCUMENT, DOCUMENT, BLANK, records, max_depth=depth, target=records.aim)
    try:
        out = run.feed(body, True)
    except (Odd, ValueError, RecursionError):  # what is no text or no document among them
        return None
    plain = run.status is core.Status.OK and not run.broken and records.ids == run.records > 0
    if plain:
        request.targets |= {target.scope: target for target, *_ in records.known.values()}
    return out if plain else None


BLANK = core.Bindings({})
