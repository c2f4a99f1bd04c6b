"""Names of fields in a request over indices in pools.

What a path or pattern becomes is the layout's (``esproxy.tenancy.naming``). It must be the same for all targets of a request,
else the request is ``Divided``: it can only be made for one target at a time.

Of the meta fields ``_routing``, the discriminator, is let through only to be dealt with in the tree
(``esproxy.rewriting.routing``). ``_id`` is read without its scope where a search sorts by it or makes buckets of it
(``esproxy.rewriting.names``).
"""

from __future__ import annotations

from esproxy.errors import Refusal
from esproxy.tenancy.target import Target

CLOSED = frozenset(("_routing",))
NONE = "_none_"  # no name: stored fields, hits' metadata among them, are not wanted
META = frozenset(
    (
        "_source", "_index", "_id", "_score", "_doc", "_seq_no", "_version", "_primary_term", "_ignored", "_field_names", "_size",
        "_tier", "_nested_path", "_shard_doc", "_feature", "_doc_count", "_exists_",
    )
)  # fmt: skip


class Divided(Refusal):
    """What is asked means something else in each of the targets."""


class FieldNames:
    def __init__(self, targets: list[Target]) -> None:
        self.targets = targets
        self.any = any(target.naming.any for target in targets)
        self.asked: set[str] = set()
        self.defined: frozenset[str] = frozenset()  # by the request itself, under names that stay as they are
        self.none = False  # hits are wanted without metadata
        self.routed: int | None = None  # how often ``_routing`` was asked for, where somebody looks into it; else it is refused
        self.underscored = False  # a name was seen that would hide a meta field if the request itself defined it

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
            self.underscored = self.underscored or bare not in ("_source", "_index", "_score", "_doc")
            if bare in META:
                return name
        elif "#" in name and any(name.partition("#")[0] in target.joins for target in self.targets):
            raise Refusal(f"the field [{name}], which holds ids of parents, is not available for an index in a pool")
        elif "*" not in name:
            self.asked.add(name.partition("^")[0])
        if not self.any or name.partition("^")[0].partition(".")[0] in self.defined:
            return name
        bare, boost, rest = name.partition("^")
        found = {target.naming.field(bare) for target in self.targets}
        if len(found) != 1:
            raise Divided(f"the field [{bare}] has different names in the pools of these indices: search them one by one")
        return found.pop() + boost + rest

    def lacks(self, target: Target) -> bool:
        """Was a field asked for that the index may have got since its document was read?"""
        return bool(self.asked) and target.naming.inferred and any(name not in target.index.fields for name in self.asked)
