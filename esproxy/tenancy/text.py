"""Free text of answers in which physical names may be quoted: error reasons, warnings, explanations.

A physical name looks like a dotted field path (``acme.logs``), and a tenant may well have a field ``acme.logs``; so text
is not searched for the prefix alone. A token under the prefix is a name when it is one that this exchange has sent
or received at a place that holds names, or when it stands where nodes quote indices (``index [x]``, ``[x][0]``).
Everything else is the client's own text and stays.
"""

from __future__ import annotations

import re

from esproxy.languages.lucene_lexer import escape

NAME_CHARS = frozenset(",abcdefghijklmnopqrstuvwxyz0123456789_.-*~+<>{}/|!@$%&()=;ABCDEFGHIJKLMNOPQRSTUVWXYZ")
WITH_UUID = re.compile(r"/[\w-]{22}(?=\]|$)")
BEFORE_NAME = frozenset(" [\"'(,-</=:{")
CONTEXTS = (
    "index [",
    "indices [",
    "alias [",
    "aliases [",
    "alias name [",
    "templates [",
    "index_or_alias [",
    "data stream [",
    "index name [",
    "pipeline [",
    "pipeline with id [",
    "associated with it [",
    "is [true] and [",
    "find script [",
    "document not found [",
    "expression [",
    "its reading from [",
)


def restore_text(text: str, prefix: str, spelled: dict[str, str], *, anywhere: bool = False) -> str:
    """``text`` with the tenant's physical names turned into logical ones.

    ``spelled``: physical term → what the client wrote, for terms that were sent or seen. ``anywhere``: every token under the
    prefix is a name.
    """
    at = text.find(prefix)
    if at == -1:
        return text
    out: list[str] = []
    done = 0
    while at != -1:
        end = at + len(prefix)
        if at == 0 or text[at - 1] in BEFORE_NAME:
            while end < len(text) and text[end] in NAME_CHARS:
                end += 1
            token, logical = _known(text[at:end], spelled)
            if logical is None and (anywhere or _quoted(text, at, end)):
                token = text[at:end].partition(",")[0]
                logical = token[len(prefix) :]
            if logical is not None:
                out.append(text[done:at])
                out.append(logical)
                done = end = at + len(token)
        at = text.find(prefix, end)
    out.append(text[done:])
    return "".join(out)


def quoted(text: str, physical: str, name: str) -> str:
    """Text with a field's name as the client knows it, wherever it stands whole."""
    if escape(physical) in text:
        text = text.replace(escape(physical), escape(name))
    return re.sub(rf"(?<![\w.~]){re.escape(physical)}(?![\w~])", lambda _: name, text) if physical in text else text


def _known(token: str, spelled: dict[str, str]) -> tuple[str, str | None]:
    """The longest beginning of the token that is a known name: text goes on after it with ``.`` or ``/``."""
    while token:
        if token in spelled:
            return token, spelled[token]
        cut = max(token.rfind(c) for c in "./>:)},")
        if cut <= 0:
            break
        token = token[:cut]
    return token, None


def _quoted(text: str, at: int, end: int) -> bool:
    """Whether nodes quote an index here: after a word for it, in a comma list behind one, before a shard number, or with its
    uuid."""
    if text.endswith("Pipeline ", 0, at):  # of searches
        return True
    if text.startswith("][", end) and text[end + 2 : end + 3].isdigit():
        return True
    if text[at - 1 : at] == "[" and text[end : end + 1] == "]" and WITH_UUID.search(text, at, end):
        return True
    opened = text.rfind("[", 0, at)
    return opened != -1 and "]" not in text[opened:at] and text[: opened + 1].lower().endswith(CONTEXTS)
