"""The driver against scripted exchanges and a recording engine: no sockets, no loop."""

import logging

import orjson
import pytest

from esproxy.errors import Refusal
from esproxy.exchange import ANSWER, BODY, GO, Abort, Call, More, Need, Reply, Send, Write
from esproxy.heads import AnswerHead
from esproxy.upstream.engine_api import Failure
from tests.unit.serve.scripted import OK, SEND, RecordingEngine, Shell, driven, head

WHOLE = Write(b"{}", True, OK)


def engine_of(shell: Shell) -> RecordingEngine:
    return shell.proxy.engine


def exchange_of(shell: Shell):
    return shell.proxy.gateway.exchange


def flight_of(shell: Shell, number: int = -1):
    return engine_of(shell).flights[number]


def status_of(shell: Shell) -> int:
    assert len(shell.steps) == 1 and isinstance(shell.steps[0], Reply)
    return shell.steps[0].status


def test_request_with_a_whole_body_and_answer_is_one_call_each_way():
    shell = driven([SEND, WHOLE])
    shell.begin(head(), b"{}", True)
    flight_of(shell).answer()
    assert shell.steps == [WHOLE] and shell.over
    assert exchange_of(shell).calls == [("open", b"{}", True), ("open_answer", 200, b"{}", True)]
    assert flight_of(shell).calls == [] and shell.held == []


def test_reply_needs_no_upstream():
    shell = driven([Reply(403, [], b"no")])
    shell.begin(head(), b"", True)
    assert status_of(shell) == 403 and engine_of(shell).flights == []


def test_body_in_parts_goes_on_as_more():
    shell = driven([Send("main", "POST", b"/_bulk", [], b"a", False), More(b"b", False), None, More(b"c", True), WHOLE])
    shell.begin(head("POST"), b"a", False)
    shell.feed(b"b", False)
    shell.feed(b"half a line", False)
    shell.feed(b"c", True)
    assert flight_of(shell).calls == [("more", b"b", False), ("more", b"c", True)]
    flight_of(shell).answer()
    assert shell.steps == [WHOLE]


def test_answer_in_parts_is_delivered_as_it_comes():
    first, last = Write(b"1", False, AnswerHead(200, [])), Write(b"2", True)
    shell = driven([SEND, None, first, None, last])
    shell.begin(head(), b"", True)
    sink = flight_of(shell).sink
    sink.open_answer(OK, 1)
    sink.feed_answer(b"1", False)
    sink.feed_answer(b"", False)
    sink.feed_answer(b"2", True)
    assert shell.steps == [first, last] and shell.over and flight_of(shell).calls == []


def test_answer_before_the_end_of_the_upload_ends_the_upload():
    shell = driven([Send("main", "POST", b"/x", [], b"a", False), Reply(413, [], b""), None])
    shell.begin(head("POST"), b"a", False)
    flight_of(shell).sink.open_answer(AnswerHead(413, []), 1)
    shell.feed(b"b", True)
    assert status_of(shell) == 413
    assert flight_of(shell).calls == [("cancel",)]
    assert ("feed", b"b", True) not in exchange_of(shell).calls


@pytest.mark.parametrize("step", [SEND, Reply(500, [], b""), Abort("why")])
def test_step_that_replaces_the_call_under_way_cancels_it(step):
    shell = driven([SEND, step])
    shell.begin(head(), b"", True)
    flight_of(shell).sink.open_answer(OK, 1)
    assert flight_of(shell, 0).calls == [("cancel",)]


def test_new_send_after_a_whole_answer_cancels_nothing():
    shell = driven([SEND, SEND, WHOLE])
    shell.begin(head(), b"", True)
    flight_of(shell).answer()
    flight_of(shell).answer()
    assert len(engine_of(shell).flights) == 2 and all(flight.calls == [] for flight in engine_of(shell).flights)
    assert shell.steps == [WHOLE]


# --- back-pressure


def test_answer_that_is_not_wanted_is_paused_and_resumed():
    def unwanted(exchange):
        exchange.wants = 0

    shell = driven([SEND, unwanted, GO_ON, WHOLE])
    shell.begin(head(), b"", True)
    flight_of(shell).sink.open_answer(OK, 1)
    assert flight_of(shell).calls == [("pause",)]
    exchange_of(shell).wants = ANSWER
    flight_of(shell).sink.feed_answer(b"in flight already", False)
    assert flight_of(shell).calls == [("pause",), ("resume",)]


def GO_ON(exchange):
    return None


def test_body_that_is_not_wanted_is_held_until_it_is():
    def full(exchange):
        exchange.wants = ANSWER
        return More(b"b", False)

    def room(exchange):
        exchange.wants = BODY | ANSWER

    shell = driven([Send("main", "POST", b"/x", [], b"a", False), full, room])
    shell.begin(head("POST"), b"a", False)
    shell.feed(b"b", False)
    assert shell.held == [True]
    flight_of(shell).sink.open_answer(OK, 1)
    assert shell.held == [True, False]


