"""Where a script reaches its document: the scanner behind ``painless.scan`` (the theory is there).

Token positions, not characters, are indices here. Brackets are paired once, so that a step over ``[…]`` or ``(…)`` costs
nothing, and every chain is read once: the work is linear in the source.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from esproxy.languages import LanguageError
from esproxy.languages.painless_lexer import Kind, Token, tokenize

MAX_DEPTH = 200  # open brackets
MAX_WRITES = 64  # assignments to ctx._index; each looks for the end of its expression
ASSIGNMENTS = frozenset("= += -= *= /= %= &= ^= |= <<= >>= >>>= ++ --".split())
KEYED = frozenset("get getOrDefault containsKey put putIfAbsent remove replace".split())  # first argument: a key
ONE_KEY = frozenset(("get", "containsKey"))  # of these, those that take nothing else
VALUE_STEPS = frozenset(("value", "getValue", "get", "[]"))  # from doc['_index'] to its name
HARMLESS = frozenset(("size", "isEmpty", "empty", "length"))
FIELD_FUNCTIONS = frozenset(
    "cosineSimilarity dotProduct l1norm l2norm hamming maxSimDotProduct maxSimInvHamming randomScore".split()
)


class Context(Enum):
    SEARCH = "search"  # fields, scores, filters, sorts, aggregations, runtime fields
    WRITE = "write"  # update, update and delete by query, reindex, ingest


class Ref(Enum):
    DOC = "doc"  # a field's values
    SOURCE = "source"  # a path in the document; as far as it is literal, so it may run past the field's name
    FIELD = "field"  # a name given to a function
    INDEX = "_index"
    ID = "_id"
    ROUTING = "_routing"
    CTX = "ctx"  # a field of an ingested document; computed: ctx as a whole
    PARAMS = "params"  # params as a whole, where it leads to the document
    EMIT = "emit"


NAMES = {"_index": Ref.INDEX, "_id": Ref.ID, "_routing": Ref.ROUTING}
METADATA = {"index": Ref.INDEX, "id": Ref.ID, "routing": Ref.ROUTING}


@dataclass(frozen=True, slots=True)
class Reference:
    """``start``, ``end``: for a name, the steps that spell it (``.f.g``, ``['f']``) or the string; for INDEX, ID and ROUTING
    the whole expression; for SOURCE without a name the root; else the root. ``value``: the name, None when computed.
    ``steps``: how many steps are in the span, 0 for a string. ``tail``: the string that spells the last key of a path when
    that is a method's argument. ``root_end``: of SOURCE, where the document itself has been named. ``write``: how it is
    assigned to. ``argument``: of a computed DOC or PARAMS, the expression that makes the key, if one does."""

    kind: Ref
    start: int
    end: int
    value: str | None
    steps: int = 0
    tail: tuple[int, int] | None = None
    root_end: int = 0
    write: str = ""
    argument: tuple[int, int] | None = None

    @property
    def computed(self) -> bool:
        return self.value is None and self.kind is not Ref.EMIT


@dataclass(frozen=True, slots=True)
class Script:
    source: str
    references: tuple[Reference, ...]

    @property
    def computed(self) -> tuple[Reference, ...]:
        """What cannot be known before the script runs."""
        return tuple(reference for reference in self.references if reference.computed)

    def has(self, kind: Ref) -> bool:
        return any(reference.kind is kind for reference in self.references)


class Step(NamedTuple):
    """One step of a chain, tokens ``first`` to ``last``. ``name``: property, method, or ``[]``; ``key``: what it reaches
    if that is literal; ``literal``: the token that spells the key if it is a string."""

    name: str
    key: str | None
    first: int
    last: int
    call: bool
    literal: int | None


class Scanner:
    def __init__(self, source: str, context: Context) -> None:
        self.tokens = [token for token in tokenize(source) if token.kind not in (Kind.SPACE, Kind.COMMENT)]
        self.context = context
        self.found: list[Reference] = []
        self.close: dict[int, int] = {}  # opening bracket → its closing one
        self.last_argument: dict[int, int] = {}  # opening bracket → first token of the last element in it
        self.pair_brackets()

    def pair_brackets(self) -> None:
        stack: list[int] = []
        for index, token in enumerate(self.tokens):
            if token.kind is not Kind.OPERATOR:
                continue
            if token.text in ("(", "[", "{"):
                stack.append(index)
                self.last_argument[index] = index + 1
                if len(stack) > MAX_DEPTH:
                    raise LanguageError(token.start, f"more than {MAX_DEPTH} open brackets")
            elif token.text in (")", "]", "}"):
                if not stack or self.tokens[stack[-1]].text + token.text not in ("()", "[]", "{}"):
                    raise LanguageError(token.start, f"unexpected [{token.text}]")
                self.close[stack.pop()] = index
            elif token.text == "," and stack:
                self.last_argument[stack[-1]] = index + 1
        if stack:
            raise LanguageError(self.tokens[stack[-1]].start, "a bracket is not closed")

    def text(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def string(self, index: int) -> str | None:
        """The value of the string token at ``index``; None when there is no string."""
        if index < len(self.tokens) and self.tokens[index].kind is Kind.STRING:
            return unquote(self.tokens[index])
        return None

    def run(self) -> None:
        roots = {"doc": self.doc, "params": self.params, "ctx": self.ctx, "metadata": self.metadata}
        for index, token in enumerate(self.tokens):
            if self.text(index - 1) in (".", "?."):
                continue
            call = self.text(index + 1) == "("
            if token.kind is Kind.NAME and token.text in roots:
                roots[token.text](index)
            elif call and token.text in ("field", "$"):
                self.named_by(index, index + 2, (",", ")"))
            elif call and token.text in FIELD_FUNCTIONS:
                self.function(index)
            elif call and token.text == "emit":
                self.add(Ref.EMIT, index, index, None)

    def add(self, kind: Ref, first: int, last: int, value: str | None, steps: int = 0, write: str = "") -> None:
        start, end = self.tokens[first].start, self.tokens[last].end
        self.found.append(Reference(kind, start, end, value, steps, write=write))

    def step(self, at: int) -> Step | None:
        """The step that begins at token ``at``."""
        mark = self.text(at)
        if mark == "[":
            end = self.close[at]
            key = self.string(at + 1) if end == at + 2 else None
            return Step("[]", key, at, end, False, at + 1 if key is not None else None)
        if mark not in (".", "?.") or at + 1 == len(self.tokens):
            return None
        name = self.text(at + 1)
        if self.text(at + 2) != "(":
            return Step(name, name, at, at + 1, False, None)
        key = self.string(at + 3) if name in KEYED and self.text(at + 4) in (",", ")") else None
        return Step(name, key, at, self.close[at + 2], True, at + 3 if key is not None else None)

    # --- roots ----------------------------------------------------------------------------------

    def doc(self, root: int, at: int | None = None) -> None:
        """``doc`` or what stands for it under params; ``at``: where its first step is expected."""
        if self.context is Context.WRITE:
            return
        step = self.step(root + 1 if at is None else at)
        if step is None or step.key is None or step.name == "empty":
            self.computed(Ref.DOC, root, step)
        elif step.key in NAMES:
            self.name_in_doc(NAMES[step.key], root, step)
        elif step.literal is not None:
            self.add(Ref.DOC, step.literal, step.literal, step.key)
        else:
            self.add(Ref.DOC, step.first, step.last, step.key, 1)

    def computed(self, kind: Ref, root: int, step: Step | None) -> None:
        """A map as a whole, or what is found in it by a key that the script makes."""
        start, end, argument = self.tokens[root].start, self.tokens[root].end, None
        if step is not None and (step.name == "[]" or (step.call and step.name in ONE_KEY)):
            opened = step.first if step.name == "[]" else step.first + 2
            if step.last > opened + 1 and self.last_argument[opened] == opened + 1:
                argument = (self.tokens[opened].end, self.tokens[step.last].start)
        self.found.append(Reference(kind, start, end, None, argument=argument))

    def name_in_doc(self, kind: Ref, root: int, step: Step) -> None:
        if step.name == "containsKey":
            return
        value = self.step(step.last + 1)
        if value is not None and value.name in VALUE_STEPS:
            self.add(kind, root, value.last, kind.value)
        elif value is None or value.name not in HARMLESS:
            self.add(kind, root, step.last, None)

    def params(self, root: int) -> None:
        if self.context is Context.WRITE:
            return
        step = self.step(root + 1)
        if step is None or (step.key is None and not (step.call and step.name in HARMLESS)):
            self.computed(Ref.PARAMS, root, step)
        elif step.key == "_source" and step.name != "containsKey":
            self.source(root, step)
        elif step.key in ("doc", "_doc", "_fields") and step.name != "containsKey":
            self.doc(root, step.last + 1)

    def ctx(self, root: int) -> None:
        step = self.step(root + 1)
        if step is None or step.key is None or (step.call and step.name not in ("get", "getOrDefault", "containsKey")):
            self.add(Ref.CTX, root, root, None)
        elif step.name == "containsKey":
            return
        elif step.key == "_source":
            self.source(root, step)
        elif step.key in NAMES:
            self.name(NAMES[step.key], root, step)
        elif not step.key.startswith("_") and step.key != "op":
            self.add(Ref.CTX, step.first, step.last, step.key, 1)

    def metadata(self, root: int) -> None:
        if self.text(root + 1) != "(":
            return
        step = self.step(self.close[root + 1] + 1)
        if step is None or step.call or step.name == "[]":
            self.add(Ref.CTX, root, root, None)
        elif step.name in METADATA:
            self.name(METADATA[step.name], root, step)

    def name(self, kind: Ref, root: int, step: Step) -> None:
        """An index's name, an id or a routing value that is read or assigned to."""
        after = self.text(step.last + 1)
        before = self.text(root - 1)
        write = after if after in ASSIGNMENTS else before if before in ("++", "--") else ""
        self.add(kind, root, step.last, kind.value, write=write)

    def source(self, root: int, step: Step) -> None:
        """A path below the document, by plain steps and at last perhaps a method that takes a key."""
        keys: list[str] = []
        start = end = root_end = self.tokens[step.last].end
        following = self.step(step.last + 1)
        if following is not None:
            start = end = self.tokens[following.first].start
        while following is not None and not following.call and following.key is not None:
            keys.append(following.key)
            end = self.tokens[following.last].end
            following = self.step(following.last + 1)
        steps, tail = len(keys), None
        if following is not None and following.literal is not None and not (keys and following.name == "replace"):
            # ``replace`` behind a path is as likely a method of a string
            keys.append(following.key or "")
            literal = self.tokens[following.literal]
            tail = (literal.start, literal.end)
        if keys:
            self.found.append(Reference(Ref.SOURCE, start, end, ".".join(keys), steps, tail, root_end))
        else:
            self.found.append(Reference(Ref.SOURCE, self.tokens[root].start, root_end, None, root_end=root_end))

    def named_by(self, root: int, argument: int, ends: tuple[str, ...]) -> None:
        value = self.string(argument)
        if value is None or self.text(argument + 1) not in ends:
            self.add(Ref.FIELD, root, root, None)
        elif value in NAMES:
            self.add(NAMES[value], root, self.close[root + 1], None)
        else:
            self.add(Ref.FIELD, argument, argument, value)

    def function(self, root: int) -> None:
        """A function whose last argument is a field's name, or (OpenSearch) its values: ``doc['f']``."""
        last = self.last_argument[root + 1]
        if last > root + 2 and self.text(last) != "doc":
            self.named_by(root, last, (")",))

    def assigned(self, ref: Reference) -> tuple[int, int]:
        """Span of the expression that is assigned to ``ref`` by a statement. Within an expression the assigned value would
        be seen again, so that is refused."""
        if sum(1 for other in self.found if other.write) > MAX_WRITES:
            raise LanguageError(ref.start, f"more than {MAX_WRITES} assignments")
        starts = [token.start for token in self.tokens]
        root, at = bisect_left(starts, ref.start), bisect_left(starts, ref.end) + 1
        before = self.tokens[root - 1] if root else None
        if before is not None and before.kind is not Kind.KEYWORD and before.text not in (";", "{", "}", ")"):
            raise LanguageError(ref.start, f"[{ref.value}] is assigned to within an expression")
        begin = end = self.tokens[at - 1].end
        while at < len(self.tokens) and self.text(at) not in (";", ",", ")", "]", "}"):
            at = self.close.get(at, at)
            end = self.tokens[at].end
            at += 1
        if end == begin:
            raise LanguageError(ref.end, "nothing is assigned")
        return begin, end


def unquote(token: Token) -> str:
    inner = token.text[1:-1]
    if "\\" not in inner:
        return inner
    out, at = [], 0
    while at < len(inner):
        at += inner[at] == "\\"
        out.append(inner[at])
        at += 1
    return "".join(out)
