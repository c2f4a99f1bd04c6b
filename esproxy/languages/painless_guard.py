"""A script that decides into which index a document goes, kept among its tenant's.

A script of ``_reindex`` may write ``ctx._index``, in more ways than any lexer sees (``ctx['_in' + 'dex']``), and what it makes of
a document is written, or deleted, without a pipeline having to run. So the source is not searched but put into a function, and
what is behind the call of the function is ours::

    (functions of the source's own)
    void esproxyRun(Map ctx, Map params) {
    (the rest of the source)
    }
    take the prefix off ctx._index · esproxyRun(ctx, params) · put it before whatever is there now

A function is left by its end, by ``return``, or by what ends the whole request; so nothing passes by what is behind the call.
That the source stays inside is its brackets': they are paired by the same lexer that reads all scripts, which refuses what it
could read differently than a node. The function sees and gives logical names. An index that the script leaves alone stays the
node's choice.
"""

from __future__ import annotations

from esproxy.languages import LanguageError
from esproxy.languages.painless import quote
from esproxy.languages.painless_lexer import Kind, tokenize
from esproxy.languages.painless_scan import Context, Scanner

RUN = "esproxyRun"
FRONT = f"void {RUN}(Map ctx, Map params) {{"  # on the first line, which errors quote
BEHIND = (
    "}} String esproxyGiven = ctx._index; String esproxyPrefix = {prefix}; "
    "String esproxyTold = esproxyGiven.startsWith(esproxyPrefix) ? esproxyGiven.substring({length}) : esproxyGiven; "
    f"ctx._index = esproxyTold; {RUN}(ctx, params); def esproxyMade = ctx._index; "
    "if (esproxyTold.equals(esproxyMade)) {{ ctx._index = esproxyGiven }} else {{ "
    "if (!(esproxyMade instanceof String) || esproxyMade.length() == 0) "
    "{{ throw new IllegalArgumentException('the document is in no index') }} "
    "if (esproxyMade.startsWith('<') && esproxyMade.contains('\\'')) "
    "{{ throw new IllegalArgumentException('date math with quotes is not allowed in index names') }} "
    "ctx._index = esproxyMade.startsWith('<') ? '<' + esproxyPrefix + esproxyMade.substring(1) : esproxyPrefix + esproxyMade }}"
)

NO_TYPES = frozenset(("else", "if", "return", "new", "throw", "do", "for", "while", "try", "catch", "in", "instanceof"))


def guarded(source: str, prefix: str) -> str:
    """The source around a client's. Raises LanguageError for what no node would read, or we could read differently."""
    last = tokenize(source)[-1:]
    if last and last[0].kind is Kind.COMMENT and last[0].text.startswith("//") and not last[0].text.endswith(("\n", "\r")):
        raise LanguageError(last[0].start, "a comment is not ended")  # nor is it for a node
    at = _behind_functions(source)
    return source[:at] + FRONT + source[at:] + _behind(prefix)


def unguarded(text: str, prefix: str) -> str:
    """Text that quotes such a source, or a part of one, as errors do: without what is ours, or at least without the prefix."""
    return text.replace(FRONT, "").replace(_behind(prefix), "").replace(f"'{prefix}", "'")


def _behind(prefix: str) -> str:
    return BEHIND.format(prefix=quote(prefix), length=len(prefix))


def _behind_functions(source: str) -> int:
    """Where the functions that a source begins with end: they cannot stand in another one."""
    scanner = Scanner(source, Context.WRITE)
    at = end = 0
    while True:
        brace = _body_of_function(scanner, at)
        if brace is None:
            return end
        close = scanner.close[brace]
        at, end = close + 1, scanner.tokens[close].end


def _body_of_function(scanner: Scanner, at: int) -> int | None:
    """The bracket that opens the body, where a function begins: a type, a name, what it takes."""
    words = 0
    while at < len(scanner.tokens):
        token = scanner.tokens[at]
        if token.text in NO_TYPES:
            return None
        if token.kind in (Kind.NAME, Kind.KEYWORD):
            words += scanner.text(at - 1) != "." or not words
        elif scanner.text(at) == "(":
            brace = scanner.close[at] + 1
            return brace if words == 2 and scanner.text(brace) == "{" else None
        elif scanner.text(at) not in (".", "[", "]"):
            return None
        at += 1
    return None
