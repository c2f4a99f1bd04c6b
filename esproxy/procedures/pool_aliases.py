"""Aliases of a tenant in pools. They are in its directory alone; the cluster knows none of them."""

from __future__ import annotations

from typing import Any

from esproxy.answer import encode
from esproxy.catalogue.documents import Alias, Directory, Targets
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal, json_headers, no_such_index
from esproxy.exchange import Reply
from esproxy.procedures.alias import change_aliases
from esproxy.procedures.pool_admin import answer, check_properties, declaration, echo, known_parameters
from esproxy.procedures.pooled import Pooled, check_new_name
from esproxy.tenancy.expressions import Options, matching


def get_alias(request: Pooled) -> Steps[Reply]:
    plan = request.plan
    known_parameters(request)
    targets = yield from request.some(request.parts.get("index", "_all"))
    directory = request.sight.directory
    assert directory is not None
    named = request.parts.get("name")
    patterns = [] if named in (None, "_all", "*") else str(named).split(",")
    out: dict[str, Any] = {}
    seen: set[str] = set()
    for target in targets:
        own = {name: echo(a.now[target.name]) for name, a in sorted(directory.aliases.items()) if target.name in a.now}
        if patterns:
            kept = {name for pattern in patterns for name in matching(pattern, list(own))}
            own = {name: properties for name, properties in own.items() if name in kept}
        seen |= own.keys()
        if own or named is None:
            out[target.name] = {"aliases": own}
    absent = [name for name in patterns if "*" not in name and name not in seen]
    if plan.head.method == "HEAD" and named is not None and not seen:
        return Reply(404, json_headers(request.product), b"")
    if absent:
        words = "alias" if len(absent) == 1 else "aliases"
        tree = {"error": f"{words} [{','.join(sorted(absent))}] missing", "status": 404, **out}
        return Reply(404, json_headers(request.product), encode(plan, tree))
    return answer(request, out)


def put_alias(request: Pooled) -> Steps[Reply]:
    plan = request.plan
    known_parameters(request)
    properties = {key: value for key, value in declaration(request).items() if key not in ("index", "alias")}
    found, _ = yield from request.resolved(request.parts["index"], Options.of(plan.query, aliases=False))
    alias = request.parts["name"]
    check_new_name(alias, request.product)
    check_properties(properties)
    indices = list(found.found)
    yield from _change(request, [("add", index, alias, properties) for index in indices])
    return answer(request, {"acknowledged": True})


def delete_alias(request: Pooled) -> Steps[Reply]:
    plan = request.plan
    known_parameters(request)
    found, directory = yield from request.resolved(request.parts["index"], Options.of(plan.query, aliases=False))
    actions = _removals(directory, list(found.found), request.parts["name"].split(","))
    if not actions:
        raise _alias_missing(request.parts["name"])
    yield from _change(request, actions)
    return answer(request, {"acknowledged": True})


def update_aliases(request: Pooled) -> Steps[Reply]:
    known_parameters(request)
    tree = declaration(request)
    changes: list[tuple[str, str, str, dict[str, Any]]] = []
    for action in tree.get("actions") or []:
        if not isinstance(action, dict) or len(action) != 1:
            raise Refusal("Too many operations declared on operation entry")
        verb, options = next(iter(action.items()))
        changes += yield from _action(request, verb, dict(options))
    if not changes:
        raise Refusal("No action specified")
    yield from _change(request, changes)
    return answer(request, {"acknowledged": True})


def _action(request: Pooled, verb: str, options: dict[str, Any]) -> Steps[list[tuple[str, str, str, dict[str, Any]]]]:
    if verb not in ("add", "remove"):
        raise Refusal(f"the action [{verb}] on aliases is not available yet for indices in a pool")
    indices = _list(options.pop("index", None)) + _list(options.pop("indices", None))
    aliases = _list(options.pop("alias", None)) + _list(options.pop("aliases", None))
    must_exist = options.pop("must_exist", None)
    if not indices:
        raise Refusal("One of [index] or [indices] is required")
    found, directory = yield from request.resolved(",".join(indices), Options(aliases=False))
    if verb == "remove":
        removals = _removals(directory, list(found.found), aliases)
        if not removals and must_exist is not False:
            raise _alias_missing(",".join(aliases))
        return removals
    for alias in aliases:
        check_new_name(alias, request.product)
    check_properties(options)
    return [("add", index, alias, options) for index in found.found for alias in aliases]


def _change(request: Pooled, changes: list[tuple[str, str, str, dict[str, Any]]]) -> Steps[None]:
    """All at once. The directory is the one that the change is written to, so what it no longer has is refused then."""

    def wanted(directory: Directory) -> dict[str, Targets]:
        out: dict[str, Targets] = {}
        for verb, index, alias, properties in changes:
            if index not in directory.indices:
                raise no_such_index(index)
            if alias in directory.indices:
                reason = f"Invalid alias name [{alias}]: an index or data stream exists with the same name as the alias"
                raise Refusal(reason, type="invalid_alias_name_exception", index_uuid="_na_", index=alias)
            now = out.setdefault(alias, dict(directory.aliases.get(alias, Alias({})).now))
            if verb == "add":
                now[index] = properties
            else:
                now.pop(index, None)
        return out

    yield from change_aliases(request.cat, request.tenant, wanted)
    request.sight.used.clear()  # what this rests on is what it has changed


def _removals(directory: Directory, indices: list[str], patterns: list[str]) -> list[tuple[str, str, str, dict[str, Any]]]:
    out: list[tuple[str, str, str, dict[str, Any]]] = []
    for pattern in patterns:
        for alias in matching("*" if pattern == "_all" else pattern, sorted(directory.aliases)):
            out += [("remove", index, alias, {}) for index in indices if index in directory.aliases[alias].now]
    return out


def _alias_missing(name: str) -> Refusal:
    extra = {"resource.type": "aliases", "resource.id": name}
    return Refusal(f"aliases [{name}] missing", status=404, type="aliases_not_found_exception", **extra)


def _list(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else str(value).split(",")
