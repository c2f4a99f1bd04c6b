"""Ingest pipelines of a tenant: which processors it may have, and how what they do stays its own.

A client's pipeline is kept twice. *Inside*, under a name that no client can say (``acme~p``), it is as the client wrote it, but
for the names of other pipelines and of stored scripts in it. *Outside*, under the tenant's prefix, where writes and settings of
indices find it, is one of ours::

    take the prefix off ctx._index · run the inside one · put the prefix before ctx._index

So a pipeline sees and gives logical names, however it comes by them (scripts, templates, copies of fields, dates), and whatever
it makes of ``_index`` is the tenant's: the prefix is put there behind everything that the client's processors can do, their own
handlers of failures and ``terminate`` included. What fails inside ends the write of that document. The one processor that goes on
past the end, ``reroute``, is not taken, nor is any that reaches beyond the document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from esproxy.errors import Refusal
from esproxy.plan import Plan

# What works on the document and on nothing else.
PROCESSORS = frozenset(
    ("acl_routing", "append", "attachment", "bytes", "cef", "circle", "community_id", "convert", "copy", "csv", "date",
     "date_index_name", "dissect", "dot_expander", "drop", "fail", "fingerprint", "foreach", "grok", "gsub",
     "hierarchical_routing", "html_strip", "join", "json", "kv", "lowercase", "network_direction", "normalize_for_stream",
     "pipeline", "recover_failure_document", "redact", "registered_domain", "remove", "remove_by_pattern", "rename", "script",
     "set", "sort", "split", "terminate", "trim", "uppercase", "uri_parts", "urldecode", "user_agent")
)  # fmt: skip
WHY = {
    "reroute": "it ends the pipeline without what keeps a document in your indices",
    "enrich": "its policies are the whole cluster's",
    "inference": "its models are the whole cluster's",
    "geoip": "its databases are the node's, which fetches them",
    "ip_location": "its databases are the node's, which fetches them",
    "set_security_user": "it tells of the user of the proxy",
}
FILES = frozenset(("regex_file", "database_file", "ignore_missing_database"))  # options that name a node's files
MAX_DEPTH = 50
# One script for all tenants, so that nodes compile it once.
TAKE = (
    "def i = ctx._index; if (i.startsWith(params.p)) { ctx._index = i.substring(params.p.length()) } "
    "else if (i.startsWith('<' + params.p)) { ctx._index = '<' + i.substring(params.p.length() + 1) } "
    "else { throw new IllegalArgumentException('the document is in no index of yours') }"
)
PUT = (
    "def i = ctx._index; if (!(i instanceof String) || i.length() == 0) "
    "{ throw new IllegalArgumentException('the document is in no index') } "
    "if (i.startsWith('<') && i.contains('\\'')) "
    "{ throw new IllegalArgumentException('date math with quotes is not allowed in index names') } "
    "ctx._index = i.startsWith('<') ? '<' + params.p + i.substring(1) : params.p + i"
)
Change = Callable[[str, dict[str, Any]], None]


def outside(inner: str, prefix: str, name: str) -> dict[str, Any]:
    """The pipeline around the client's."""

    def script(source: str) -> dict[str, Any]:
        return {"script": {"lang": "painless", "source": source, "params": {"p": prefix}}}

    return {"processors": [script(TAKE), {"pipeline": {"name": inner + name}}, script(PUT)]}


def to_store(plan: Plan, body: Any) -> Any:
    """The inside pipeline for one that a client wrote. Raises Refusal."""
    _each(body, _named(plan, plan.owner().names.inside), 0, check=True)
    return body


def to_simulate(plan: Plan, body: Any) -> Any:
    """The body of a simulation. Its documents are in logical indices, as an inside pipeline sees them."""
    if isinstance(body, dict) and "pipeline" in body:
        body["pipeline"] = to_store(plan, body["pipeline"])
    return body


def restored(inner: str, prefix: str, pipeline: Any) -> Any:
    """The client's pipeline of an inside one."""

    def change(kind: str, options: dict[str, Any]) -> None:
        if kind == "pipeline" and isinstance(options.get("name"), str):
            options["name"] = options["name"].removeprefix(inner)
        elif kind == "script" and isinstance(options.get("id"), str):
            options["id"] = options["id"].removeprefix(prefix)

    _each(pipeline, change, 0, check=False)
    return pipeline


def _named(plan: Plan, inner: str) -> Change:
    def change(kind: str, options: dict[str, Any]) -> None:
        if kind == "pipeline" and "name" in options:
            options["name"] = inner + _text(kind, "name", options["name"])
        elif kind == "script" and "id" in options:
            options["id"] = plan.runs_stored(_text(kind, "id", options["id"]))
        elif kind == "script" and isinstance(options.get("source"), str):
            plan.runs(options["source"], options["source"])

    return change


def _text(kind: str, option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise Refusal(f"[{option}] property isn't a string, but of another type", type="parse_exception", processor_type=kind)
    return value


def _each(tree: Any, change: Change, depth: int, *, check: bool) -> None:
    """Every processor of a pipeline, and of a processor, at any depth."""
    if depth > MAX_DEPTH:
        raise Refusal("processors are nested too deep")
    if not isinstance(tree, dict):
        return
    for key in ("processors", "on_failure"):
        listed = tree.get(key)
        if check and key in tree and not isinstance(listed, list):
            raise Refusal(f"[{key}] property isn't a list, but of another type", type="parse_exception")
        for one in listed if isinstance(listed, list) else ():
            _processor(one, change, depth, check=check)


def _processor(one: Any, change: Change, depth: int, *, check: bool) -> None:
    if not isinstance(one, dict):
        if check:
            raise Refusal("a processor is an object with its type as key", type="parse_exception")
        return
    for kind, options in one.items():
        if check and kind not in PROCESSORS:
            reason = f"No processor type exists with name [{kind}]"
            if kind in WHY:
                reason = f"the processor [{kind}] cannot be used: {WHY[kind]}"
            raise Refusal(reason, type="parse_exception", processor_type=kind)
        if not isinstance(options, dict):
            continue
        if check and options.keys() & FILES:
            raise Refusal(f"files of a node cannot be used: {sorted(options.keys() & FILES)}", type="parse_exception")
        change(kind, options)
        _each({"on_failure": options["on_failure"]} if "on_failure" in options else {}, change, depth + 1, check=check)
        if "processor" in options:
            _processor(options["processor"], change, depth + 1, check=check)