def test_body_is_held_while_the_upstream_takes_no_more():
    shell = driven([Send("main", "POST", b"/x", [], b"a", False)])
    shell.begin(head("POST"), b"a", False)
    flight_of(shell).sink.writable(False)
    flight_of(shell).sink.writable(True)
    assert shell.held == [True, False]


def test_upstream_that_takes_no_more_from_the_start_holds_the_body():
    engine = RecordingEngine(at_once=lambda sink: sink.writable(False))
    shell = driven([Send("main", "POST", b"/x", [], b"a", False)], engine=engine)
    shell.begin(head("POST"), b"a", False)
    assert shell.held == [True] and not shell.over


def test_slow_client_pauses_the_answer():
    shell = driven([SEND, Write(b"1", False, OK)])
    shell.begin(head(), b"", True)
    flight_of(shell).sink.open_answer(OK, 1, b"1")
    shell.stall(True)
    shell.stall(True)
    shell.stall(False)
    assert flight_of(shell).calls == [("pause",), ("resume",)]


# --- failures


def test_upstream_failure_is_the_exchanges_to_answer():
    shell = driven([SEND, Reply(503, [], b"")])
    shell.begin(head(), b"", True)
    flight_of(shell).sink.fail_answer(Failure("connect", "http://10.0.0.1:9200: refused"))
    assert status_of(shell) == 503 and exchange_of(shell).calls[-1] == ("fail_answer", "connect")


def test_upstream_failure_inside_start_is_answered_once():
    engine = RecordingEngine(at_once=lambda sink: sink.fail_answer(Failure("connect")))
    shell = driven([SEND, Reply(503, [], b"")], engine=engine)
    shell.begin(head(), b"", True)
    assert status_of(shell) == 503 and shell.flight is None and flight_of(shell).calls == []


def test_answer_inside_start_leaves_no_flight():
    engine = RecordingEngine(at_once=lambda sink: sink.open_answer(OK, 1, b"{}", True))
    shell = driven([SEND, WHOLE], engine=engine)
    shell.begin(head(), b"", True)
    assert shell.steps == [WHOLE] and shell.flight is None


@pytest.mark.parametrize("script", [[ValueError("bug")], [SEND, ValueError("bug")]])
def test_exception_inside_the_gateway_is_a_500_and_logged(script, caplog):
    shell = driven(script)
    shell.begin(head(), b"", True)
    if len(script) == 2:
        flight_of(shell).answer()
    body = orjson.loads(shell.steps[0].body)
    assert status_of(shell) == 500 and body["status"] == 500 and "bug" not in shell.steps[0].body.decode()
    assert any(record.exc_info and "bug" in str(record.exc_info[1]) for record in caplog.records)
    assert shell.proxy.stats.bugs == 1


def test_exception_inside_the_gateway_after_bytes_have_left_cuts_the_connection(caplog):
    shell = driven([SEND, Write(b"1", False, OK), ValueError("bug")])
    shell.begin(head(), b"", True)
    flight_of(shell).sink.open_answer(OK, 1, b"1")
    flight_of(shell).sink.feed_answer(b"2", False)
    assert shell.cuts == ["an internal error"] and shell.over and flight_of(shell).calls == [("cancel",)]
    assert exchange_of(shell).calls[-1] == ("close",)


def test_abort_after_bytes_have_left_cuts_the_connection(caplog):
    shell = driven([SEND, Write(b"1", False, OK), Abort("a hit that is not the tenant's")])
    shell.begin(head(), b"", True)
    flight_of(shell).sink.open_answer(OK, 1, b"1")
    flight_of(shell).sink.feed_answer(b"2", False)
    assert shell.cuts == ["a hit that is not the tenant's"] and flight_of(shell).calls == [("cancel",)]
    assert shell.proxy.stats.aborts == 1


def test_abort_before_bytes_have_left_is_a_500(caplog):
    shell = driven([SEND, Abort("why")])
    shell.begin(head(), b"", True)
    flight_of(shell).answer()
    assert status_of(shell) == 500 and shell.cuts == []


def test_reply_after_bytes_have_left_cuts_the_connection(caplog):
    shell = driven([SEND, Write(b"1", False, OK), Reply(500, [], b"")])
    shell.begin(head(), b"", True)
    flight_of(shell).sink.open_answer(OK, 1, b"1")
    flight_of(shell).sink.feed_answer(b"2", False)
    assert shell.cuts == ["an internal error"]


@pytest.mark.parametrize("script", [[None], [SEND, None]])
def test_exchange_that_falls_silent_is_a_500(script, caplog):
    shell = driven(script)
    shell.begin(head(), b"", True)
    if len(script) == 2:
        flight_of(shell).answer()
    assert status_of(shell) == 500 and "fell silent" in caplog.text


