"""Calls, statuses, warnings and the order of steps, on a target that answers by script."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.conformance.calls import Api, Definitions, encoded
from tests.conformance.conditions import About
from tests.conformance.player import Player, check_error, check_warnings
from tests.conformance.reading import Test
from tests.conformance.values import Failed
from tests.conformance.wire import Answer, Target

SEARCH = Api(
    "search",
    [
        {"path": "/_search", "methods": ["GET", "POST"]},
        {"path": "/{index}/_search", "methods": ["GET", "POST"]},
        {"path": "/{index}/{type}/_search", "methods": ["GET", "POST"], "deprecated": True},
    ],
    frozenset({"size"}),
    False,
)
EXISTS = Api("exists", [{"path": "/{index}/_doc/{id}", "methods": ["HEAD"]}], frozenset(), False)
BULK = Api("bulk", [{"path": "/_bulk", "methods": ["POST", "PUT"]}], frozenset({"refresh"}), True)
DEFINITIONS = Definitions({one.name: one for one in (SEARCH, EXISTS, BULK)}, frozenset({"pretty"}))


def answer(status: int, text: str = "", headers: list[tuple[str, str]] | None = None, body: Any = None) -> Answer:
    return Answer(status, httpx.Headers(headers or []), text.encode(), body if body is not None else text)


class Scripted(Target):
    """Answers what it is given, one after another, and keeps what was sent."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__("http://nowhere.invalid")
        self.answers, self.sent = list(answers), []  # type: list[Answer], list[tuple[str, str, bytes | None]]

    def send(self, method: str, target: str, body: bytes | None = None, headers: Any = None) -> Answer:
        self.calls += 1
        self.sent.append((method, target, body))
        return self.answers.pop(0)


def play(steps: list[dict[str, Any]], *answers: Answer, teardown: Any = ()) -> tuple[str, str, Scripted]:
    target = Scripted(*answers)
    outcome = Player(target, DEFINITIONS, About("opensearch", "3.8.0")).play(Test("f.yml", "t", [], steps, list(teardown)))
    target.close()
    return outcome.status, outcome.reason, target


@pytest.mark.parametrize(
    ("name", "arguments", "method", "target", "body"),
    [
        ("search", {}, "GET", "/_search", None),
        ("search", {"index": ["a", "b*"], "size": 3}, "GET", "/a,b*/_search?size=3", None),
        ("search", {"index": "", "pretty": True}, "GET", "/_search?pretty=true", None),
        ("search", {"index": "<a-{now/d}>", "body": {"é": 1}}, "POST", "/%3Ca-%7Bnow%2Fd%7D%3E/_search", '{"é":1}'.encode()),
        ("bulk", {"refresh": "", "body": [{"index": {}}, '{"a": 1}\n']}, "POST", "/_bulk?refresh=", b'{"index":{}}\n{"a": 1}\n'),
        ("exists", {"index": "a", "id": "x/y"}, "HEAD", "/a/_doc/x%2Fy", None),
    ],
)
def test_call_becomes_a_request(name: str, arguments: dict[str, Any], method: str, target: str, body: bytes | None) -> None:
    request = DEFINITIONS.request(name, arguments, {})
    assert (request.method, request.target, request.body) == (method, target, body)


def test_call_without_a_path_for_its_parts_fails() -> None:
    with pytest.raises(Failed, match="no path"):
        DEFINITIONS.request("exists", {"index": "a"}, {})
    with pytest.raises(Failed, match="no path takes"):
        DEFINITIONS.request("search", {"type": "t"}, {})


def test_body_that_is_text_is_sent_as_it_is_or_as_what_its_yaml_means() -> None:
    assert encoded('{"a" : 1}', False, {}) == (b'{"a" : 1}', "application/json")
    assert encoded("query: {match_all: {}}", False, {}) == (b'{"query":{"match_all":{}}}', "application/json")
    assert encoded("nonsense", False, {}) == (b"nonsense", "application/json")
    assert encoded({"a": 1}, False, {"Content-Type": "application/yaml"}) == (b"a: 1\n", "application/yaml")


