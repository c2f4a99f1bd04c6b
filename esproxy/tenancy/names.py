"""Logical and physical names in layouts that are resolved by prefix (``dedicated``).

A physical name is ``<tenant><separator><logical name>``. Tenant ids match ``[a-z0-9][a-z0-9_-]{0,63}`` and the separator
is a character that no id can hold, so the mapping is injective and no tenant's prefix begins another's. Whatever
follows a prefix, wildcards included, can only name what is the tenant's; so the rule is that nothing leaves without it.

An **expression** is rewritten term by term (ARCHITECTURE section 6): ``*`` → ``acme.*``, ``-x*`` → ``-acme.x*``,
``<logs-{now/d}>`` → ``<acme.logs-{now/d}>``. The cluster resolves it. What could leave the prefix is refused: remote
clusters, and quotes in date math. An expression of exclusions alone is not sent as such: ``acme.*,-acme.*`` stands for it, which
is nothing on every version.

Error texts are those of running nodes (Elasticsearch 8.19 and 9.4, OpenSearch 2.19 and 3.8).
"""

from __future__ import annotations

import re

from esproxy.errors import Refusal, invalid_index_name, no_such_index

TENANT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")  # one name without any meaning but its own
LEADING = ("_", "-", "+")
FORBIDDEN = frozenset(' "*\\<|,>/?')


def legal_tenant(tenant: str) -> bool:
    return TENANT_ID.fullmatch(tenant) is not None


class PrefixNames:
    """Names of one tenant under its prefix. ``spelled`` maps physical terms that were sent to what the client
    wrote; an exchange has its own copy of nothing but that dict."""

    __slots__ = ("inside", "nothing", "prefix")

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        # Before names that no client can say: a tenant's name and what can be no separator beside this one.
        self.inside = prefix[:-1] + ("!" if prefix.endswith("~") else "~")
        self.nothing = f"{prefix}*,-{prefix}*"

    def one(self, name: str, spelled: dict[str, str], *, product: bool, creatable: bool = False) -> str:
        """The physical name of a position that holds exactly one name. Raises Refusal.

        A node that gets an illegal name mostly says so itself, with the prefix taken off again on the way back. What the
        prefix would make legal is refused here, and so is what another reader could take for several names.
        """
        if not name:
            raise invalid_index_name(name, "must not be empty")
        if creatable and name in (".", ".."):
            raise invalid_index_name(name, "must not be '.' or '..'")
        if name == "_all" and product and not creatable:
            words = "unable to return a single index as the index and options provided got resolved to multiple indices"
            raise Refusal(words)
        if name == "_all" and not creatable:
            raise no_such_index(name, single=True)
        if creatable and name.startswith(LEADING):
            raise invalid_index_name(name, "must not start with '_', '-', or '+'")
        if creatable and ":" in name:
            raise invalid_index_name(name, "must not contain ':'")
        if not (name.startswith("<") and name.endswith(">")) and any(c in FORBIDDEN for c in name):
            if not creatable:
                raise no_such_index(name, single=not product)
            raise invalid_index_name(name, f"must not contain the following characters {forbidden(product)}")
        physical = self._term(name, product)
        spelled[physical] = name
        return physical

    def expression(
        self, text: str, spelled: dict[str, str], *, product: bool, before_9: bool = False, aliases: bool = False
    ) -> str:
        """The physical expression for a comma list of terms. Raises Refusal.

        ``aliases``: it says which of the aliases there are to tell of. There exclusions alone tell of none, and a node names
        those of them that are plain as missing (measured, both engines), so they are sent.
        """
        if PLAIN_NAME.fullmatch(text):
            physical = self.prefix + text
            spelled[physical] = text
            return physical
        if text in ("_all", "*") or not text.strip(","):  # a lone comma is "all" to a node
            physical = self.prefix + "*"
            spelled[physical] = text if text.strip(",") else "_all"
            return physical
        out: list[str] = []
        positive = wildcard = False
        literal = ""
        for term in text.rstrip(",").split(","):
            if term.startswith("_"):
                raise invalid_index_name(term, "must not start with '_'.")
            if term in ("", "-"):
                raise empty_term(term, product, before_9)
            if term.startswith("-") and ((product and not before_9) or wildcard or "*" in term):
                physical = "-" + self._term(term[1:], product)
            elif term.startswith("-"):  # taken for a name; no index has such a one, and the node says so
                physical = "-" + self._term(term[1:], product)
                literal = literal or ("" if aliases else term)
            else:
                physical = self._term(term, product)
                positive = True
            wildcard = wildcard or "*" in term
            spelled[physical] = term
            out.append(physical)
        if not positive and literal:
            raise no_such_index(literal, excluded=before_9)
        if not positive and not aliases:
            spelled[self.nothing] = text
            return self.nothing
        joined = ",".join(out)
        spelled[joined] = text
        return joined

    def everything(self, spelled: dict[str, str]) -> str:
        """The expression for all of the tenant's indices."""
        physical = self.prefix + "*"
        spelled[physical] = "_all"
        return physical

    def _term(self, term: str, product: bool) -> str:
        if term.startswith("<") and term.endswith(">") and len(term) > 2:
            if "'" in term:
                raise Refusal(f"date math with quotes is not allowed in index names: [{term}]")
            return "<" + self.prefix + term[1:]
        name, double, selector = term.partition("::")
        if double and (not product or selector not in ("data", "failures", "*")):
            raise no_such_index(term)
        if ":" in name:
            raise no_remote(term, product)
        return self.prefix + term


def empty_term(term: str, product: bool, before_9: bool) -> Refusal:
    if not product or before_9:
        return no_such_index(term, excluded=before_9 and bool(term))
    return invalid_index_name("", "exclusion cannot be empty" if term else "expression cannot be empty")


def forbidden(product: bool) -> str:
    """The set as each engine prints it."""
    return "[' ','\"','*',',','/','<','>','?','\\','|']" if product else '[ , ", *, \\, <, |, ,, >, /, ?]'


def no_remote(term: str, product: bool) -> Refusal:
    """There are no remote clusters for a tenant."""
    if not product:
        return no_such_index(term)
    alias = term.partition(":")[0]
    return Refusal(f"no such remote cluster: [{alias}]", status=404, type="no_such_remote_cluster_exception")
