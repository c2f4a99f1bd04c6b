"""The languages inside strings against real nodes: what we read is what a node reads.

Lucene: a text on an index with plain fields, and the rewritten text on an index whose fields lie in an object, must make
the same query (the node's own explanation) and find the same documents. Painless: a script and its rewritten twin must
compute the same, in every context that knows an index's name or a document.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from esproxy.languages import LanguageError, lucene, painless
from esproxy.languages.painless import Context

PREFIX = "tlang."
ROOT = "pq"  # no text below holds this name, so it can be taken out of explanations
FIELDS = {
    "a": {"type": "text"},
    "b": {"type": "keyword"},
    "c": {"type": "long"},
    "x-y": {"type": "keyword"},
    "AND": {"type": "keyword"},
    "o": {"properties": {"a": {"type": "keyword"}}},
}
DOCUMENTS: list[dict[str, Any]] = [
    {"a": "a b", "b": "a", "c": 1, "o": {"a": "x"}},
    {"a": "b c", "b": "a b", "o": {"a": "a"}},
    {"b": "c", "c": 7},
    {"c": 5, "x-y": "a", "AND": "b"},
    {},
]


class Node:
    """One index of plain documents and its physical twin, on one node."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=30)
        self.plain = f"lang-{uuid.uuid4().hex[:8]}"
        self.twin = PREFIX + self.plain
        settings = {"number_of_shards": 1, "number_of_replicas": 0}
        self.call("PUT", f"/{self.plain}", {"settings": settings, "mappings": {"properties": FIELDS}})
        nested = {ROOT: {"properties": FIELDS}, "other": {"type": "keyword"}}
        self.call("PUT", f"/{self.twin}", {"settings": settings, "mappings": {"properties": nested}})
        self.fill()

    def fill(self) -> None:
        for number, document in enumerate(DOCUMENTS):
            query = f"routing=r{number}&refresh=true"
            self.call("PUT", f"/{self.plain}/_doc/{number}?{query}", document)
            self.call("PUT", f"/{self.twin}/_doc/{number}?{query}", {ROOT: document, "other": "a"})

    def call(self, method: str, path: str, body: Any = None, *, fails: bool = False) -> dict[str, Any]:
        answer = self.client.request(method, path, json=body)
        assert fails or answer.is_success, answer.text
        return answer.json()

    def explain(self, index: str, query: dict[str, Any]) -> str | None:
        """The node's reading of a query string, None when it refuses it."""
        answer = self.call(
            "POST", f"/{index}/_validate/query?explain=true&rewrite=true", {"query": {"query_string": query}}, fails=True
        )
        return answer["explanations"][0]["explanation"] if answer.get("valid") else None

    def ids(self, index: str, kind: str, query: dict[str, Any]) -> list[str] | None:
        answer = self.call("POST", f"/{index}/_search", {"query": {kind: query}, "_source": False}, fails=True)
        return sorted(hit["_id"] for hit in answer["hits"]["hits"]) if "hits" in answer else None


@pytest.fixture(scope="module")
def node(node_url: str) -> Iterator[Node]:
    node = Node(node_url)
    yield node
    for index in (node.plain, node.twin, f"{node.plain}-to", f"{node.twin}-to"):
        node.call("DELETE", f"/{index}?ignore_unavailable=true", fails=True)
    node.client.close()


def physical(name: str) -> str:
    return f"{ROOT}.{name}"


def words_of(explanation: str) -> list[str]:
    """An explanation with its clauses in any order: nodes keep them in hash tables."""
    text = explanation.replace(f"{ROOT}.", "")
    for mark in "()|+#-":
        text = text.replace(mark, " ")
    return sorted(word.split("Automaton@")[0] for word in text.split())


