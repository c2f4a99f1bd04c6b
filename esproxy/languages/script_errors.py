"""Which script an error is about: its source, or its name.

Theory. A node keeps what it has compiled by language, source and context, whoever sent it, under the *name* it was first compiled
by: that of a stored script, or none. An error at run time tells the name, or the source where there is none. So it may tell a
name of another tenant's whose stored script has the same source, or the operator's::

    "script_stack": ["x.length()", " ^---- HERE"], "script": "zenith.secret"

What is told is shown only where it is known to be no such name:

* it is what this request has sent (``scripts``, and names of ``stored`` ones): the client's own words for it are shown;
* it is a source, because the error is one of compilation or of a template, which tell no names; or because the statement at
  fault, which stands before it, is a part of it, from where a statement can begin to where one can end; or because it is longer
  than names are shown (``NAME``; no stored script gets a longer one from a client);
* it is a name of the tenant's own: a bare node, too, shows one of its stored scripts for an equal source.

For all else the client sees what a bare node would say: the script of its own that the statement is of, or the one it named;
where the request brought none (a pipeline's, a task's, a cursor's), the statement, which is a part of its own source. Frames of
a stack trace have the same words in the place of a file's name.

What lost: a secret mark of the tenant in each stored source, so that no two tenants compile the same one. It shifts every
position that errors tell, has to be taken out of snippets that may be cut in its midst, and would not cover what is stored
already or by the operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson

from esproxy.languages.painless import CUT, restored_cut

NAME = 256  # of a name or a source that is run, nodes show so many characters and CUT
FRAME = "PainlessScript$Script"
IN_FRAME = re.compile(r"(PainlessScript\$Script[\w$]*\.[\w$<>]+\()(.*?)(:-?\d+\)(?=\n|$))", re.DOTALL)
HERE = b'^---- HERE"'
COMPILING = b'"compile error"'
OF_TEMPLATE = (b"@[query-template:", b'"Partial templates ', b'"Mustache function ')  # no script's error has such words there
FRONT = "... "
UNKNOWN = "<<< unknown portion of script >>>"  # a node's words
INSIDE = re.compile(r"[\w.$~-]")  # of a name, or of a word of a source


class Ran:
    """The scripts of one request, as errors of its answer tell them.

    ``scripts``: sources as they were sent → the client's; ``stored``: names as they were sent, or the client's sources that went
    in their place → the client's names."""

    __slots__ = ("prefix", "scripts", "shown", "stored")

    def __init__(self, prefix: str, scripts: Mapping[str, str], stored: Mapping[str, str]) -> None:
        self.prefix = prefix
        self.scripts = scripts
        self.stored = stored
        self.shown: dict[str, str] = {}  # for frames of stack traces, which come behind

    def called(self, told: str, said: tuple[bytes, bytes, bytes], restored: Callable[[str], str]) -> str:
        """What a client is told. ``said``: the three texts before it; ``restored``: gives a node's words as the client's."""
        compiling = said[0] == COMPILING or any(words in said[2] for words in OF_TEMPLATE)
        at_fault = _at_fault(said)
        own = self._own(told, compiling)
        if own is None and (compiling or is_source(told, at_fault)):
            own = restored(told)
        if own is None and told.startswith(self.prefix):
            own = told.removeprefix(self.prefix)
        if own is None:
            own = self._meant(at_fault) or restored(at_fault) or UNKNOWN
        self.shown[told] = own
        return own

    def traced(self, text: str, restored: Callable[[str], str]) -> str:
        """A stack trace with the client's words in its frames."""

        def frame(found: re.Match[str]) -> str:
            told = found[2]
            own = self.shown[told] if told in self.shown else self.called(told, NOTHING, restored)
            return found[1] + own + found[3]

        return IN_FRAME.sub(frame, text)

    def _own(self, told: str, compiling: bool) -> str | None:
        """The client's own words for what it has sent."""
        if told in self.stored and told not in self.scripts and not compiling:
            return self.stored[told]
        front = told.removesuffix(CUT)
        for sent, own in self.scripts.items():
            if sent == told or (front and front is not told and sent.startswith(front)):
                name = None if compiling else self.stored.get(own)
                return name or (own if sent == told else restored_cut(told, sent, own))
        return None

    def _meant(self, at_fault: str) -> str:
        """The script of the request that has this statement, else the first that it named."""
        part = at_fault.removeprefix(FRONT).removesuffix(CUT)
        for sent, own in self.scripts.items():
            if part in sent:
                return self.stored.get(own) or (own if len(own) <= NAME else own[:NAME] + CUT)
        return next(iter(self.stored.values()), "")


NOTHING = (b"", b"", b"")


def _at_fault(said: tuple[bytes, bytes, bytes]) -> str:
    """The statement above the mark; empty where there is none."""
    return str(orjson.loads(said[1])) if said[2].endswith(HERE) else ""


def is_source(told: str, at_fault: str) -> bool:
    """Whether it can be nothing but the source in which this statement stands."""
    if told.endswith(CUT) and len(told.encode("utf-16-le", "surrogatepass")) // 2 >= NAME + len(CUT):
        return True
    if not at_fault or told == at_fault:
        return bool(at_fault)
    part = at_fault.removeprefix(FRONT).removesuffix(CUT)
    begins, ends = at_fault.startswith(FRONT), at_fault.endswith(CUT)
    at = told.find(part) if part else -1
    while at != -1:
        front = begins or not at or not INSIDE.match(told[at - 1])
        if front and (ends or at + len(part) == len(told) or not INSIDE.match(part[-1])):
            return True
        at = told.find(part, at + 1)
    return False
