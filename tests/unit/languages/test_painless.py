"""Painless: tokens, references found, sources rewritten. The tables state what nodes do (checked there by
tests/integration/test_languages.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.languages import LanguageError, painless
from esproxy.languages.painless import Context, Ref, restored_cut, restored_in_pool, rewrite, scan
from esproxy.languages.painless_lexer import MAX_LENGTH, Kind, tokenize
from esproxy.languages.painless_scan import MAX_DEPTH, MAX_WRITES

PIECES = [
    *"abx19 \n'\"\\/*.,;()[]{}?:=+-<>!&|^~%$_é",
    "doc",
    "['f']",
    "doc['a']",
    "doc.b",
    "ctx",
    "._source",
    "params",
    "_index",
    "//",
    "/*",
    "*/",
    "\n",
    "return ",
    "?.",
    "'_index'",
    ".value",
    "field(",
    "emit(",
    "0x1F",
    "1e5",
    "ctx._index = ",
    "metadata().index",
    "doc[",
]
SOURCES = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
WRITE = Context.WRITE


def same(name: str) -> str:
    return name


def nested(name: str) -> str:
    return f"n1.{name}"


def kinds(source: str) -> str:
    return " ".join(token.kind.name for token in tokenize(source) if token.kind is not Kind.SPACE)


def found(source: str, context: Context = Context.SEARCH) -> list[tuple[str, str | None]]:
    return [(reference.kind.name, reference.value) for reference in scan(source, context).references]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a / b / c", "NAME OPERATOR NAME OPERATOR NAME"),
        ("a = /b/i", "NAME OPERATOR REGEX"),
        ("a[0] /b/ c", "NAME OPERATOR NUMBER OPERATOR OPERATOR NAME OPERATOR NAME"),
        ("'a' /b/", "STRING REGEX"),
        ("return /b/", "KEYWORD REGEX"),
        ("a.return /b/ c", "NAME OPERATOR NAME OPERATOR NAME OPERATOR NAME"),
        (r"/a\/b/ /c/", "REGEX REGEX"),
        ("/*c*/ a", "COMMENT NAME"),
        ("/*c*/l", "REGEX"),
        ("x /*c*/l", "NAME COMMENT NAME"),
        ("/*c\n*/l", "COMMENT NAME"),
        ("a // b\nc", "NAME COMMENT NAME"),
        ("a; // b", "NAME OPERATOR COMMENT"),
        (r"'a\'b' " + r'"a\"\\"', "STRING STRING"),
        ("'a\nb'", "STRING"),
        ("a.0.1 0.1f 1e-5d 0xFFL 07", "NAME OPERATOR NUMBER OPERATOR NUMBER NUMBER NUMBER NUMBER NUMBER"),
        ("a?.b ?: c ?(d)", "NAME OPERATOR NAME OPERATOR NAME OPERATOR OPERATOR NAME OPERATOR"),
        ("08 01L 1.5L", "NUMBER NUMBER NUMBER NUMBER NAME"),
    ],
)
def test_tokens_are_cut_as_nodes_cut_them(source: str, expected: str) -> None:
    assert kinds(source) == expected


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"'a\n'", "no other escapes"),
        ("'a", "without its closing quote"),
        ("/* a", "comment without its end"),
        ("= /a", "regular expression without its end"),
        ("= /a\n/", "regular expression without its end"),
        ("x //a/.split(doc['f'].value)", "end it with a line feed"),
        ("x //= 2", "end it with a line feed"),
        ("doc. f", "a dot without a name"),
        ("def é", "unexpected character"),
        ("a # b", "unexpected character"),
        ("doc['f'", "a bracket is not closed"),
        ("doc['f')", "unexpected"),
        ("(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1), "open brackets"),
        ("a" * (MAX_LENGTH + 1), "characters"),
    ],
)
def test_scan_refuses_what_nodes_refuse_or_read_differently(source: str, reason: str) -> None:
    with pytest.raises(LanguageError, match=reason):
        scan(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "doc['f'].value + doc[\"g\"].value + doc.h.value + doc?.i?.value",
            [("DOC", "f"), ("DOC", "g"), ("DOC", "h"), ("DOC", "i")],
        ),
        ("doc.get('f').value; doc.containsKey('g')", [("DOC", "f"), ("DOC", "g")]),
        ("doc [ /* c */ 'f' ] .value", [("DOC", "f")]),
        (r"doc['it\'s']", [("DOC", "it's")]),
        ("doc[params.f] + doc['a' + x] + doc[doc['b'].value]", [("DOC", None), ("DOC", None), ("DOC", None), ("DOC", "b")]),
        ("def d = doc; d['x']", [("DOC", None)]),
        ("f(doc); (doc)['x']; doc::get; doc.keySet(); doc.empty", [("DOC", None)] * 5),
        ("x.doc['f'] + a_doc['g'] + 'doc[\"h\"]' /* doc['i'] */", []),
        (
            "params._source.f.g + params['_source']['h'] + params.get('_source').i",
            [("SOURCE", "f.g"), ("SOURCE", "h"), ("SOURCE", "i")],
        ),
        ("params._source[k]; def s = params._source", [("SOURCE", None)] * 2),
        ("params.doc['f'] + params._doc.g + params['_fields'].h", [("DOC", "f"), ("DOC", "g"), ("DOC", "h")]),
        ("params.x + params['y'] + params.get('z') + params.size()", []),
        ("params[k]; f(params); params.keySet()", [("PARAMS", None)] * 3),
        ("doc['_index'].value + doc['_id'].value + doc['_index'][0]", [("INDEX", "_index"), ("ID", "_id"), ("INDEX", "_index")]),
        ("doc['_index'].size() + doc.containsKey('_index')", []),
        ("for (i in doc['_index']) {}", [("INDEX", None)]),
        ("field('f').get(0) + $('g', 1)", [("FIELD", "f"), ("FIELD", "g")]),
        ("field(x) + $('a' + b, 1) + a.field('c')", [("FIELD", None)] * 2),
        ("cosineSimilarity(params.q, 'v') + randomScore(3, 'w') + randomScore(3)", [("FIELD", "v"), ("FIELD", "w")]),
        ("l2norm(f(a, 'x'), params.v) + cosineSimilarity(q, doc['v'])", [("FIELD", None), ("DOC", "v")]),
        ("emit(doc['f'].value)", [("EMIT", None), ("DOC", "f")]),
        ("/doc['f']/.matcher(x) + /*doc['g']*/ 1", []),
        ("/*doc['f']*/l.split(doc['g'].value)", [("DOC", "g")]),
    ],
)
def test_scan_finds_references_of_a_search(source: str, expected: list[tuple[str, str | None]]) -> None:
    assert found(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ctx._source.a.b = ctx['_source']['c']", [("SOURCE", "a.b"), ("SOURCE", "c")]),
        (
            "ctx._source.remove('a'); ctx._source.a.put('b', 1); ctx._source.a.add(1)",
            [("SOURCE", "a"), ("SOURCE", "a.b"), ("SOURCE", "a")],
        ),
        ("ctx._source.a.replace('x', 'y')", [("SOURCE", "a")]),
        ("ctx._source.putAll(params.doc)", [("SOURCE", None)]),
        ("ctx._index + ctx['_id'] + ctx.get('_routing')", [("INDEX", "_index"), ("ID", "_id"), ("ROUTING", "_routing")]),
        ("ctx.op = 'noop'; ctx._version; ctx._now", []),
        ("def c = ctx; ctx[k]; ctx.remove('_index'); ctx.keySet()", [("CTX", None)] * 4),
        ("metadata().index + metadata().id; def m = metadata()", [("INDEX", "_index"), ("ID", "_id"), ("CTX", None)]),
        ("ctx.message = ctx.a.b", [("CTX", "message"), ("CTX", "a")]),
        ("for (doc in ctx._source.docs) { doc.x = params.doc }", [("SOURCE", "docs")]),
    ],
)
def test_scan_finds_references_of_a_write(source: str, expected: list[tuple[str, str | None]]) -> None:
    assert found(source, WRITE) == expected


def test_scan_tells_how_a_name_is_written() -> None:
    references = scan("ctx._index = 'a'; ctx._id += 'b'; if (ctx._index == 'c') {}", WRITE).references
    assert [reference.write for reference in references] == ["=", "+=", ""]


def test_computed_leaves_out_emit() -> None:
    script = scan("emit(doc[x])")
    assert [reference.kind for reference in script.computed] == [Ref.DOC]
    assert script.has(Ref.EMIT) and not script.has(Ref.INDEX)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("doc['f'].value + doc .f.value", "doc['n1.f'].value + doc ['n1.f'].value"),
        ("doc?.f?.value", "doc?.get('n1.f')?.value"),
        ('doc.containsKey("f")', "doc.containsKey('n1.f')"),
        ("params._source.f.g", "params._source['n1'].f.g"),
        ("params._source?.f", "params._source['n1']?.f"),
        ("params._source.remove('f')", "params._source['n1'].remove('f')"),
        ("field('f') + $('g', 0)", "field('n1.f') + $('n1.g', 0)"),
        ("doc[x]", "doc[x]"),
    ],
)
def test_rewrite_renames_fields(source: str, expected: str) -> None:
    assert rewrite(source, nested) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("ctx._source.a.b = 1", "ctx._source['a']['b~2'] = 1"),
        ("ctx._source?.a?.b", "ctx._source?.get('a')?.get('b~2')"),
        ("ctx._source.a.remove('b')", "ctx._source['a'].remove('b~2')"),
        ("ctx._source['a'].c", "ctx._source['a'].c"),
    ],
)
def test_rewrite_renames_single_keys_of_a_path(source: str, expected: str) -> None:
    assert rewrite(source, lambda name: "a.b~2" if name == "a.b" else name, context=WRITE) == expected


def test_rewrite_of_a_key_with_dots_is_refused_if_it_is_renamed() -> None:
    with pytest.raises(LanguageError, match="keys with dots"):
        rewrite("ctx._source['a.b']", lambda name: name + "~2", context=WRITE)


def test_rewrite_under_a_source_root_reaches_computed_paths_too() -> None:
    source = "def s = ctx._source; ctx._source[k] = ctx._source.a; ctx._source.putAll(params.p)"
    expected = "def s = ctx._source['n1']; ctx._source['n1'][k] = ctx._source['n1'].a; ctx._source['n1'].putAll(params.p)"
    assert rewrite(source, nested, source_root="n1", context=WRITE) == expected


HELPER = "def esproxyIndex(def i){return i.startsWith('.ds-')?'.ds-'+i.substring(9):i.substring(5)} "
OWN = "def esproxyOwn(def v){return v==null?null:v.substring(v.indexOf(':')+1)} "
ROUTING = "def esproxyRouting(def v){if(v==null)return null;String r=v.substring(v.indexOf(':')+1);return r.length()==0?null:r} "


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("doc['_index'].value == 'a'", HELPER + "esproxyIndex(doc['_index'].value) == 'a'"),
        ("ctx._index + ctx['_index']", HELPER + "esproxyIndex(ctx._index) + esproxyIndex(ctx['_index'])"),
        ("ctx._index = 'a'", "ctx._index = 'acme.' + ( 'a')"),
        ("ctx._index = ctx._index;", HELPER + "ctx._index = 'acme.' + ( esproxyIndex(ctx._index));"),
        ("if (a) { ctx._index = b ? 'c' : 'd' } else x()", "if (a) { ctx._index = 'acme.' + ( b ? 'c' : 'd') } else x()"),
        (
            "if (a) ctx._index = g(1, 2); else ctx._index = 'b'",
            "if (a) ctx._index = 'acme.' + ( g(1, 2)); else ctx._index = 'acme.' + ( 'b')",
        ),
        ("ctx._index += '-old'", "ctx._index += '-old'"),
        ("ctx._id = 'a'", "ctx._id = 'a'"),
    ],
)
def test_rewrite_hides_prefixes(source: str, expected: str) -> None:
    context = Context.SEARCH if source.startswith("doc") else WRITE
    assert rewrite(source, same, "acme.", context=context) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("metadata().index = 'a' + metadata().id", OWN + "metadata().index = 'a' + esproxyOwn(metadata().id)"),
        ("ctx._source.r = ctx._routing", ROUTING + "ctx._source.r = esproxyRouting(ctx._routing)"),
        ("ctx._id = 'a'", "ctx._id = 'a'"),
    ],
)
def test_rewrite_hides_scopes(source: str, expected: str) -> None:
    assert rewrite(source, same, None, painless.InPool({"pool~a-1": "a"}), context=WRITE) == expected


@pytest.mark.parametrize(
    "source", ["a ? ctx._index = 'c' : 0", "f(ctx._index = 'a', 3)", "ctx._index = ctx._index = 'a'", "x -> ctx._index = x"]
)
def test_rewrite_refuses_assignments_within_expressions(source: str) -> None:
    with pytest.raises(LanguageError, match="within an expression"):
        rewrite(source, same, "acme.", context=WRITE)


def test_rewrite_bounds_assignments_and_refuses_empty_ones() -> None:
    with pytest.raises(LanguageError, match="assignments"):
        rewrite("ctx._index = 'a';" * (MAX_WRITES + 1), same, "acme.", context=WRITE)
    with pytest.raises(LanguageError, match="read as a division"):
        rewrite("ctx._index = ?////", same, "acme.", context=WRITE)
    with pytest.raises(LanguageError, match="nothing is assigned"):
        rewrite("ctx._index = ;", same, "acme.", context=WRITE)


@given(SOURCES)
def test_tokens_joined_are_the_source(source: str) -> None:
    try:
        tokens = tokenize(source)
    except LanguageError:
        return
    assert "".join(token.text for token in tokens) == source
    assert [token.start for token in tokens] == [0, *(token.end for token in tokens)][:-1] if tokens else not source


@given(SOURCES, st.sampled_from(Context))
def test_rewrite_to_the_same_names_is_identity(source: str, context: Context) -> None:
    try:
        assert rewrite(source, same, context=context) is source
    except LanguageError:
        return


@given(SOURCES, st.sampled_from(Context))
def test_names_show_when_read_again(source: str, context: Context) -> None:
    try:
        before = scan(source, context).references
        rewritten = rewrite(source, nested, "acme.", painless.InPool({"p": "x"}), context=context)
    except LanguageError:
        return
    after = scan(rewritten, context).references
    renamed = (Ref.DOC, Ref.FIELD, Ref.SOURCE)
    expected = [(ref.kind, nested(ref.value) if ref.value and ref.kind in renamed else ref.value) for ref in before]
    assert [(ref.kind, ref.value) for ref in after] == expected


@pytest.mark.parametrize(
    ("source", "context"),
    [
        ("return doc['_index'].value", painless.Context.SEARCH),
        ("throw new Exception(ctx._index)", painless.Context.WRITE),
        ("ctx._index = 'a' + 'b'; ctx._index='c'", painless.Context.WRITE),
        ("emit((doc['_index'].value + 'x').length())", painless.Context.SEARCH),
    ],
)
def test_restored_text_shows_the_script_as_the_client_wrote_it(source, context):
    written = painless.rewrite(source, lambda name: name, "acme.", context=context)
    assert written != source
    assert painless.restored(written, "acme.") == source


def test_rewrite_in_a_pool_names_the_index_and_hides_the_scope() -> None:
    source = "if (ctx._index == 'it\\'s') { ctx._source.r = ctx['_routing'] + ctx._id }"
    written = rewrite(source, same, None, painless.InPool({"pool~it-1": "it's"}), context=WRITE)
    assert written.startswith("def esproxyIndex(def i){return 'it\\'s'} def esproxyOwn(def v){")
    assert written.endswith("ctx._source.r = esproxyRouting(ctx['_routing']) + esproxyOwn(ctx._id) }")
    assert painless.restored_in_pool(written) == source


def test_rewrite_over_several_indices_in_pools_tells_them_apart() -> None:
    source = "doc['_index'].value + doc['_id'].value"
    written = rewrite(source, same, None, painless.InPool({"pool~a-1": "a}", "pool~b-1": "b"}))
    assert written.startswith("def esproxyIndex(def i){return i=='pool~a-1'?'a}':i=='pool~b-1'?'b':null} def esproxyOwn(")
    assert painless.restored_in_pool(written) == source


def test_rewrite_in_a_pool_leaves_what_is_written() -> None:
    source = "ctx._index = 'a'; ctx._routing = 'b'"
    assert rewrite(source, same, None, painless.InPool({"pool~a-1": "a"}), context=WRITE) is source


@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ("doc[params.f].value", "doc[esproxyField(params.f)].value"),
        ("doc.containsKey('a' + k)", "doc.containsKey(esproxyField('a' + k))"),
        ("params[params.w]", "params[esproxyParam(params.w)]"),
        ("params.get(doc['a'].value)", "params.get(esproxyParam(doc['a~2'].value))"),
        ("doc[params[k]].size()", "doc[esproxyField(params[esproxyParam(k)])].size()"),
        ("def d = doc; d[k]", "def d = doc; d[k]"),
        ("params.getOrDefault(k, 1)", "params.getOrDefault(k, 1)"),
    ],
)
def test_keys_that_a_script_makes_are_looked_up_when_it_runs(source: str, sent: str) -> None:
    fields = {"a": "a~2", "it's": "it's"}
    made = rewrite(source, lambda name: fields[name], lookup=painless.own_fields(fields))
    assert made.endswith(sent) and restored_in_pool(made) == source.replace("'a'].value", "'a~2'].value")
    assert ("'a':'a~2','it\\'s':'it\\'s'" in made) == ("esproxyField(" in sent)
    below = rewrite(source, str, lookup=painless.fields_below("n17", ["_version"]))
    assert restored_in_pool(below) == source
    assert ("n=='_version'?n:'n17.'+n" in below) == ("esproxyField(" in sent)
    taken = [ref.argument for ref in scan(source).computed]
    assert all((argument is None) == ("esproxy" not in sent) for argument in taken)


@pytest.mark.parametrize(
    ("text", "restored"),
    [
        ("def helper ...", "doc[k]"),
        ("def he ...", "doc[k]"),
        ("def ...", "doc ..."),
        ("def helper() doc[k]", "def helper() doc[k]"),
        (" ...", " ..."),
        ("another ...", "another ..."),
    ],
)
def test_script_that_is_quoted_in_part_is_the_clients(text: str, restored: str) -> None:
    assert restored_cut(text, "def helper() doc[k]", "doc[k]") == restored
