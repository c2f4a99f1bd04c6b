"""Procedures: what they yield, what they get, how they end."""

import asyncio

import pytest

from esproxy.errors import Refusal, UpstreamFailed
from esproxy.exchange import GO, Answer, Call, Calls, Need, Reply, Wait
from esproxy.heads import AnswerHead
from esproxy.serve.procedures import Procedures
from esproxy.upstream.engine_api import Failure
from tests.unit.serve.scripted import OK, SEND, RecordingEngine


class Waiter:
    def __init__(self):
        self.outcomes = []

    def resumed(self, outcome):
        self.outcomes.append(outcome)


def started(procedure, key=None, engine=None):
    """The engine and who waits."""
    procedures = Procedures(engine or RecordingEngine())
    waiter = Waiter()
    procedures.find(Need(procedure, key)).join(waiter)
    return procedures, waiter


def test_call_gets_a_whole_answer():
    def procedure():
        answer = yield Call(SEND)
        return Reply(answer.status, answer.headers, answer.body)

    procedures, waiter = started(procedure())
    sink = procedures.engine.flights[0].sink
    sink.open_answer(OK, 1, b"{")
    sink.feed_answer(b"", False)
    sink.feed_answer(b"}", True)
    assert waiter.outcomes == [Reply(200, OK.headers, b"{}")]


def test_repeated_call_gets_only_the_last_answer():
    def procedure():
        answer = yield Call(SEND)
        return Reply(answer.status, [], answer.body)

    procedures, waiter = started(procedure())
    sink = procedures.engine.flights[0].sink
    sink.open_answer(AnswerHead(503, []), 1, b"no")
    sink.open_answer(AnswerHead(200, []), 2, b"yes", True)
    assert waiter.outcomes == [Reply(200, [], b"yes")]


def test_calls_run_at_once_and_answers_keep_their_order():
    def procedure():
        answers = yield Calls([Call(SEND), Call(SEND), Call(SEND)])
        return Reply(200, [], b",".join(answer.body for answer in answers))

    procedures, waiter = started(procedure())
    for number in (2, 0, 1):
        assert waiter.outcomes == []
        procedures.engine.flights[number].answer(b"%d" % number)
    assert waiter.outcomes == [Reply(200, [], b"0,1,2")]


def test_no_calls_have_no_answers():
    def procedure():
        assert (yield Calls([])) == []
        return GO

    assert started(procedure())[1].outcomes == [GO]


@pytest.mark.parametrize(("what", "status"), [("connect", 503), ("timeout", 504), ("broken", 502), ("refused", 503)])
def test_failed_call_is_an_exception_in_the_procedure(what, status):
    def procedure():
        try:
            yield Call(SEND)
        except UpstreamFailed as error:
            return Reply(error.status, [], error.what.encode())

    procedures, waiter = started(procedure())
    procedures.engine.flights[0].sink.fail_answer(Failure(what, "http://10.0.0.1:9200"))
    assert waiter.outcomes == [Reply(status, [], what.encode())]


def test_failure_among_several_calls_waits_for_the_others():
    def procedure():
        yield Calls([Call(SEND), Call(SEND)])

    procedures, waiter = started(procedure())
    procedures.engine.flights[0].sink.fail_answer(Failure("broken"))
    assert waiter.outcomes == []
    procedures.engine.flights[1].answer()
    assert isinstance(waiter.outcomes[0], UpstreamFailed)


def test_answer_above_the_limit_is_cut_off():
    def procedure():
        yield Call(SEND, limit=10)

    procedures, waiter = started(procedure())
    flight = procedures.engine.flights[0]
    flight.sink.open_answer(OK, 1, b"x" * 10)
    assert waiter.outcomes == []
    flight.sink.feed_answer(b"x", False)
    assert flight.calls == [("cancel",)] and waiter.outcomes[0].what == "overflow"


def test_answer_inside_start_goes_on():
    engine = RecordingEngine(at_once=lambda sink: sink.open_answer(OK, 1, b"{}", True))

    def procedure():
        for _ in range(3):
            yield Calls([Call(SEND), Call(SEND)])
        return GO

    assert started(procedure(), engine=engine)[1].outcomes == [GO] and len(engine.flights) == 6


def test_engine_that_takes_no_call_is_an_exception_in_the_procedure():
    def refuse(sink):
        if len(engine.flights) == 2:
            raise KeyError("other")

    engine = RecordingEngine(at_once=refuse)

    def procedure():
        try:
            yield Calls([Call(SEND), Call(SEND)])
        except KeyError:
            return GO

    assert started(procedure(), engine=engine)[1].outcomes == [GO]
    assert engine.flights[0].calls == [("cancel",)]


async def test_wait_goes_on_after_its_time():
    def procedure():
        yield Wait(0.001)
        return GO

    _, waiter = started(procedure())
    assert waiter.outcomes == []
    async with asyncio.timeout(5):
        while not waiter.outcomes:
            await asyncio.sleep(0.001)
    assert waiter.outcomes == [GO]


async def test_cancelled_wait_does_not_go_on():
    def procedure():
        yield Wait(0.001)
        raise AssertionError

    procedures = Procedures(RecordingEngine())
    waiter = Waiter()
    run = procedures.find(Need(procedure()))
    run.join(waiter)
    run.leave(waiter)
    await asyncio.sleep(0.01)
    assert waiter.outcomes == []


def test_refusal_that_leaves_a_procedure_is_the_outcome(caplog):
    def procedure():
        raise Refusal("no")
        yield

    assert isinstance(started(procedure())[1].outcomes[0], Refusal) and caplog.records == []


@pytest.mark.parametrize("end", [None, Answer(200, [], b""), "done"])
def test_procedure_that_ends_with_something_else_has_failed(end, caplog):
    def procedure():
        return end
        yield

    assert isinstance(started(procedure())[1].outcomes[0], TypeError)


def test_procedure_that_yields_something_else_hears_of_it(caplog):
    def procedure():
        yield SEND

    assert isinstance(started(procedure())[1].outcomes[0], TypeError)


def test_procedure_that_will_not_end_is_logged(caplog):
    def procedure():
        try:
            yield Call(SEND)
        except GeneratorExit:
            yield Call(SEND)

    procedures = Procedures(RecordingEngine())
    run = procedures.find(Need(procedure()))
    waiter = Waiter()
    run.join(waiter)
    run.leave(waiter)
    assert "a procedure failed while it was ended" in caplog.text


def test_same_need_after_the_end_starts_anew():
    runs = []

    def procedure():
        runs.append(1)
        yield Call(SEND)
        return GO

    class Again(Waiter):
        def resumed(self, outcome):
            super().resumed(outcome)
            if len(self.outcomes) == 1:
                procedures.find(Need(procedure(), "key")).join(self)

    procedures = Procedures(RecordingEngine())
    waiter = Again()
    procedures.find(Need(procedure(), "key")).join(waiter)
    procedures.engine.flights[0].answer()
    assert runs == [1, 1] and waiter.outcomes == [GO] and list(procedures.shared) == ["key"]


def test_one_outcome_reaches_all_who_wait():
    def procedure():
        yield Call(SEND)
        return GO

    procedures = Procedures(RecordingEngine())
    waiters = [Waiter() for _ in range(3)]
    for waiter in waiters:
        procedures.find(Need(procedure(), "key")).join(waiter)
    procedures.engine.flights[0].answer()
    assert [waiter.outcomes for waiter in waiters] == [[GO]] * 3 and len(procedures.engine.flights) == 1