def test_engine_that_does_not_take_the_send_is_a_500(caplog):
    def refuse(sink):
        raise KeyError("no such cluster")

    shell = driven([SEND], engine=RecordingEngine(at_once=refuse))
    shell.begin(head(), b"", True)
    assert status_of(shell) == 500


def test_exception_in_may_send_means_no(caplog):
    shell = driven([SEND])
    shell.begin(head(), b"", True)
    exchange_of(shell).may_send = lambda now: 1 / 0
    assert shell.may_send(0.0) is False and "ZeroDivisionError" in caplog.text


def test_error_of_a_head_request_has_no_body(caplog):
    shell = driven([ValueError("bug")], method="HEAD")
    shell.begin(head("HEAD"), b"", True)
    assert shell.steps[0].status == 500 and shell.steps[0].body == b""


def test_outage_is_logged_once_a_second_per_kind(caplog):
    caplog.set_level(logging.WARNING)
    shell = driven([])
    for what in ("connect", "connect", "timeout", "connect"):
        shell.proxy.note(Failure(what, "detail"))
    assert [record.args[0] for record in caplog.records] == ["connect", "timeout"]


# --- the client


def test_client_that_leaves_cancels_the_upstream_call():
    shell = driven([SEND])
    shell.begin(head(), b"", True)
    shell.leave()
    shell.leave()
    assert flight_of(shell).calls == [("cancel",)] and exchange_of(shell).calls[-1] == ("close",)
    assert shell.proxy.stats.disconnects == 1 and shell.proxy.stats.in_flight == 0


def test_shell_that_refuses_the_rest_of_a_body_answers_and_ends_the_upload():
    shell = driven([Send("main", "POST", b"/x", [], b"a", False)])
    shell.begin(head("POST"), b"a", False)
    shell.refuse(Refusal("the body is not valid gzip"))
    assert status_of(shell) == 400 and flight_of(shell).calls == [("cancel",)]


# --- procedures


def asks(call: Call, ended: list):
    answer = yield call
    ended.append(answer)
    return GO


def test_procedure_runs_and_the_exchange_looks_again():
    ended = []
    shell = driven([Need(asks(Call(SEND), ended)), SEND, WHOLE])
    shell.begin(head(), b"", True)
    flight_of(shell).answer(b"filled")
    assert ended[0].body == b"filled" and exchange_of(shell).calls[-1] == ("resume", GO)
    flight_of(shell).answer()
    assert shell.steps == [WHOLE]


def test_procedure_that_ends_at_once_goes_on_at_once():
    def nothing():
        return GO
        yield

    shell = driven([Need(nothing()), SEND])
    shell.begin(head(), b"", True)
    assert len(engine_of(shell).flights) == 1 and shell.run is None


def test_exception_in_a_procedure_is_handed_to_the_exchange(caplog):
    def fails():
        yield Call(SEND)
        raise ValueError("bug")

    shell = driven([Need(fails()), Reply(500, [], b"")])
    shell.begin(head(), b"", True)
    flight_of(shell).answer()
    assert isinstance(exchange_of(shell).calls[-1][1], ValueError) and status_of(shell) == 500 and "bug" in caplog.text


def test_procedure_dies_with_its_client():
    closed = []

    def waits():
        try:
            yield Call(SEND)
        finally:
            closed.append(True)

    shell = driven([Need(waits())])
    shell.begin(head(), b"", True)
    shell.leave()
    assert closed == [True] and flight_of(shell).calls == [("cancel",)]


def test_procedure_with_a_key_is_shared_and_outlives_its_client():
    ended = []
    first = driven([Need(asks(Call(SEND), ended), key="directory")])
    first.begin(head(), b"", True)
    second = Shell(first.proxy)
    exchange_of(first).script.extend([Need(asks(Call(SEND), ended), key="directory"), Reply(200, [], b"")])
    second.begin(head(), b"", True)
    first.leave()
    assert len(engine_of(first).flights) == 1 and flight_of(first).calls == []
    flight_of(first).answer()
    assert len(ended) == 1 and status_of(second) == 200 and first.steps == []
    assert first.proxy.procedures.shared == {}


async def test_proxy_ends_shared_procedures_when_it_closes():
    shell = driven([Need(asks(Call(SEND), []), key="directory")])
    shell.begin(head(), b"", True)
    await shell.proxy.aclose()
    assert flight_of(shell).calls == [("cancel",)] and shell.proxy.procedures.shared == {} and shell.proxy.engine.closed


def test_statistics_count_each_request_once():
    shell = driven([SEND, WHOLE])
    shell.begin(head(), b"", True)
    assert shell.proxy.stats.in_flight == 1
    flight_of(shell).answer()
    taken = shell.proxy.stats.take()
    assert taken["requests"] == [["GET", 200, 1]] and sum(taken["seconds"]) == 1 and taken["in_flight"] == 0
    assert shell.proxy.stats.take()["requests"] == []
