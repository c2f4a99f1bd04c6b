"""Languages that requests carry inside strings: Lucene's query syntax and Painless. Lexers and small parsers over
positions in the text: no regular expressions, linear in the text, bounded in size and depth. What cannot be read the
way a node reads it raises ``LanguageError``; what is not edited stays as it was, byte for byte."""

from __future__ import annotations


class LanguageError(Exception):
    """The text cannot be understood, at ``offset`` (in characters), for ``reason``."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"{reason} at character {offset}")
        self.offset = offset
        self.reason = reason


class Edits:
    """Replacements of spans of one text, applied in order of position. Spans must not overlap."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.items: list[tuple[int, int, str]] = []

    def put(self, start: int, end: int, new: str) -> None:
        """Replace ``text[start:end]``; a replacement by the same text is no edit."""
        if self.text[start:end] != new:
            self.items.append((start, end, new))

    def apply(self) -> str:
        """The edited text; the same object when there was no edit."""
        if not self.items:
            return self.text
        parts: list[str] = []
        at = 0
        for start, end, new in self._in_order():
            if start < at:
                raise LanguageError(start, "two edits overlap")
            parts += (self.text[at:start], new)
            at = end
        return "".join([*parts, self.text[at:]])

    def origin(self, at: int) -> int:
        """Where in ``text`` it is what stands at a place of the edited text: what was put in is where it was put."""
        longer = 0  # so far
        for start, end, new in self._in_order():
            if at < start + longer:
                break
            if at < start + longer + len(new):
                return start
            longer += len(new) - (end - start)
        return at - longer

    def _in_order(self) -> list[tuple[int, int, str]]:
        return sorted(self.items, key=lambda item: item[:2])
