"""Would a node take this string for a date?

Dynamic mapping tries each of ``dynamic_date_formats`` on every string that is no number. What a format accepts is the node's
own parser, Java's or a faster one of its own, so each format is told here as a regular expression and a check of the numbers in
it. Facts were read off running nodes (tests/integration/test_inference.py holds the tables); where the engines differ:

* ``strict_date_optional_time``: Elasticsearch wants a whole date before ``T``, four digits of year (or ``-`` and four) and one
  zone; OpenSearch takes ``2020T10``, years of up to nine digits with a sign, and an offset ``+0100`` or ``Z`` after a zone.
  Elasticsearch before 9 asks Java's parser when its own fails, and so takes ``2020T10`` and ``Z+01`` as well.
* Patterns with ``y``, the year of an era: Elasticsearch checks the date, OpenSearch does not (``2020/02/30`` makes a date
  field, and the document is refused afterwards). With ``u`` both do.

A format that is not understood here is refused by name when it is declared: guessing would give fields other types than the
node's. What the JDK knows of time zones is the same tz database that Python reads, but for a handful of names.
"""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from zoneinfo import available_timezones

from esproxy.errors import Refusal

DEFAULT = "strict_date_optional_time||epoch_millis"  # what a date field has when no format is shown
DETECTED = (DEFAULT, "yyyy/MM/dd HH:mm:ss||yyyy/MM/dd||epoch_millis")  # tried when the mapping names no formats
OWN_PARSER_SINCE = (9,)  # of Elasticsearch
EPOCHS = ("epoch_millis", "epoch_second")  # take numbers only, and numbers are never tried

Matcher = Callable[[str], bool]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"  # in full they depend on the locale data of the node's JDK
DAYS = "Mon Tue Wed Thu Fri Sat Sun"
SYSTEM_V = "AST4 AST4ADT CST6 CST6CDT EST5 EST5EDT HST10 MST7 MST7MDT PST8 PST8PDT YST9 YST9YDT".split()
NOT_IN_JAVA = {"EST", "Factory", "HST", "MST", "ROC", "localtime"}

OFFSET = r"[+-]\d\d(?::[0-5]\d(?::[0-5]\d)?|[0-5]\d(?:[0-5]\d)?)?"


@dataclass(slots=True, frozen=True)
class DateFormat:
    text: str
    matches: Matcher

    @property
    def first(self) -> str:
        """The format that dates are printed with."""
        return self.text.partition("||")[0]


@cache
def date_format(text: str, engine: str, version: tuple[int, ...]) -> DateFormat:
    """A format of ``dynamic_date_formats``: alternatives joined by ``||``. Refuses what is not understood."""
    if engine == "elasticsearch":
        text = text.removeprefix("8")  # an old way to name Java's patterns, which OpenSearch goes on to show
    alternatives = [_alternative(part, engine, version) for part in text.split("||") if part not in EPOCHS]
    if not alternatives:
        raise Refusal(f"Epoch [{text}] is not supported as dynamic date format", type="mapper_parsing_exception")
    return DateFormat(text, lambda value: any(match(value) for match in alternatives))


def _alternative(name: str, engine: str, version: tuple[int, ...]) -> Matcher:
    if name == "strict_date_optional_time":
        if engine == "opensearch":
            return _opensearch_iso
        return _elasticsearch_iso if version >= OWN_PARSER_SINCE else _either_iso
    return _Pattern(name, engine).matches


# --- strict_date_optional_time ---------------------------------------------------------------------