ATOMS = [
    *'abcu15+-!():::^[]{}"~*?\\/.é|&=<>',
    " ",
    " ",
    "\t",
    "\u3000",
    "\n",
    "😀",
    "o.a",
    "AND",
    "OR",
    "NOT",
    "TO",
    "&&",
    "||",
    "^2",
    "^1.5",
    '"a b"',
    "~1",
    "\\\\",
    "/a.*/",
    "\\u0061",
    "\\*",
    "_exists_:",
    "a:",
    "b:",
    "c:",
    "*:",
    "x\\-y:",
    "\\AND:",
    "o.\\*:",
    "[a TO b]",
    "[* TO 5}",
    "(a ",
    "b)",
    "\\:",
    "\\ ",
]
WORDS = [
    "a",
    "b",
    "AND",
    "a-b",
    "é",
    "5",
    ">=1",
    "<b",
    ">",
    r"a\ b",
    r"\u0061",
    r"\:",
    "TO",
    "&&&",
    "a*",
    "?a*b",
    "*",
    '"a b"',
    '"\\""',
    "/a.*/",
    r"/\//",
    "/b|c/",
    "[a TO b]",
    "{1 TO *]",
    '["a b" TO "x"}',
    '["a\\"b" TO 5]',
    "[ \ta TO c ]",
    "+ ",
    "!\t",
]
NAMES = ["a", "b", "c", "o.a", r"x\-y", r"\AND", r"o.\*", r"\*", "*", "_exists_", r"\u0061", "none", "é", r"a\/b"]


def clauses(dice: random.Random, depth: int = 0) -> str:
    out = ""
    for position in range(dice.choice((1, 1, 2, 2, 3, 4))):
        if position:
            out += dice.choice((" ", " ", " ", " AND ", " OR ", " && ", " AND NOT ", "", "\t"))
        out += dice.choice(("", "", "", "", "+", "-", "!", "NOT "))
        if dice.random() < 0.5:
            out += dice.choice(NAMES) + dice.choice(("", "", " ")) + ":" + dice.choice(("", "", " "))
        if depth < 3 and dice.random() < 0.3:
            out += "(" + clauses(dice, depth + 1) + ")" + dice.choice(("", "", "^2"))
        else:
            out += dice.choice(WORDS) + dice.choice(("",) * 8 + ("^2", "~", "~1", "^2~1", "~2^1.5"))
    return out


@pytest.mark.parametrize("seed", range(4))
def test_query_string_is_read_as_the_node_reads_it(node: Node, seed: int) -> None:
    dice = random.Random(seed)
    compared = 0
    for number in range(250):
        text = clauses(dice) if number % 3 else "".join(dice.choices(ATOMS, k=dice.randint(1, 9)))
        default = dice.choice(("a", "b", "*"))
        options = {"default_operator": dice.choice(("AND", "OR")), "lenient": True}
        read = node.explain(node.plain, {"query": text, "default_field": default, **options})
        try:
            assert lucene.rewrite(text, str) is text
            rewritten = lucene.rewrite(text, physical, default=default)
        except LanguageError as error:
            # a field that is really called _exists_ is refused, as is all that the node refuses
            assert read is None or "takes the name of a field" in error.reason, text
            continue
        if read is None:
            continue
        again = node.explain(node.twin, {"query": rewritten, "default_field": physical(default), **options})
        assert again is not None, (text, rewritten)
        assert words_of(again) == words_of(read), (text, rewritten)
        compared += 1
    assert compared > 60


@pytest.mark.parametrize(
    "text",
    [
        "a:b",
        "b:(a OR c)",
        "b:(a b)",
        r"b:a\ b",
        "_exists_:b",
        "_exists_:o.a",
        "NOT _exists_:c",
        "c:>=5",
        "c:[2 TO *]",
        "c:{5 TO 7]",
        "o.\\*:x",
        r"x\-y:a",
        r"\AND:b",
        "*:*",
        "*:(* x)",
        "*",
        "-*:*",
        "b:/a.*/",
        "b:?",
        "b:a~1 OR c:1^3",
        "+a:b -c:1",
        "a:(+b -c)",
    ],
)
def test_query_string_finds_the_same_documents(node: Node, text: str) -> None:
    # Where the default field is "*" a node is lenient; where it is a pattern it has to be told.
    rewritten = lucene.rewrite(text, physical, default="*")
    plain = node.ids(node.plain, "query_string", {"query": text, "default_field": "*"})
    assert plain is not None
    assert node.ids(node.twin, "query_string", {"query": rewritten, "default_field": f"{ROOT}.*", "lenient": True}) == plain


def with_prefix(_field: str, text: str, form: lucene.Form) -> str:
    return PREFIX.replace(".", "\\.") + f"({text})" if form is lucene.Form.REGEX else PREFIX + text


