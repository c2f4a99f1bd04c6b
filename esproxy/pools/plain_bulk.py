"""A bulk of plain records over open indices in pools, rewritten in one pass of the core.

Nearly every bulk is one: its action lines index, create or delete, say ``_id``, perhaps ``_index``, and nothing that the proxy
has a part in; its documents bring no field that is not there. So a record costs two calls into Python, one for its id and one for
its document, instead of a dozen objects.

    _index  ─▶ ``aim``        once for each run of records with the same one: the target, from memory
               core.Hits      puts the physical name in its place
    _id     ─▶ ``__call__``   the scope in front; the routing behind, and the physical name where the line had none
    document ─▶ ``stored``    as its layout stores it, when all its fields are there

There is one meaning, that of ``pools.bulk``, which reads each record: whatever would need more here, or a word of our own, is
``Odd``, and the bulk goes there as if nothing had been tried. Nothing has been sent by then.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import orjson

from esproxy import core
from esproxy.api.kinds import Kind
from esproxy.catalogue.known import Known
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.target import Target

PARAMETERS = frozenset(("refresh", "timeout", "wait_for_active_shards", "filter_path", "error_trace", "human", "pretty"))
# Members of action lines that the core does not stop at, in all their forms (null). They may also be spelled with escapes;
# documents with these are no plain ones either, which costs them time and nothing else.
TELLING = (b"require_alias", b"dynamic_templates", b'"_source"', b'"routing"')
ASCII_ESCAPE = re.compile(rb"\\u00[0-7]")
LONGEST = 512  # bytes of an id


class Odd(Exception):
    """A record that is not plain."""


class Records(core.Hits):
    """Aims a pass at the targets of its records, and answers its stops."""

    def __init__(self, request: Pooled, doc_state: int) -> None:
        self.request = request
        self.doc_state = doc_state
        # what the path says is for lines that do not name one, not even with null, which the core does not stop at
        self.default = None if b'"_index"' in request.body else request.parts.get("index")
        self.known: dict[str, tuple[Target, bytes]] = {}  # name → target, and its physical name, into which edits point
        self.ids = 0
        self.before_id = self.behind_id = b""
        self.most = 0  # bytes of an id, with its quotes
        self.fields: Known | None = None  # which no document may go beyond; None: any may
        self.stored: Callable[[bytes], bytes] = bytes

    def aim(self, raw: bytes | None) -> tuple[core.Bindings, int]:
        """The next records are for this ``_index``."""
        name = self.default if raw is None else orjson.loads(raw)
        if not isinstance(name, str):
            raise Odd
        known = self.known.get(name)
        if known is None:
            target = self.request.remembered(name)
            if target is None or not _takes_plain(target):
                raise Odd
            known = self.known[name] = target, orjson.dumps(target.physical)
        target, physical = known
        self.token, self.name_token, self.only = raw or b"", physical, [target]
        self.before_id = b'"' + target.id_front.encode()
        named = b"" if raw is not None else b',"_index":' + physical
        self.behind_id = named + b',"routing":' + orjson.dumps(target.id_front)
        self.most = LONGEST - len(target.id_front) + 2
        self.fields = target.known if target.naming.inferred else None
        self.stored = target.naming.document
        return target.written, self.doc_state

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        if kind is Kind.DOC:
            if raw[:1] != b"{" or not (self.fields is None or self.fields.has_all(orjson.loads(raw))):
                raise Odd
            return self.stored(raw)
        if kind is not Kind.ID or raw[:1] != b'"' or not 2 < len(raw) <= self.most or b"\\" in raw:
            raise Odd
        self.ids += 1
        return self.before_id + raw[1:] + self.behind_id


def _takes_plain(target: Target) -> bool:
    """Does the id alone say where its documents go, and nothing else change them?"""
    return target.shards.count == 1 and not target.requires_routing and not target.joins and target.pipeline(None) is None


def plain_bulk(request: Pooled) -> bytes | None:
    """The body as it is sent; None for one that has to be read record by record."""
    plan, body = request.plan, request.body
    if not plan.query.keys() <= PARAMETERS or any(word in body for word in TELLING):
        return None
    if b"\\u00" in body and ASCII_ESCAPE.search(body):
        return None
    roots = plan.cluster.engine.tables.roots
    records = Records(request, roots["bulk.doc"])
    states = roots["bulk.action"], roots["bulk.update"], roots["bulk.doc"]
    depth = request.pools.max_depth
    run = core.BulkPass(plan.cluster.engine.grammar, *states, BLANK, records, max_depth=depth, target=records.aim)
    try:
        out = run.feed(body, True)
    except (Odd, ValueError, RecursionError):  # what is no text or no document among them
        return None
    plain = run.status is core.Status.OK and not run.broken and not run.ops["update"] and records.ids == run.records > 0
    if plain:
        request.targets |= {target.scope: target for target, _ in records.known.values()}
    return out if plain else None


BLANK = core.Bindings({})