@pytest.mark.parametrize(
    ("catch", "status", "text", "good"),
    [
        ("missing", 404, "", True),
        ("missing", 400, "", False),
        ("missing", 200, "", False),
        ("request", 500, "", True),
        ("request", 200, "", False),
        ("/no such (index|alias)/", 400, "no such alias", True),
        ("/no such (index|alias)/", 400, "nosuchalias", False),
        ("parsing_exception", 400, '{"type": "parsing_exception"}', True),
        ("parsing_exception", 400, '{"type": "other"}', False),
    ],
)
def test_error_is_the_one_that_was_expected(catch: str, status: int, text: str, good: bool) -> None:
    if good:
        check_error("search", answer(status, text), catch)
    else:
        with pytest.raises(Failed):
            check_error("search", answer(status, text), catch)


def test_error_pattern_is_found_in_unescaped_texts() -> None:
    check_error("search", answer(400, r'{"a": "say \"hi\""}', body={"a": 'say "hi"'}), '/say "hi"/')


def test_warnings_must_all_be_there() -> None:
    told = answer(200, headers=[("warning", '299 OpenSearch-3.8.0-e5a3c5 "say \\"no\\"", 299 OpenSearch-3.8.0-e5a3c5 "two"')])
    check_warnings(told, ['say "no"', "two"], ["^tw"])
    with pytest.raises(Failed, match="three"):
        check_warnings(told, ["two", "three"], [])
    with pytest.raises(Failed, match="like"):
        check_warnings(told, [], ["^wo"])


def test_unexpected_error_fails_unless_it_is_ignored() -> None:
    assert play([{"do": {"search": {}}}], answer(404, "gone"))[:2] == ("fail", "search: 404 gone")
    assert play([{"do": {"search": {"ignore": 404}}}], answer(404, "gone"))[0] == "pass"
    assert play([{"do": {"search": {}, "catch": "missing"}}], answer(404, "gone"))[0] == "pass"


def test_absent_document_is_an_answer_not_an_error() -> None:
    there = [{"do": {"exists": {"index": "a", "id": 1}}}, {"is_true": ""}]
    assert play(there, answer(404, body=False))[0] == "fail"
    assert play(there, answer(200, body=True))[0] == "pass"


def test_param_errors_are_never_sent() -> None:
    status, _, target = play([{"do": {"exists": {"index": "a"}, "catch": "param"}}])
    assert status == "pass" and target.sent == []


def test_stashed_value_goes_into_the_next_call() -> None:
    steps = [{"do": {"search": {}}}, {"set": {"id": "it"}}, {"do": {"search": {"index": "i-${it}", "body": {"q": "$it"}}}}]
    status, _, target = play(steps, answer(200, body={"id": 7}), answer(200))
    assert status == "pass"
    assert target.sent[1] == ("POST", "/i-7/_search", b'{"q":7}')


def test_failed_step_ends_the_test_and_teardown_is_played() -> None:
    steps = [{"do": {"search": {}}}, {"match": {"a": 2}}, {"do": {"search": {"index": "never"}}}]
    status, reason, target = play(steps, answer(200, body={"a": 1}), answer(200), teardown=[{"do": {"search": {"index": "end"}}}])
    assert (status, reason) == ("fail", "match a: expected 2, found 1")
    assert [target for _, target, _ in target.sent] == ["/_search", "/end/_search"]


@pytest.mark.parametrize("step", [{"do": {"unheard_of": {}}}, {"dance": {}}, {"do": {}}, {"is_true": "a"}], ids=str)
def test_step_that_the_player_does_not_know_is_its_own_fault(step: dict[str, Any]) -> None:
    assert play([step])[0] == "unplayable"


def test_skipped_test_sends_nothing() -> None:
    status, reason, target = play([{"skip": {"version": "all", "reason": "broken"}}, {"do": {"search": {}}}])
    assert status == "skip" and "broken" in reason and target.sent == []
