"""Bindings: what each layout does at each kind.

A layout is nothing but these tables: the rule tables say where the kinds are, the core does what a binding says. One function
per layout and direction returns a dict from kind to action, so that a test can switch any of them off.

``dedicated``: names get the tenant's prefix and lose it on the way back. Ids, routing, fields, queries and documents are
copied. A field value ``_index`` is watched for: buckets and sort values of an answer will then be physical names.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind, Op
from esproxy.core import Action

NAMES = (Kind.INDEX, Kind.EXPR, Kind.ALIAS)
NAMESPACES = (Kind.PIPELINE, Kind.STORED_SCRIPT, Kind.SEARCH_PIPELINE, Kind.TEMPLATE, Kind.PATTERN)


def dedicated_request(prefix: bytes) -> dict[Kind, Action]:
    """Requests of a tenant whose physical names begin with ``prefix``."""
    return {
        **dict.fromkeys(NAMES, Action(Op.PREFIX, prefix)),
        **dict.fromkeys(NAMESPACES, Action(Op.PREFIX, prefix)),
        Kind.INDEX: Action(Op.PREFIX, prefix, absent=b'"' + prefix + b'shapes"'),  # where nodes look when no index is named
        # Errors tell these without a word around them, so they have to be remembered.
        **dict.fromkeys((Kind.STORED_SCRIPT, Kind.SEARCH_PIPELINE), Action(Op.STOP)),
        **_common_request(),
    }


def pattern_request() -> dict[Kind, Action]:
    """Requests whose tenant is told by the index names in them: every name is looked at."""
    stops = dict.fromkeys(NAMES + NAMESPACES, Action(Op.STOP))
    return {**stops, Kind.INDEX: Action(Op.STOP, absent=b'"_"'), **_common_request()}  # "_" is no index on any node


def _common_request() -> dict[Kind, Action]:
    return {
        Kind.FIELD: Action(Op.WATCH, b"_index"),
        Kind.SETTINGS: Action(Op.STOP),
        Kind.LUCENE: Action(Op.STOP),
        Kind.KQL: Action(Op.STOP),
        Kind.WRAPPER: Action(Op.STOP),
        Kind.SCRIPT: Action(Op.STOP),
        Kind.CURSOR: Action(Op.STOP),
        Kind.TASK: Action(Op.REFUSE, b"tasks are not available here"),
    }


def dedicated_answer(prefix: bytes, *, keep_tags: bool) -> dict[Kind, Action]:
    """Answers for such a tenant. ``keep_tags``: the client itself asked for typed keys."""
    actions = {
        **dict.fromkeys(NAMES, Action(Op.STRIP, prefix)),
        **dict.fromkeys(NAMESPACES, Action(Op.STRIP, prefix)),
        Kind.TEXT: Action(Op.STOP),
        Kind.STORED_SCRIPT: Action(Op.STOP),
        Kind.SETTINGS: Action(Op.STOP),
        Kind.CURSOR: Action(Op.STOP),
        Kind.TASK: Action(Op.STOP),
        Kind.SCRIPT: Action(Op.STOP),
        Kind.LUCENE: Action(Op.STOP),
        Kind.NODE: Action(Op.STOP),
        Kind.ADDRESS: Action(Op.STOP),
        Kind.HIDDEN: Action(Op.DROP),
    }
    if not keep_tags:
        actions[Kind.TAGGED] = Action(Op.STRIP)
    return actions


def name_collector() -> dict[Kind, Action]:
    """A pass that changes nothing: it shows the resolver every name that an answer holds."""
    return dict.fromkeys(NAMES, Action(Op.STOP))
