"""Names of fields in a request over indices in pools.

What a path or pattern becomes is the layout's (``esproxy.tenancy.naming``). It must be the same for all targets of a request,
else the request is ``Divided``: it can only be made for one target at a time. A path that only some of the targets have goes by
the name that it has there, and is remembered: the others' pools must have nothing of that name (``pools.lacking``).

Of the meta fields ``_routing``, the discriminator, is let through only to be dealt with in the tree
(``esproxy.rewriting.routing``). ``_id`` is read without its scope where a search sorts by it or makes buckets of it
(``esproxy.rewriting.names``).
"""

from __future__ import annotations

from esproxy.catalogue.fields import unheld
from esproxy.errors import Refusal
from esproxy.tenancy.target import Target

CLOSED = frozenset(("_routing",))
NONE = "_none_"  # no name: stored fields, hits' metadata among them, are not wanted
META = frozenset(
    (
        "_source", "_index", "_id", "_score", "_doc", "_seq_no", "_version", "_primary_term", "_ignored", "_field_names", "_size",
        "_tier", "_nested_path", "_shard_doc", "_feature", "_doc_count", "_exists_", "_data_stream_timestamp", "_index_mode",
        "_inference_fields", "_ignored_source", "_tsid", "_ts_routing_hash",
    )
)  # fmt: skip


class Divided(Refusal):
    """What is asked means something else in each of the targets."""

    path: str | None = None  # the field of which it is so, where it is one

    @classmethod
    def of_field(cls, path: str) -> Divided:
        why = cls(f"the field [{path}] has different names in the pools of these indices: search them one by one")
        why.path = path
        return why


class FieldNames:
    def __init__(self, targets: list[Target], sent: dict[str, str]) -> None:
        """``sent``: gets names that are not the client's → its own, for the answer."""
        self.targets = targets
        self.sent = sent
        self.renamed = any(target.naming.any for target in targets)
        self.shared = not all(target.naming.own_terms for target in targets)
        self.any = self.renamed or self.shared
        self.lacking: dict[str, list[Target]] = {}  # physical name of a field → targets that do not have it, where others do
        self.alike: dict[str, str] = {}  # paths → what they are called in every pool that has them (pools.alike)
        self.asked: set[str] = set()
        self.defined: frozenset[str] = frozenset()  # by the request itself, under names that stay as they are
        self.none = False  # hits are wanted without metadata
        self.routed: int | None = None  # how often ``_routing`` was asked for, where somebody looks into it; else it is refused

    def physical(self, name: str) -> str:
        """What to send for a path or pattern, with ``^boost`` or ``:order`` behind it or not. Raises Refusal."""
        if name.startswith("_"):
            bare = name.partition("^")[0].partition(":")[0].strip()
            if bare == NONE:
                self.none = True
                return name
            if bare in CLOSED:
                if self.routed is not None:
                    self.routed += 1
                    return name
                raise Refusal(f"the field [{bare}] cannot be used in this way for an index in a pool")
            if bare in META:
                return name
        elif "#" in name and any(name.partition("#")[0] in target.joins for target in self.targets):
            raise Refusal(f"the field [{name}], which holds ids of parents, is not available for an index in a pool")
        if "*" not in name:
            self.asked.add(name.partition("^")[0])
        if not self.any or (name.partition("^")[0].partition(".")[0] in self.defined and not self.shared):
            return name
        bare, boost, rest = name.partition("^")
        if bare in self.alike:
            self.sent[self.alike[bare]] = bare
            return self.alike[bare] + boost + rest
        without = [] if "*" in bare else [t for t in self.targets if not t.naming.own_terms and not t.naming.has(bare)]
        found = {target.naming.field(bare) for target in self.targets if target not in without} or {unheld(bare)}
        if len(found) != 1:
            raise Divided.of_field(bare)
        physical = found.pop()
        if without and len(without) < len(self.targets):
            self.lacking[physical] = without
        if without and physical != bare:
            self.sent[physical] = bare
        return physical + boost + rest

    def in_source(self, name: str) -> str:
        """What to send for a path or pattern of a source filter. Raises Refusal."""
        if not self.renamed or name.partition(".")[0] in self.defined:
            return name
        found = {target.naming.in_source(name) for target in self.targets}
        if len(found) != 1:
            raise Divided(f"the field [{name}] has different names in the pools of these indices: search them one by one")
        return found.pop()

    def lacks(self, target: Target) -> bool:
        """Was a field asked for that the index may have got since its document was read?"""
        return bool(self.asked) and target.naming.inferred and not all(map(target.naming.has, self.asked))
