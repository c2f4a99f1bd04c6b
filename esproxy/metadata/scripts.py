"""Stored scripts.

A stored script is compiled in whatever context it is used, so what it reads is looked for in all of them. A template is stored as
it is: it is read when it has been rendered (``esproxy.procedures.rendered``). One template a node renders by itself, behind the
proxy: the query that a phrase suggestion is collated with. There it refuses whatever would look into another index (tried: term
lookups and documents to be like "prevent cachability").
"""

from __future__ import annotations

from typing import Any

from esproxy.errors import Refusal
from esproxy.languages import LanguageError, painless
from esproxy.plan import Plan


def to_store(plan: Plan, body: Any) -> Any:
    """The body of ``put_script`` for one that a client wrote. Raises Refusal."""
    script = body.get("script") if isinstance(body, dict) else None
    if isinstance(script, dict) and script.get("lang") == "painless" and isinstance(script.get("source"), str):
        script["source"] = stored_source(script["source"], plan.owner().names.prefix)
    return body


def stored_source(source: str, prefix: str) -> str:
    """A Painless source that sees and gives names without the prefix, wherever it is used."""
    try:
        for context in (painless.Context.WRITE, painless.Context.SEARCH):
            written = painless.rewrite(source, _same, prefix, context=context)
            if written is not source and written != source:
                return written
    except LanguageError as error:
        raise Refusal(f"the script cannot be understood: {error}", type="script_exception") from None
    return source


def _same(name: str) -> str:
    return name
