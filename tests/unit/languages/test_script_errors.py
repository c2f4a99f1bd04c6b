"""Whose script an error tells: sources, own names, and names that a node has kept of others."""

from __future__ import annotations

import pytest

from esproxy.languages.script_errors import CUT, NAME, NOTHING, UNKNOWN, Ran, is_source

HERE = b'" ^---- HERE"'


def said(statement: str, reason: str = "runtime error") -> tuple[bytes, bytes, bytes]:
    return (f'"{reason}"'.encode(), f'"{statement}"'.encode(), HERE)


def called(told, statement="", scripts=None, stored=None, reason="runtime error"):
    before = said(statement, reason) if statement else NOTHING
    return Ran("acme.", scripts or {}, stored or {}).called(told, before, lambda text: text.replace("~2", ""))


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        ("def x = null; x.length()", "x.length()"),
        ("x.length()", "x.length()"),
        ("ctx.a = 1; ctx.b.c()", "ctx.b.c()"),
        ("def l = []; l.removeIf(q -> q.foo()); return 1", "q -> q.foo()); "),
        ("for (int i = 0; i < params.x.y; ++i) {} 1", "i = 0; i < params.x.y; ++i) {} "),
        ("return 1 + nope + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11", "... 1 + nope + 2 + 3 + 4 ..."),
        ("ctx." + "a" * (NAME - 4) + CUT, ""),
    ],
)
def test_source_is_told_by_the_statement_in_it(source, statement):
    assert is_source(source, statement)


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("zenith.secret", "x.length()"),
        ("zenith.params.x", "params.x"),
        ("zenith.a-params.x", "params.x"),
        ("params.x.secret", "params.x"),
        ("zenith.secret", ""),
        ("zenith.secret" + CUT, ""),
        ("internal", "x.length()"),
    ],
)
def test_name_is_no_source(name, statement):
    assert not is_source(name, statement)
    assert called(name, statement) == (statement or UNKNOWN)


def test_anothers_name_becomes_the_script_that_has_the_statement():
    scripts = {"doc['n~2'].value": "doc['n'].value", "x.a(doc['n~2'])": "x.a(doc['n'])"}
    assert called("zenith.secret", "x.a(doc['n~2'])", scripts) == "x.a(doc['n'])"
    assert called("zenith.secret", "x.a(doc['n~2'])") == "x.a(doc['n'])"  # a node's words, as the client knows them


def test_anothers_name_becomes_the_name_that_the_client_gave():
    assert called("zenith.secret", "x.length()", stored={"acme.evil": "evil"}) == "evil"
    assert called("zenith.secret", "x.length()", {"x.length()": "x.length()"}, {"x.length()": "evil"}) == "evil"


def test_own_name_goes_without_the_prefix():
    assert called("acme.evil", "x.length()", {"x.length()": "x.length()"}) == "evil"
    assert called("acme.evil") == "evil"
    assert called("acme.evil", stored={"acme.evil": "evil"}) == "evil"


def test_what_was_sent_is_told_in_the_clients_words():
    assert called("f(doc['n~2'])", "", {"f(doc['n~2'])": "doc['n']"}) == "doc['n']"
    sent, own = "def f;" + "a" * 300, "a" * 290
    assert called(sent[:NAME] + CUT, "x.b()", {sent: own}) == own[:NAME] + CUT
    assert called("zenith.secret", "aaa", {sent: own}) == own[:NAME] + CUT


def test_error_of_compilation_tells_the_source():
    for statement in ("nope nope", "... nope ..."):
        assert called("nope nope", statement, stored={"nope nope": "evil"}, reason="compile error") == "nope nope"
    scripts, stored = {"nope~2 nope": "nope nope"}, {"nope nope": "evil"}
    assert called("nope~2 nope", "nope~2 nope", scripts, stored, "compile error") == "nope nope"
    assert called("nope~2 nope", "nope~2 nope", scripts, stored) == "evil"


def test_error_of_a_template_tells_its_source():
    for words in ("Failed to close 'x' tag @[query-template:1]", "Partial templates are not supported: [x]"):
        last = (b'"a"', b'"b"', f'"{words}"'.encode())
        assert Ran("acme.", {}, {"acme.find": "find"}).called("{{#x", last, str) == "{{#x"


def test_stack_trace_has_the_same_words():
    ran = Ran("acme.", {}, {"acme.evil": "evil"})
    frame = "\tat org.elasticsearch.painless.PainlessScript$Script.execute({}:16)\n\tat java.base/x.Y.z(Y.java:1)"
    for told, own in (("zenith.a\n(b):c", "evil"), ("acme.evil", "evil"), ("acme.other", "other")):
        assert ran.traced(frame.format(told), str) == frame.format(own)
    alone = Ran("acme.", {}, {})
    assert alone.called("zenith.secret", said("x.b()"), str) == "x.b()"
    assert alone.traced(frame.format("zenith.secret"), str) == frame.format("x.b()")
    assert alone.traced(frame.format("zenith.other"), str) == frame.format(UNKNOWN)