@pytest.mark.parametrize(
    "text",
    ["_index:{}", "_index:{}*", '_index:"{}"', "_index:({} OR x)", "_index:({} x)", r"_index:{}\*", "_index:x", "-_index:{}"],
)
def test_names_of_indices_find_the_same_documents(node: Node, text: str) -> None:
    text = text.format(node.plain)
    rewritten = lucene.rewrite(text, str, with_prefix)
    plain = node.ids(node.plain, "query_string", {"query": text})
    assert plain is not None
    assert node.ids(node.twin, "query_string", {"query": rewritten}) == plain


@pytest.mark.parametrize(
    "text",
    [
        "_routing:r1",
        "_routing:r*",
        "_routing:r?",
        "_routing:/r1|r3/",
        "_routing:[r1 TO r2]",
        "_routing:{r1 TO *]",
        "_routing:>=r2",
        "_routing:r9~1",
        "_routing:(r1 r2)",
        '_routing:"r1"',
    ],
)
def test_routing_values_find_the_same_documents(node: Node, text: str) -> None:
    scoped = f"{node.plain}-to"
    node.call("PUT", f"/{scoped}", {"mappings": {"properties": FIELDS}}, fails=True)
    for number, document in enumerate(DOCUMENTS):
        node.call("PUT", f"/{scoped}/_doc/{number}?routing={PREFIX}r{number}&refresh=true", document)
    rewritten = lucene.rewrite(text, str, with_prefix)
    plain = node.ids(node.plain, "query_string", {"query": text})
    assert plain is not None
    assert node.ids(scoped, "query_string", {"query": rewritten}) == plain


def test_a_field_pattern_never_matches_a_meta_field(node: Node) -> None:
    for text in (rf"_ind\*:{node.plain}", rf"\*:{node.plain}"):
        assert node.ids(node.plain, "query_string", {"query": text}) == []


def test_simple_query_string_has_no_field_syntax(node: Node) -> None:
    for text in ("b:a", "_exists_:b", "b:[a TO b]", "*:*"):
        assert node.ids(node.plain, "simple_query_string", {"query": text, "fields": ["b"]}) == []


# --- Painless: few scripts per context, as nodes limit how many they compile -------------------------

BOTH = [
    "doc['b'].size() == 0 ? 'none' : doc['b'].value + doc.b.value + doc?.b?.value + doc.get(\"b\").value",
    "doc.containsKey('b') + '/' + doc.containsKey('nope')",
    "'' + params._source.b + params['_source']['b'] + params._source?.o?.a + (params._source.containsKey('c') ? 1 : 2)",
    "def s = params._source; def k = 'b'; return '' + s[k] + params._source[k] + params._source.getOrDefault('o', null)",
    "doc['_index'].value + doc['_index'][0] + doc.get('_index').get(0) + params.doc['_index'].value",
    "/*doc['x']*/ int n = /.doc['x']/.pattern().length(); return n"
    " + \"doc['x']\".length() // doc['x'].value\n + doc['c'].size() / 1 / 1",
    "return /*x*y*/l.pattern()",
]
ELASTICSEARCH = ["field('b').get('') + $('b', 'x') + field('o.a').get('y')"]


def test_scripts_on_fields_compute_the_same(node: Node, engine_name: str) -> None:
    for source in BOTH + (ELASTICSEARCH if engine_name.startswith("es") else []):
        rewritten = painless.rewrite(source, physical, PREFIX, source_root=ROOT)
        values = []
        for index, script in ((node.plain, source), (node.twin, rewritten)):
            body = {"sort": ["_doc"], "script_fields": {"r": {"script": {"source": script}}}}
            values.append([hit["fields"] for hit in node.call("POST", f"/{index}/_search", body)["hits"]["hits"]])
        assert values[0] == values[1], source
        assert len(values[0]) == len(DOCUMENTS)


def test_scripts_in_queries_compute_the_same(node: Node) -> None:
    for kind, source in (
        ("filter", f"doc['_index'].value == '{node.plain}' && doc['c'].size() > 0 && doc['c'].value > 2"),
        (
            "score",
            f"(doc['_index'].value == '{node.plain}' ? 10 : 0) + (doc['c'].size() > 0 ? doc['c'].value : 0)"
            " + randomScore(3, 'c')",
        ),
    ):
        rewritten = painless.rewrite(source, physical, PREFIX)
        found = []
        for index, script in ((node.plain, source), (node.twin, rewritten)):
            filtered = {"script": {"script": script}}
            scored = {
                "script_score": {
                    "query": {"exists": {"field": "c" if script is source else physical("c")}},
                    "script": {"source": script},
                }
            }
            body = {"query": filtered if kind == "filter" else scored, "sort": [{"_score": "desc"}, "_doc"], "track_scores": True}
            found.append([hit["_id"] for hit in node.call("POST", f"/{index}/_search", body)["hits"]["hits"]])
        assert found[0] == found[1]
        assert found[0]


