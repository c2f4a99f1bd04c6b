"""A script is put into a function, and cannot get out of it."""

from __future__ import annotations

import pytest

from esproxy.languages import LanguageError
from esproxy.languages.painless_guard import FRONT, guarded, unguarded

BEHIND = guarded("", "acme.")[len(FRONT) :]


def test_source_stands_in_the_function_and_comes_back():
    for source in ("ctx._index = 1", "return;", "", "if (true) { return }", "x // c\n", "/* } */ ctx.op = 1", "def a = '}'"):
        assert guarded(source, "acme.") == FRONT + source + BEHIND
        assert unguarded(guarded(source, "acme."), "acme.") == source
    assert "'acme.'" in BEHIND and "substring(5)" in BEHIND


@pytest.mark.parametrize(
    "functions",
    ["int f(int x) { return x }", "void f() {} ", "java.util.Map f(Map a, def b) { if (a) { return a } return b }",
     "def[] f(int[] x) { return x } String g() { return '}' } /* c */"],
)  # fmt: skip
def test_functions_of_the_source_stay_in_front(functions):
    made = guarded(functions + " ctx._index = 'y'", "acme.")
    at = made.index(FRONT)
    assert at and functions.startswith(made[:at]) and not functions[at:].strip(" /*c")
    assert "ctx._index = 'y'" in made[at:] and made.endswith(BEHIND)


@pytest.mark.parametrize(
    "source",
    ["if (x) { y }", "for (int i = 0; i < 2; ++i) { y }", "def f = (a) -> { return a }", "return f(x)", "else if (x) { y }",
     "x.f(y) { z }", "Map m = f(x); { y }", "while (true) { }", "do { y } while (x)", "try { y } catch (Exception e) { z }"],
)  # fmt: skip
def test_what_is_no_function_stays_inside(source):
    assert guarded(source, "acme.").startswith(FRONT)


@pytest.mark.parametrize(
    "source",
    ["} ctx._index = 'x'; void f() {", "}", "{", "x )", "/* x", "x //", "'x", '"x', "x /*/", "int f() { } } void g() {", "f(])"],
)
def test_what_would_end_the_function_is_refused(source):
    with pytest.raises(LanguageError):
        guarded(source, "acme.")


def test_part_of_a_source_that_is_quoted_holds_no_prefix():
    assert "acme." not in unguarded("... ropy; String esproxyPrefix = 'acme.'; Stri ...", "acme.")
