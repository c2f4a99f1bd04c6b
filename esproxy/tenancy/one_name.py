"""Names that stand for exactly one index: of a new one, and of the one that an operation is on."""

from __future__ import annotations

from esproxy.catalogue.documents import Directory
from esproxy.errors import Refusal, invalid_index_name, no_such_index
from esproxy.tenancy.expressions import concrete
from esproxy.tenancy.names import FORBIDDEN, LEADING, forbidden


def behind(alias: str, directory: Directory, write: bool) -> str:
    """The index that an alias stands for where there can be only one."""
    targets = {name: p for name, p in directory.aliases[alias].now.items() if concrete(directory, name)}
    if write:
        writers = [name for name, properties in targets.items() if properties.get("is_write_index")]
        if writers:
            return writers[0]
        if len(targets) == 1 and "is_write_index" not in next(iter(targets.values())):
            return next(iter(targets))
        reason = (
            f"no write index is defined for alias [{alias}]. The write index may be explicitly disabled using"
            " is_write_index=false or the alias points to multiple indices without one being designated as a write index"
        )
        raise Refusal(reason)
    if len(targets) != 1:
        told = ", ".join(sorted(targets))
        reason = f"alias [{alias}] has more than one index associated with it [{told}], can't execute a single index op"
        raise Refusal(reason)
    return next(iter(targets))


def no_alias(name: str) -> Refusal:
    """What a node says where ``require_alias`` was asked for."""
    reason = f"no such index [{name}] and [require_alias] request flag is [true] and [{name}] is not an alias"
    return Refusal(reason, status=404, type="index_not_found_exception", index=name, index_uuid="_na_")


def unresolved(name: str) -> Refusal:
    """What a node says where a name that it has not resolved is no index's."""
    return Refusal(f"no such index [{name}]", status=404, type="index_not_found_exception", index=name, index_uuid="_na_")


def missing(name: str, product: bool, before_9: bool) -> Refusal:
    """What a node says where exactly one index is named."""
    if before_9 and name.startswith("-"):
        return no_such_index(name, excluded=True)
    if product and (name == "_all" or name.startswith("-")):
        return Refusal("unable to return a single index as the index and options provided got resolved to multiple indices")
    return no_such_index(name, single=not product)


def check_new_name(name: str, product: bool) -> None:
    """Raises Refusal for a name that no index can have, in a node's words."""
    if not name:
        raise invalid_index_name(name, "must not be empty")
    if product and name != name.lower():
        raise invalid_index_name(name, "must be lowercase")
    if any(c in FORBIDDEN for c in name):
        raise invalid_index_name(name, f"must not contain the following characters {forbidden(product)}")
    if "#" in name:
        raise invalid_index_name(name, "must not contain '#'")
    if ":" in name:
        raise invalid_index_name(name, "must not contain ':'")
    if name.startswith(LEADING):
        raise invalid_index_name(name, "must not start with '_', '-', or '+'")
    if len(name.encode()) > 255:
        raise invalid_index_name(name, f"index name is too long, ({len(name.encode())} > 255)")
    if name in (".", ".."):
        raise invalid_index_name(name, "must not be '.' or '..'")
    if name != name.lower():  # OpenSearch looks at this last
        raise invalid_index_name(name, "must be lowercase")