UPDATE = (
    "def s = ctx._source; s.seen = ctx._index + ':' + ctx['_index'] + ':' + ctx._id + ':' + ctx._routing;"
    " ctx._source.remove('b'); ctx._source['k' + 1] = ctx?._index; ctx._source.doc = params.doc"
)
BY_ELASTICSEARCH = "; ctx._source.more = metadata().index + metadata().id"


@pytest.mark.parametrize("endpoint", ["_update", "_update_by_query", "_reindex"])
def test_scripts_on_documents_compute_the_same(node: Node, engine_name: str, endpoint: str) -> None:
    source = UPDATE + (BY_ELASTICSEARCH if engine_name.startswith("es") else "")
    assert not [ref for ref in painless.scan(source, Context.WRITE).computed if ref.kind is not painless.Ref.SOURCE]
    rewritten = painless.rewrite(source, physical, PREFIX, source_root=ROOT, context=Context.WRITE)
    documents = []
    try:
        for index, text in ((node.plain, source), (node.twin, rewritten)):
            script = {"source": text, "params": {"doc": {"p": 1}}}
            where = index
            if endpoint == "_update":
                node.call("POST", f"/{index}/_update/1?routing=r1&refresh=true", {"script": script})
            elif endpoint == "_update_by_query":
                node.call("POST", f"/{index}/_update_by_query?refresh=true", {"script": script})
            else:
                where = f"{index}-to"
                node.call("DELETE", f"/{where}", fails=True)
                node.call(
                    "POST", "/_reindex?refresh=true", {"source": {"index": index}, "dest": {"index": where}, "script": script}
                )
            got = node.call("GET", f"/{where}/_doc/1?routing=r1")["_source"]
            documents.append(got.get(ROOT, got))
    finally:
        node.fill()
    assert documents[0] == documents[1]
    assert documents[0]["seen"] == f"{node.plain}:{node.plain}:1:r1"


def test_a_script_that_moves_documents_moves_them_under_the_prefix(node: Node) -> None:
    source = "if (ctx._source.containsKey('c')) { ctx._index = ctx._index + '-to' }"
    rewritten = painless.rewrite(source, str, PREFIX, source_root=ROOT, context=Context.WRITE)
    node.call("DELETE", f"/{node.twin}-to", fails=True)
    body = {"source": {"index": node.twin}, "dest": {"index": f"{node.twin}-to"}, "script": {"source": rewritten}}
    body["source"]["query"] = {"exists": {"field": physical("c")}}
    node.call("POST", "/_reindex?refresh=true", body)
    assert node.ids(f"{node.twin}-to", "query_string", {"query": "*:*"}) == ["0", "2", "3"]


def test_names_of_backing_indices_lose_the_prefix_only(node: Node) -> None:
    backing = f".ds-{node.twin}-000001"  # made by hand: not every build of a node can delete data streams
    node.call("PUT", f"/{backing}/_doc/1?refresh=true", {"a": 1})
    try:
        script = painless.rewrite("doc['_index'].value", str, PREFIX)
        hit = node.call("POST", f"/{backing}/_search", {"script_fields": {"r": {"script": {"source": script}}}})["hits"]["hits"][
            0
        ]
        assert hit["fields"]["r"] == [f".ds-{node.plain}-000001"]
    finally:
        node.call("DELETE", f"/{backing}")


def test_a_comment_at_the_end_of_a_source_is_code_to_some_nodes(node: Node, engine_name: str) -> None:
    source = "return 1 //ab/.pattern().length()"
    with pytest.raises(LanguageError, match="end it with a line feed"):
        painless.scan(source)
    answer = node.call("POST", f"/{node.plain}/_search", {"script_fields": {"r": {"script": {"source": source}}}})
    assert answer["hits"]["hits"][0]["fields"]["r"] == [0 if engine_name.startswith("es") else 1]