_TIME = r"(?P<H>\d\d)(?::(?P<m>\d\d)(?::(?P<s>\d\d)(?:[.,]\d{1,9})?)?)?"
_ES_ISO = re.compile(rf"(?P<u>-?\d{{4}})-(?P<M>\d\d)(?:-(?P<d>\d\d)(?:T(?:{_TIME}(?P<zone>.+)?)?)?)?", re.ASCII)
_OS_ISO = re.compile(
    rf"(?P<u>\d{{4}}|-\d{{4,9}}|\+\d{{5,9}})(?:-(?P<M>\d\d)(?:-(?P<d>\d\d))?)?(?:T(?:{_TIME}(?P<zone>.+)?)?)?", re.ASCII
)
_OFFSET = re.compile(OFFSET, re.ASCII)
_PREFIXED = re.compile(
    r"(?:UTC|GMT|UT)[+-](?P<hours>\d{1,2})(?:(?P<colon>:?)(?P<minutes>[0-5]\d)(?:(?P=colon)(?P<seconds>[0-5]\d))?)?", re.ASCII
)
_OS_PREFIXED = re.compile(r"(?:UTC|GMT|UT)[+-](?P<hours>\d\d)(?::(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d))?)?", re.ASCII)
_OS_OFFSET = re.compile(r"[+-]\d\d(?::[0-5]\d(?::[0-5]\d)?)?", re.ASCII)
_OS_SECOND = re.compile(r"(.*?)([+-]\d\d[0-5]\d|Z)", re.ASCII)
_JAVA_YEAR = re.compile(r"(?!-0000)-?\d{4}", re.ASCII)
_JAVA_ZONES = re.compile(r"([A-Za-z].*?|[+-]\d\d:[0-5]\d(?::[0-5]\d)?|)([+-]\d\d(?:[0-5]\d)?|Z|)", re.ASCII)
_JAVA_PREFIXED = re.compile(r"(?:UTC|GMT|UT)[+-](?P<hours>\d\d):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d))?", re.ASCII)


def _elasticsearch_iso(text: str) -> bool:
    found = _ES_ISO.fullmatch(text)
    if found is None or not _numbers_hold(found.groupdict()):
        return False
    zone = found["zone"]
    return zone is None or _is_offset(zone, _OFFSET) or _is_zone(zone, _PREFIXED)


def _either_iso(text: str) -> bool:
    """Elasticsearch 8: its own parser, or Java's."""
    if _elasticsearch_iso(text):
        return True
    found = _OS_ISO.fullmatch(text)
    if found is None or _JAVA_YEAR.fullmatch(found["u"]) is None or not _numbers_hold(found.groupdict()):
        return False
    zone = found["zone"]
    if zone is None:
        return True
    zones = _JAVA_ZONES.fullmatch(zone)
    if zones is None:
        return False
    first, second = zones.groups()
    if first and not (_is_offset(first, _OFFSET) or (first not in ("GMT+0", "GMT-0") and _is_zone(first, _JAVA_PREFIXED))):
        return False
    # The second offset counts where there is no first, and with a whole date.
    return not second or _is_offset(second, _OFFSET) or bool(first and found["d"] is None)


def _opensearch_iso(text: str) -> bool:
    found = _OS_ISO.fullmatch(text)
    if found is None or found["u"] == "-0000" or not _numbers_hold(found.groupdict()):
        return False
    zone = found["zone"]
    if zone is None or _opensearch_zone(zone):
        return True
    second = _OS_SECOND.fullmatch(zone)
    if second is None or (second[2] != "Z" and not _is_offset(second[2], _OFFSET)):
        return False
    return not second[1] or _opensearch_zone(second[1])


def _opensearch_zone(zone: str) -> bool:
    return _is_offset(zone, _OS_OFFSET) or (zone not in ("GMT+0", "GMT-0") and _is_zone(zone, _OS_PREFIXED))


def _is_offset(text: str, form: re.Pattern[str]) -> bool:
    if text == "Z":
        return True
    if form.fullmatch(text) is None:
        return False
    digits = text[1:].replace(":", "").ljust(6, "0")
    return digits <= "180000"


def _is_zone(text: str, prefixed: re.Pattern[str]) -> bool:
    """A region of the tz database, or an offset from UTC by name."""
    if (found := prefixed.fullmatch(text)) is not None:
        hours, minutes, seconds = (int(found[part] or 0) for part in ("hours", "minutes", "seconds"))
        # A single digit of hours stands alone.
        alone = len(found["hours"]) == 2 or found["minutes"] is None
        return alone and (hours, minutes, seconds) <= (18, 0, 0)
    return text in _regions()


@cache
def _regions() -> frozenset[str]:
    names = available_timezones()
    if not names:
        raise Refusal("this machine has no tz database, so dates with a time zone cannot be told from text", status=503)
    return frozenset(names - NOT_IN_JAVA | {"UT"} | {f"SystemV/{name}" for name in SYSTEM_V})


def _numbers_hold(found: dict[str, str | None], checks_date: bool = True) -> bool:
    """Are the numbers of a date and a time in range? Letters are those of Java's patterns; what is absent holds."""
    number = {letter: int(text) for letter, text in found.items() if text is not None and letter in "uyMdDHhKkms"}
    for letter, low, high in _TIME_RANGES:
        if letter in number and not low <= number[letter] <= high:
            return False
    if not 1 <= number.get("y", 1) <= 10**9:
        return False
    if not checks_date:
        return True
    if not 1 <= number.get("M", 1) <= 12:
        return False
    year = number.get("u", number.get("y", 1970))
    days = monthrange(2000 if isleap(year) else 2001, number.get("M", 1))[1]
    return 1 <= number.get("d", 1) <= days and 1 <= number.get("D", 1) <= (366 if isleap(year) else 365)


