"""Lucene's query-string text (``query_string``, ``q=``): which field names and which names of indices, ids and routings
are in it, and the same text with others in their place.

Theory. The parser follows Lucene's grammar without its recursion: a stack of open parentheses, each with the field that
its terms inherit. It builds nothing; it walks the tokens, and at each field and each term of a meta field asks the
caller what to write.

    query  ::= first (AND|OR)? clause …      clause ::= [+ - NOT !] [ (TERM|*) : ] ( term | "(" query ")" [^n] )
    term   ::= word [~…] [^n] | phrase [~…] [^n] | [a TO b] [^n] | /…/ | prefix* | wild?card

* A run of plain terms is *one* text, joined by single spaces (it matters to fields that do not split words), unless the
  next token is one of ``: * ~ ^ AND OR``.
* ``_exists_:f`` is no field: its term names one. ``_exists_:f*``, ranges and the like read a real field of that name.
* ``*:*`` matches all documents; so does a ``*`` whose inherited field is ``*``. Neither may become "has a field that
  matches a pattern", so where ``*`` is renamed such a star is written ``*:*``.
* ``f:>=x`` is a range although it looks like a term.

Nodes, not the grammar, give the rest: a field pattern never matches a meta field; ``escape: true`` takes all syntax away
(such a text needs no rewriting); and ``simple_query_string`` has no field syntax at all (see ``simple_query``).

What is written is escaped so that no edit can move a token boundary elsewhere (``/`` and ``"`` never appear as
themselves, see the lexer on last delimiters), and an edited text is read again: unless its tokens, fields and terms are
the expected ones, the rewriting fails. So a mistake here is a refusal and not a leak.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from esproxy.languages import Edits, LanguageError
from esproxy.languages.lucene_lexer import Kind, Token, escape, tokenize, unescape

MAX_LENGTH = 1 << 16  # characters that are read; OpenSearch takes 32,000 unless told otherwise
MAX_DEPTH = 200  # open parentheses; Lucene recurses and has no limit of its own
META = frozenset(("_index", "_id", "_routing"))
EXISTS = "_exists_"
WORDS = frozenset((Kind.TERM, Kind.STAR, Kind.PREFIX, Kind.WILDCARD, Kind.REGEX, Kind.BARE))
BOUNDS = frozenset((Kind.GOOP, Kind.TO, Kind.RANGE_QUOTED))
NOT_AFTER_RUN = frozenset((Kind.COLON, Kind.STAR, Kind.FUZZY, Kind.CARAT, Kind.AND, Kind.OR))


class Form(Enum):
    """How the text that is handed to ``value`` is written, and how its answer has to be."""

    TERM = "literal"  # also phrases and bounds
    PREFIX = "literal beginning"  # ``abc`` of ``abc*``
    WILDCARD = "Lucene wildcard"  # raw, with its ``* ? \\``
    REGEX = "Lucene regular expression"  # raw, without its slashes


Field = Callable[[str], str]
Value = Callable[[str, str, Form], str]


def rewrite(text: str, field: Field | None, value: Value | None = None, *, default: str | None = None) -> str:
    """``text`` with every field name replaced by ``field(name)`` and, for the fields of META, every term by
    ``value(field, term, form)``. ``default`` is the text's ``default_field``, when it has exactly one (``*`` when none is
    given and none is set); None where ``fields`` lists several (if one of those is of META, bare terms cannot be edited:
    the caller's to refuse). ``field`` None: names of fields stay, and a text that cannot hold a meta field, having neither
    its name nor an escape that could spell it, is not even read. Raises ``LanguageError``; returns ``text`` itself when
    nothing changed."""
    if field is None:
        if value is None or (default not in META and "\\" not in text and not any(name in text for name in META)):
            return text
        field = str
    if len(text) > MAX_LENGTH:
        raise LanguageError(MAX_LENGTH, f"a query string of more than {MAX_LENGTH} characters")
    if not text.isascii():
        require_unicode(text)
    if not text.strip("".join(map(chr, range(33)))):
        return text  # matches nothing, whatever the grammar says
    return Parser(text, field, value).run(default)


def split_boost(entry: str) -> tuple[str, str]:
    """``title^3`` of a ``fields`` list as ``("title", "^3")``; nodes cut at the first ``^``."""
    at = entry.find("^")
    return (entry, "") if at < 0 else (entry[:at], entry[at:])


class Scope:
    """What terms inherit: the name of their field as the client wrote it (None: several), and whether it is renamed."""

    __slots__ = ("name", "renamed")

    def __init__(self, name: str | None, renamed: bool = False) -> None:
        self.name = name
        self.renamed = renamed


class Parser:
    def __init__(self, text: str, field: Field, value: Value | None) -> None:
        self.text = text
        self.field = field
        self.value = value
        self.tokens = tokenize(text)
        self.at = 0
        self.edits = Edits(text)
        self.expected: list[tuple[Kind, str]] = []  # the tokens the edited text must have …
        self.shape: list[tuple[str, str]] = []  # … and what a reader of it must see: fields and terms

    # --- tokens ---------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Kind:
        index = self.at + ahead
        return self.tokens[index].kind if index < len(self.tokens) else Kind.END

    def take(self, *kinds: Kind) -> Token:
        """The next token, copied."""
        token = self.next(*kinds)
        self.expected.append((token.kind, self.text[token.start : token.end]))
        return token

    def next(self, *kinds: Kind) -> Token:
        """The next token, its edit being the caller's."""
        token = self.tokens[self.at]
        if kinds and token.kind not in kinds:
            raise LanguageError(token.start, f"unexpected {token.kind.value}")
        self.at += 1
        return token

    def put(self, start: int, end: int, *new: tuple[Kind, str]) -> None:
        """Write other tokens in the place of one, apart from a ``~`` or a boost before it that would swallow them."""
        image = "".join(image for _, image in new)
        if image != self.text[start:end] and start and self.peek_before(start) in (Kind.FUZZY, Kind.NUMBER):
            image = " " + image
        self.edits.put(start, end, image)
        self.expected += new

    def peek_before(self, start: int) -> Kind | None:
        """The token that ends at ``start``, with no space between. The token at ``start`` was just read or is being read."""
        for token in reversed(self.tokens[max(self.at - 2, 0) : self.at]):
            if token.end == start:
                return token.kind
        return None

    # --- grammar --------------------------------------------------------------------------------

    def run(self, default: str | None) -> str:
        scopes = [Scope(default, default == "*" and self.field("*") != "*")]
        needs_clause = True  # at the start of a query and behind an operator
        while True:
            if not needs_clause:
                if self.peek() is Kind.END:
                    break
                if self.peek() is Kind.CLOSE and len(scopes) > 1:
                    self.take()
                    scopes.pop()
                    self.boost()
                    continue
            behind_operator = False
            if not needs_clause and self.peek() in (Kind.AND, Kind.OR):
                self.take()
                behind_operator = True
            if not behind_operator and self.is_run():
                self.run_of_terms(scopes[-1])
                needs_clause = False
                continue
            if self.peek() in (Kind.PLUS, Kind.MINUS, Kind.NOT):
                self.take()
            scope = self.field_of(scopes[-1])
            if self.peek() is Kind.OPEN:
                if len(scopes) > MAX_DEPTH:
                    raise LanguageError(self.tokens[self.at].start, f"more than {MAX_DEPTH} open parentheses")
                self.take()
                scopes.append(scope)
                needs_clause = True
            else:
                self.term(scope, inherited=scope is scopes[-1])
                needs_clause = False
        if len(scopes) > 1:
            raise LanguageError(len(self.text), "a parenthesis is not closed")
        return self.checked()

    def checked(self) -> str:
        out = self.edits.apply()
        if out is not self.text:
            tokens = [(token.kind, out[token.start : token.end]) for token in tokenize(out)[:-1]]
            again = Parser(out, str, None)
            again.run(None)
            if tokens != self.expected or again.shape != self.shape:
                raise LanguageError(0, "the rewritten query string would be read differently")
        return out

    def is_run(self) -> bool:
        """Two plain terms at least, each but the first followed by something that does not belong to it."""
        return self.peek() is Kind.TERM and self.peek(1) is Kind.TERM and self.peek(2) not in NOT_AFTER_RUN

    def run_of_terms(self, scope: Scope) -> None:
        first = last = self.tokens[self.at]
        begin = self.at
        while True:
            self.at += 1
            if self.peek() is not Kind.TERM or self.peek(1) in NOT_AFTER_RUN:
                break
            last = self.tokens[self.at]
        images = [self.text[token.start : token.end] for token in self.tokens[begin : self.at]]
        self.shape.append(("run", str(len(images))))
        if not self.has_names(scope):
            self.expected += [(Kind.TERM, image) for image in images]
            return
        literal = unescape(" ".join(images), first.start)
        new = self.renamed_term(scope, literal, first.start)
        if new == literal:
            self.expected += [(Kind.TERM, image) for image in images]
        else:
            self.put(first.start, last.end, (Kind.TERM, escape(new)))
            self.shape[-1] = ("term", Kind.TERM.value)

    def field_of(self, scope: Scope) -> Scope:
        """The scope of the next clause: its own field if it names one."""
        if self.peek(1) is not Kind.COLON or self.peek() not in (Kind.TERM, Kind.STAR):
            return scope
        token = self.next()
        name = unescape(self.text[token.start : token.end], token.start)
        everything = name == "*" and self.peek(1) is Kind.STAR
        new = name if name == EXISTS or everything else self.field(name)
        self.shape.append(("field", new))
        if new == name:
            self.put(token.start, token.end, (token.kind, self.text[token.start : token.end]))
        else:
            self.separate(token)
            self.put(token.start, token.end, (Kind.TERM, escape(new)))
        self.take(Kind.COLON)
        return Scope(name, new != name)

    def separate(self, token: Token) -> None:
        """A star ends the run of terms before it, the name that takes its place does not: ``a b *:x`` is ``a``, ``b`` and a
        field. A boost of 1 ends it too and changes nothing."""
        before = [other.kind for other in self.tokens[max(self.at - 3, 0) : self.at - 1]]
        if token.kind is Kind.STAR and before == [Kind.TERM, Kind.TERM]:
            end = self.tokens[self.at - 2].end
            self.edits.put(end, end, "^1")
            self.expected += ((Kind.CARAT, "^"), (Kind.NUMBER, "1"))

    def term(self, scope: Scope, *, inherited: bool) -> None:
        kind = self.peek()
        if kind is Kind.RANGE:
            self.range(scope)
            return
        token = self.next(Kind.QUOTED, *WORDS)
        fuzzy = self.peek() is Kind.FUZZY or (self.peek() is Kind.CARAT and self.peek(2) is Kind.FUZZY)
        self.word(scope, token, fuzzy, inherited)
        if self.peek() is Kind.FUZZY:
            self.take()
            self.boost()
        elif self.boost() and self.peek() is Kind.FUZZY:
            self.take()

    def boost(self) -> bool:
        if self.peek() is not Kind.CARAT:
            return False
        self.take()
        self.take(Kind.NUMBER)
        return True

    def word(self, scope: Scope, token: Token, fuzzy: bool, inherited: bool) -> None:
        """One word or phrase, edited where its field is one of names."""
        kind, start, end = token
        image = self.text[start:end]
        literal = ""
        if kind in (Kind.TERM, Kind.PREFIX, Kind.BARE, Kind.QUOTED):
            inner = {Kind.PREFIX: image[:-1], Kind.BARE: image[:1], Kind.QUOTED: image[1:-1]}.get(kind, image)
            literal = unescape(inner, start)
        if kind is Kind.STAR and inherited and scope.name == "*" and scope.renamed:
            self.put(start, end, (Kind.STAR, "*"), (Kind.COLON, ":"), (Kind.STAR, "*"))
            self.shape += (("field", "*"), ("term", kind.value))
            return
        self.shape.append(("term", kind.value))
        names_field = kind in (Kind.TERM, Kind.BARE, Kind.QUOTED) and not (fuzzy and kind is not Kind.QUOTED)
        if scope.name == EXISTS and not names_field:
            self.require_real_exists(start)
        if kind is Kind.STAR or not self.has_names(scope) or (scope.name == EXISTS and not names_field):
            self.expected.append((kind, image))
            return
        if kind in (Kind.WILDCARD, Kind.REGEX):
            self.pattern(scope, token)
            return
        form = Form.PREFIX if kind is Kind.PREFIX else Form.TERM
        compares = kind is Kind.TERM and not fuzzy
        new = self.renamed_term(scope, literal, start, form, compares)
        if new == literal:
            self.expected.append((kind, image))
        elif kind is Kind.QUOTED:
            self.put(start, end, (kind, f'"{escape(new)}"'))
        elif kind is Kind.PREFIX:
            self.put(start, end, (kind, escape(new) + "*"))
        else:
            self.put(start, start + 1 if kind is Kind.BARE else end, (Kind.TERM, escape(new)))
            self.shape[-1] = ("term", Kind.TERM.value)

    def pattern(self, scope: Scope, token: Token) -> None:
        kind, start, end = token
        image = self.text[start:end]
        slashes = kind is Kind.REGEX
        inner = image[1:-1] if slashes else image
        new = self.value_of(scope, inner, Form.REGEX if slashes else Form.WILDCARD, start)
        self.put(start, end, (kind, f"/{new}/" if slashes else new))

    def range(self, scope: Scope) -> None:
        self.take(Kind.RANGE)
        self.bound(scope)
        self.take(Kind.TO)
        self.bound(scope)
        self.take(Kind.RANGE_END)
        self.boost()

    def bound(self, scope: Scope) -> None:
        token = self.next(*BOUNDS)
        image = self.text[token.start : token.end]
        literal = unescape(image[1:-1] if token.kind is Kind.RANGE_QUOTED else image, token.start)
        if scope.name == EXISTS:
            self.require_real_exists(token.start)
        new = literal
        if scope.name in META and literal != "*":
            new = self.value_of(scope, literal, Form.TERM, token.start)
        if new == literal:
            self.expected.append((token.kind, image))
        elif token.kind is Kind.RANGE_QUOTED:
            self.put(token.start, token.end, (token.kind, f'"{escape(new, spaces=True)}"'))
        else:
            self.put(token.start, token.end, (Kind.GOOP, escape(new)))

    # --- names ----------------------------------------------------------------------------------

    def has_names(self, scope: Scope) -> bool:
        return scope.name == EXISTS or (scope.name in META and self.value is not None)

    def renamed_term(self, scope: Scope, literal: str, start: int, form: Form = Form.TERM, compares: bool = True) -> str:
        """``literal`` as it has to be: a field's name behind ``_exists_``, else a value, behind its comparison sign."""
        if scope.name == EXISTS:
            return self.field(literal)
        sign = comparison(literal) if compares else 0
        return literal[:sign] + self.value_of(scope, literal[sign:], form, start)

    def value_of(self, scope: Scope, term: str, form: Form, start: int) -> str:
        if self.value is None or scope.name is None:
            return term
        new = self.value(scope.name, term, form)
        if term and not new:
            raise LanguageError(start, f"an empty name in [{scope.name}]")
        return new

    def require_real_exists(self, start: int) -> None:
        """A field that is really called ``_exists_``: as its name means something else before a plain term, a renamed one
        cannot be written."""
        if self.field(EXISTS) != EXISTS:
            raise LanguageError(start, f"[{EXISTS}] takes the name of a field")


def comparison(literal: str) -> int:
    """Length of the sign that makes a term a half-open range. A sign alone is an ordinary term."""
    if len(literal) < 2 or literal[0] not in "<>":
        return 0
    return 2 if len(literal) > 2 and literal[1] == "=" else 1


def require_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LanguageError(error.start, "half of a surrogate pair") from None
