"""Names of fields in a request over indices in ``shared``, and back.

A path keeps its name unless its pool already had that name with another type (``esproxy.catalogue.fields``). So there is
something to do only for targets with such fields: then an exact path is looked up, a pattern is expanded to the paths it
matches where one of these has another name, and on the way back the end of each segment is taken off, which needs no table.

Of the meta fields ``_routing``, the discriminator, is never let through, and ``_id`` only at positions that the rule tables
know as ids.
"""

from __future__ import annotations

from esproxy.errors import Refusal
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.target import Target

CLOSED = frozenset(("_routing", "_id"))


class FieldNames:
    def __init__(self, targets: list[Target]) -> None:
        self.targets = targets
        self.any = any(target.renamed for target in targets)
        self.asked: set[str] = set()
        self.underscored = False  # a name was seen that would hide a meta field if the request itself defined it

    def physical(self, name: str) -> str:
        """What to send for a path or pattern, with ``^boost`` or ``:order`` behind it or not. Raises Refusal."""
        if name.startswith("_"):
            bare = name.partition("^")[0].partition(":")[0].strip()
            if bare == "_none_":
                raise Refusal("[_none_] is not available for an index in a pool: hits are verified by their metadata")
            if bare in CLOSED:
                raise Refusal(f"the field [{bare}] cannot be used in this way for an index in a pool")
            self.underscored = self.underscored or bare not in ("_source", "_index", "_score", "_doc")
        elif "*" not in name:
            self.asked.add(name.partition("^")[0])
        if not self.any:
            return name
        bare, boost, rest = name.partition("^")
        found = {self._one(target, bare) for target in self.targets}
        if len(found) != 1:
            raise Refusal(f"the field [{bare}] has different types in the pools of these indices: search them one by one")
        return found.pop() + boost + rest

    def _one(self, target: Target, bare: str) -> str:
        exact = target.renamed.get(bare)
        if exact is not None:
            return exact
        if "*" in bare and not bare.endswith("*"):
            if any(path in target.renamed for path in matching(bare, list(target.index.fields))):
                raise Refusal(f"the pattern [{bare}] is not available for an index with renamed fields")
            return bare
        parent = bare
        while "." in parent:  # a multi-field, or a field below one that is renamed
            parent = parent.rpartition(".")[0]
            if parent in target.renamed:
                return target.renamed[parent] + bare[len(parent) :]
        return bare

    def lacks(self, target: Target) -> bool:
        """Was a field asked for that the index may have got since its document was read?"""
        return any(name not in target.index.fields for name in self.asked)