_TIME_RANGES = (("H", 0, 23), ("h", 1, 12), ("K", 0, 11), ("k", 1, 24), ("m", 0, 59), ("s", 0, 59))


# --- patterns --------------------------------------------------------------------------------------

_OFFSETS = {  # Java's offset patterns by letter and count: what is accepted
    **dict.fromkeys(("Z", "ZZ", "ZZZ", "xx"), r"[+-]\d\d[0-5]\d"),
    "X": r"(?:Z|[+-]\d\d(?:[0-5]\d)?)",
    "XX": r"(?:Z|[+-]\d\d[0-5]\d)",
    "XXX": r"(?:Z|[+-]\d\d:[0-5]\d)",
    "x": r"[+-]\d\d(?:[0-5]\d)?",
    "xxx": r"[+-]\d\d:[0-5]\d",
}
_RUN = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([\[\]])|([{}#])|(.)", re.DOTALL)
_ONE_OR_TWO = {"M": 2, "L": 2, "d": 2, "H": 2, "h": 2, "K": 2, "k": 2, "m": 2, "s": 2, "D": 3}


class _Pattern:
    """A pattern of Java's DateTimeFormatter as a regular expression: letters that are groups are checked afterwards."""

    def __init__(self, pattern: str, engine: str) -> None:
        self.letters: list[str] = []
        self.pattern = pattern
        text, open_ = "", 0
        for run in _RUN.finditer(pattern.removeprefix("8")):
            quoted, letters, letter, bracket, reserved, literal = run.groups()
            if letters:
                text += self._element(letter, len(letters))
            elif bracket == "[":
                text, open_ = text + "(?:", open_ + 1
            elif bracket == "]":
                text, open_ = text + ")?", open_ - 1
            elif reserved or literal == "'":
                raise self._not_understood()
            else:
                text += re.escape("'" if quoted == "" else quoted.replace("''", "'") if quoted is not None else literal)
            if open_ < 0:
                raise self._not_understood()
        self.expression = re.compile(text + ")?" * open_, re.ASCII)
        # The year of an era without the era never becomes a date in Java; Elasticsearch makes it one by itself.
        self.checks_date = engine == "elasticsearch" or "y" not in self.letters

    def _element(self, letter: str, count: int) -> str:
        if letter in "yu" and count >= 4:
            self.letters.append(letter)
            widest = 9 if letter == "u" else 10
            below_zero = rf"|-(?!0+(?!\d))\d{{{count},9}}" if letter == "u" else ""
            return rf"(\d{{{count}}}|\+\d{{{count + 1},{widest}}}{below_zero})"
        if letter == "M" and count == 3:
            return f"(?:{MONTHS.replace(' ', '|')})"
        if letter == "E" and count <= 3:
            return f"(?:{DAYS.replace(' ', '|')})"
        if letter in _ONE_OR_TWO and (count <= 2 or (letter == "D" and count == 3)):
            self.letters.append("M" if letter == "L" else letter)
            width = _ONE_OR_TWO[letter]
            return rf"(\d{{1,{width}}})" if count == 1 else rf"(\d{{{count}}})"
        if letter == "S" and count <= 9:
            return rf"\d{{{count}}}"
        if letter == "a" and count == 1:
            return "(?:AM|PM)"
        if (offset := _OFFSETS.get(letter * count)) is not None:
            self.letters.append("offset")
            return f"({offset})"
        raise self._not_understood()

    def _not_understood(self) -> Refusal:
        return Refusal(f"the dynamic date format [{self.pattern}] is not supported for an index that shares a physical index")

    def matches(self, text: str) -> bool:
        found = self.expression.fullmatch(text)
        if found is None:
            return False
        numbers: dict[str, str | None] = {}
        for letter, value in zip(self.letters, found.groups(), strict=True):
            if value is None:
                continue
            if letter == "offset":
                if self.checks_date and not _is_offset(value, _OFFSET):
                    return False
            elif numbers.setdefault(letter, value) != value:  # the same letter twice, with two values
                return False
        return _numbers_hold(numbers, self.checks_date)
