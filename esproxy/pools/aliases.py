"""Aliases of a tenant in pools. They are in its directory alone; the cluster knows none of them.

A change is worked out on the directory that it is written to, so what that one no longer has is refused then. An alias's filter
is kept as the client wrote it, and rewritten for the index whenever it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from esproxy import bodies
from esproxy.answer import encode, restore_error
from esproxy.catalogue.documents import Alias, Directory, Targets
from esproxy.catalogue.store import Steps
from esproxy.cluster import Cluster
from esproxy.errors import Refusal, no_such_index
from esproxy.exchange import Reply
from esproxy.pools.bodies import filter_body
from esproxy.pools.declared import acknowledged, answer, declaration, known_parameters
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.procedures.alias import change_aliases
from esproxy.replies import json_headers
from esproxy.rewriting.places import text_of
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.names import FORBIDDEN, LEADING, forbidden
from esproxy.tenancy.placement import DEDICATED
from esproxy.tenancy.target import Target

PROPERTIES = ("filter", "index_routing", "is_hidden", "is_write_index", "search_routing")
NO_UUID = "_" * 22  # of an index that is not made
ACTIONS = ("add", "remove", "remove_index")
Change = tuple[str, str, str, dict[str, Any]]  # verb, index, alias, properties
Result = dict[str, Any]


# --- read ----------------------------------------------------------------------------------------------


def get_alias(request: Pooled) -> Steps[Reply]:
    """Which aliases are there is answered for the index; which of those named are missing, for all indices together."""
    plan = request.plan
    known_parameters(request)
    targets = yield from some(request, request.parts.get("index", "_all"))
    directory = request.seen
    named = request.parts.get("name")
    patterns = [] if named in (None, "_all", "*") else str(named).split(",")
    out: dict[str, Any] = {}
    seen: set[str] = set()
    for target in targets:
        own = aliases_of(directory, target.name)
        if patterns:
            own = {name: own[name] for name in own if name in chosen(patterns, list(own))}
        seen |= own.keys()
        if own or named is None:
            out[target.name] = {"aliases": own}
    absent = _absent(patterns, seen)
    if absent:
        words = "alias" if len(absent) == 1 else "aliases"
        tree = {"error": f"{words} [{','.join(sorted(absent))}] missing", "status": 404, **out}
        return Reply(404, json_headers(request.product, plan.head.get(b"accept")), encode(plan, tree))
    return answer(request, out)


def chosen(patterns: list[str], names: list[str]) -> set[str]:
    """The names that patterns and exclusions come to, in order."""
    chosen: set[str] = set()
    for pattern in patterns:
        if pattern.startswith("-"):
            chosen -= set(matching(pattern[1:], names))
        else:
            chosen |= set(matching(pattern, names))
    return chosen


def _absent(patterns: list[str], seen: set[str]) -> list[str]:
    """The names that were asked for and not seen. A name that an exclusion behind the first pattern takes away was not asked
    for; an exclusion before the first pattern is a name like any other, and no alias has such a one.
    """
    first = next((place for place, text in enumerate(patterns) if "*" in text), len(patterns))
    absent = []
    for place, name in enumerate(patterns):
        if "*" in name or name in seen or (place > first and name.startswith("-")):
            continue
        later = [text[1:] for text in patterns[max(place + 1, first) :] if text.startswith("-")]
        if not any(matching(text, [name]) for text in later):
            absent.append(name)
    return absent


def aliases_of(directory: Directory, index: str) -> dict[str, Any]:
    return {name: alias.now[index] for name, alias in sorted(directory.aliases.items()) if index in alias.now}


# --- changed -------------------------------------------------------------------------------------------


def put_alias(request: Pooled) -> Steps[Reply]:
    known_parameters(request)
    tree = declaration(request)
    alias = _named(tree.get("alias")) or request.parts.get("name")  # the body goes before the path
    index = _named(tree.get("index")) or request.parts.get("index")
    if not index:
        raise Refusal("[indices] can't be empty")
    if not alias:
        raise Refusal("[alias] can't be empty string")
    properties = alias_properties({key: value for key, value in tree.items() if key not in ("index", "alias")})
    found, _ = yield from request.resolved(index, request.options())
    yield from _change(request, [("add", name, alias, properties) for name in found.found])
    return _acknowledged(request)


def _named(value: Any) -> str | None:
    """A name in a body as nodes read it: of a list the last one, an object is none."""
    if isinstance(value, list):
        value = value[-1] if value else None
    return value if isinstance(value, str) else None


def delete_alias(request: Pooled) -> Steps[Reply]:
    known_parameters(request)
    found, directory = yield from request.resolved(request.parts["index"], request.options())
    names = request.parts["name"].split(",")
    actions = _removals(directory, list(found.found), names)
    if not actions:
        raise _alias_missing(names)
    yield from _change(request, actions)
    return _acknowledged(request)


def update_aliases(request: Pooled) -> Steps[Reply]:
    known_parameters(request)
    tree = declaration(request, required=True)
    changes: list[Change] = []
    results: list[Result] = []
    actions = tree.get("actions") or []
    if not actions:
        raise Refusal("No action specified")
    for action in actions:
        if not isinstance(action, dict) or len(action) != 1:
            raise Refusal("Too many operations declared on operation entry")
        verb, options = next(iter(action.items()))
        found, result = yield from _action(request, verb, dict(options or {}))
        changes += found
        results.append(result)
    missed = [name for result in results if "error" in result for name in result["action"]["aliases"]]
    if changes:
        yield from _change(request, changes)
    elif missed:
        raise _alias_missing(missed)
    return _acknowledged(request, results)


def _acknowledged(request: Pooled, results: Sequence[Result] = ()) -> Reply:
    """Elasticsearch tells of each action, if there is one that came to nothing."""
    if not request.product:
        return acknowledged(request)
    errors = any("error" in result for result in results)
    return answer(request, {"acknowledged": True, "errors": errors} | ({"action_results": list(results)} if errors else {}))


def _action(request: Pooled, verb: str, options: dict[str, Any]) -> Steps[tuple[list[Change], Result]]:
    """The changes of an action, and how Elasticsearch tells of it."""
    if verb not in ACTIONS:
        raise Refusal(f"Unknown action [{verb}]")
    empty = next((name for name in ("aliases", "indices") if options.get(name) == []), None)
    if empty is not None:
        raise _unparsed(f"[{empty}] can't be empty")
    indices = _list(options.pop("index", None)) + _list(options.pop("indices", None))
    aliases = _list(options.pop("alias", None)) + _list(options.pop("aliases", None))
    must_exist = options.pop("must_exist", None)
    if not indices:
        raise _unparsed("One of [index] or [indices] is required")
    if not aliases and verb != "remove_index":
        raise _unparsed("One of [alias] or [aliases] is required")
    found, directory = yield from request.resolved(",".join(indices), request.options(), stay=True)
    result: Result = {"action": {"type": verb, "indices": list(found.found), "aliases": aliases}, "status": 200}
    if verb == "remove_index":
        return [(verb, index, "", {}) for index in found.found], result
    if verb == "remove":
        removals = _removals(directory, list(found.found), aliases)
        if not removals:
            missing = _alias_missing(aliases)
            if must_exist is True:
                raise missing
            if must_exist is None or request.product:  # OpenSearch does not miss what need not be there
                result |= {"status": 404, "error": missing.cause()}
        return removals, result
    properties = alias_properties(options)
    return [("add", index, alias, properties) for index in found.found for alias in aliases], result


def _unparsed(reason: str) -> Refusal:
    cause = Refusal(reason)
    return Refusal("[1:1] [aliases] failed to parse field [actions]", type="x_content_parse_exception", caused_by=cause.cause())


def _change(request: Pooled, changes: list[Change]) -> Steps[None]:
    """All at once in the directory. In a mixture, what is about indices of their own is done before, by the cluster."""
    directory = yield from request.look_beside(request.seen, {alias for verb, _, alias, _ in changes if verb == "add"})
    new_targets(directory, changes, request.plan.cluster)
    own = [change for change in changes if directory.indices[change[1]].layout == DEDICATED]
    changes = [change for change in changes if change not in own]
    for verb, index, alias, properties in changes:
        if verb == "add" and "filter" in properties:
            yield from check_filter(request, (yield from request.target(index, directory)), alias, properties)
    if own:
        yield from _change_own(request, own)
    if changes:
        leaving = [index for verb, index, _, _ in changes if verb == "remove_index"]
        cluster = request.plan.cluster
        yield from change_aliases(request.cat, request.tenant, lambda now: new_targets(now, changes, cluster), leaving)
    request.sight.used.clear()  # what this rests on is what it has changed


def _change_own(request: Pooled, changes: list[Change]) -> Steps[None]:
    plan = request.plan
    actions = [
        {verb: {"index": index, **properties} | ({"alias": alias} if alias else {})} for verb, index, alias, properties in changes
    ]
    state = plan.cluster.engine.tables.endpoints["indices.update_aliases"].request
    assert state is not None
    body = bodies.rewritten(plan, state, orjson.dumps({"actions": actions}), request.pools.max_depth)
    told = yield request.send("POST", ["_aliases"], {}, body, b"application/json")
    if told.status != 200:
        error = orjson.loads(restore_error(plan, told.body))["error"]
        words = {key: value for key, value in error.items() if key not in ("root_cause", "type", "reason")}
        raise Refusal(error["reason"], status=told.status, type=error["type"], **words)


def new_targets(
    directory: Directory, changes: list[Change], cluster: Cluster, *, making: str | None = None
) -> dict[str, Targets]:
    """What each changed alias will stand for. ``making``: an index that will be there. Raises Refusal."""
    leaving = {index for verb, index, _, _ in changes if verb == "remove_index"}
    out: dict[str, Targets] = {}
    for verb, index, alias, properties in changes:
        if index not in directory.indices and index != making:
            raise no_such_index(index)
        if verb == "remove_index":
            continue
        if verb == "add":
            _check_name(alias, cluster.product)
            if "," in properties.get("index_routing", ""):
                raise Refusal(f"alias [{alias}] has several index routing values associated with it")
            if alias == making:
                raise _self_conflict(alias, cluster.product)
            if alias in directory.indices and alias not in leaving:
                raise _taken(alias, cluster)
        now = out.setdefault(alias, dict(directory.aliases.get(alias, Alias({})).now))
        if verb == "add":
            now[index] = properties
        else:
            now.pop(index, None)
    for alias, now in out.items():
        for index in leaving:
            now.pop(index, None)
        writers = sorted(index for index, properties in now.items() if properties.get("is_write_index"))
        if len(writers) > 1:
            raise _two_writers(alias, writers, cluster.product)
        hidden = sorted(index for index, properties in now.items() if properties.get("is_hidden") in (True, "true"))
        if 0 < len(hidden) < len(now):
            raise _half_hidden(alias, hidden, sorted(now.keys() - set(hidden)))
    return out


def check_filter(request: Pooled, target: Target, alias: str, properties: dict[str, Any]) -> Steps[None]:
    """Let the node judge a filter, as it does when it is put."""
    if "filter" not in properties:
        return
    query = yield from filter_body(request, target, properties["filter"])
    body = orjson.dumps({"query": query})
    found = yield request.send("POST", [target.physical, "_count"], {}, body, b"application/json")
    if found.status != 200:
        told = orjson.loads(node_reply(request, found).body)["error"]
        shards = told.get("failed_shards") or []
        if shards:  # of which a node that puts a filter has none
            told = shards[0]["reason"]
            told = told.get("caused_by", told) if told["type"] == "query_shard_exception" else told
        cause = {key: value for key, value in told.items() if key != "root_cause"}
        raise Refusal(f"failed to parse filter for alias [{alias}]", caused_by=cause)


def alias_properties(given: dict[str, Any]) -> dict[str, Any]:
    """Those that are told. Raises Refusal."""
    given = dict(given)
    both = given.pop("routing", None)
    if both is not None:
        given = {"index_routing": both, "search_routing": both, **given}
    for key in given:
        if key not in PROPERTIES:
            raise Refusal(f"unknown field [{key}]")
        if key.endswith("routing") and given[key] is not None:
            given[key] = text_of(given[key])
    return {key: value for key, value in given.items() if value is not None and value != {}}


def _check_name(alias: str, product: bool) -> None:
    reason = None
    if not alias:
        reason = "must not be empty"
    elif any(c in FORBIDDEN for c in alias):
        reason = f"must not contain the following characters {forbidden(product)}"
    elif "#" in alias:
        reason = "must not contain '#'"
    elif ":" in alias:
        reason = "must not contain ':'"
    elif alias.startswith(LEADING):
        reason = "must not start with '_', '-', or '+'"
    elif len(alias.encode()) > 255:
        reason = f"index name is too long, ({len(alias.encode())} > 255)"
    elif alias in (".", ".."):
        reason = "must not be '.' or '..'"
    if reason is not None:
        raise Refusal(f"Invalid alias name [{alias}]: {reason}", type="invalid_alias_name_exception")


def _taken(alias: str, cluster: Cluster) -> Refusal:
    words = "an index or data stream exists" if cluster.before_9 else "an index, data stream, or ESQL view exists"
    words = f": {words}" if cluster.product else ", an index exists"
    reason = f"Invalid alias name [{alias}]{words} with the same name as the alias"
    known = {} if cluster.product else {"index": alias, "index_uuid": "_na_"}
    return Refusal(reason, type="invalid_alias_name_exception", **known)


def _self_conflict(alias: str, product: bool) -> Refusal:
    if product:
        return Refusal(f"alias name [{alias}] self-conflicts with index name")
    reason = (
        "index, alias, and data stream names need to be unique, but the following duplicates were found"
        f" [{alias} (alias of [{alias}/{NO_UUID}]) conflicts with index]"
    )
    return Refusal(reason, status=500, type="illegal_state_exception")


def _two_writers(alias: str, writers: list[str], product: bool) -> Refusal:
    reason = f"alias [{alias}] has more than one write index [{','.join(writers)}]"
    return Refusal(reason, status=500, type="illegal_state_exception")


def _half_hidden(alias: str, hidden: list[str], others: list[str]) -> Refusal:
    reason = (
        f"alias [{alias}] has is_hidden set to true on indices [{','.join(hidden)}] but does not have is_hidden set to true on"
        f" indices [{','.join(others)}]; alias must have the same is_hidden setting on all indices"
    )
    return Refusal(reason, status=500, type="illegal_state_exception")


def _removals(directory: Directory, indices: list[str], patterns: list[str]) -> list[Change]:
    out: list[Change] = []
    for pattern in patterns:
        for alias in matching("*" if pattern == "_all" else pattern, sorted(directory.aliases)):
            out += [("remove", index, alias, {}) for index in indices if index in directory.aliases[alias].now]
    return out


def _alias_missing(names: list[str]) -> Refusal:
    told: Any = names[0] if len(names) == 1 else names
    extra = {"resource.type": "aliases", "resource.id": told}
    return Refusal(f"aliases [{', '.join(names)}] missing", status=404, type="aliases_not_found_exception", **extra)


def _list(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list) else str(value).split(",")
