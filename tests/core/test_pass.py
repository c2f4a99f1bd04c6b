"""The life of a pass: feeding, resolvers that raise, memory that stays small, work that stays linear."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc

import orjson
import pytest

from esproxy.core import WIDE, Action, Bindings, BodyError, Kind, Op, Pass, Status, Table, rewrite
from tests.core.run import check_cuts, cuts, echo, passes, run
from tests.core.tables import BINDINGS, PREFIX, ROOTS, STATES, TABLE

SEARCH = ROOTS["search"]
HIT = next(number for number, state in enumerate(STATES) if "_routing" in state.get("keys", {}))


def test_feeding_after_the_last_bytes_is_a_mistake():
    one = Pass(TABLE, SEARCH, BINDINGS["copy"])
    assert one.feed(b"{}", True) == b"{}"
    with pytest.raises(ValueError, match="after its last"):
        one.feed(b"", True)


def test_failed_pass_reads_no_more_and_keeps_its_words():
    one = Pass(TABLE, SEARCH, BINDINGS["copy"])
    assert one.feed(b'{"size":1,"nope":', False) == b""
    assert one.feed(b"2}", True) == b""
    assert (one.status, one.offset, one.key) == (Status.UNKNOWN_KEY, 10, b"nope")
    assert str(one.error) == "unknown field [nope], at byte 10"


def test_error_is_none_while_all_is_well():
    one = Pass(TABLE, SEARCH, BINDINGS["copy"])
    one.feed(b'{"size":1', False)
    assert (one.status, one.error, one.offset) == (Status.OK, None, 9)


def test_what_a_resolver_raises_leaves_feed_and_ends_the_pass():
    def refuse(kind, token):
        raise LookupError(token)

    one = Pass(TABLE, SEARCH, BINDINGS["dedicated"], refuse)
    with pytest.raises(LookupError, match="a,b"):
        one.feed(b'{"index":"a,b"}', False)
    assert one.status is Status.RAISED
    assert one.feed(b"}", True) == b""


@pytest.mark.parametrize("behind", [b"", b" " * 40], ids=["at-the-end", "with-more-behind"])
def test_name_is_plain_or_asked_for_whichever_byte_of_it_is_none(behind):
    for size in (1, 2, 15, 16, 17, 31, 32, 33, 40):
        for at in range(size):
            for odd in (c for c in range(0x20, 0x80) if chr(c) not in '"\\'):
                name = b"a" * at + bytes([odd]) + b"z" * (size - at - 1)
                asked = []
                one = Pass(TABLE, SEARCH, BINDINGS["dedicated"], lambda kind, token, asked=asked: asked.append(token) or token)
                out = one.feed(b'{"index":"' + name + b'"}' + behind, True)
                is_plain = re.fullmatch(rb"[a-z0-9][a-z0-9_.-]*", name) is not None
                assert asked == ([] if is_plain else [b'"' + name + b'"']), name
                assert (PREFIX + name in out) is is_plain


@pytest.mark.parametrize("answer", ["text", bytearray(b'"x"'), 5])
def test_resolver_that_answers_no_bytes_is_a_mistake(answer):
    one = Pass(TABLE, SEARCH, BINDINGS["dedicated"], lambda kind, token: answer)
    with pytest.raises(TypeError, match="answers in bytes"):
        one.feed(b'{"index":"*"}', True)


def test_what_a_resolver_answers_takes_no_more_memory_than_its_bytes():
    """``orjson`` gives every object of bytes 4 KiB, and a pass keeps as many as it has stops in a window."""
    body = b'{"index":[' + b",".join([b'"A%d"' % i for i in range(5000)]) + b"]}"
    one = Pass(TABLE, SEARCH, BINDINGS["dedicated"], lambda kind, token: orjson.dumps("x" + orjson.loads(token)))
    tracemalloc.start()
    out = one.feed(body, True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out.count(b'"xA') == 5000 and peak < 5000 * 200


def test_resolver_that_feeds_its_own_pass_is_a_mistake():
    one = Pass(TABLE, SEARCH, BINDINGS["dedicated"], lambda kind, token: one.feed(b"}", True))
    with pytest.raises(RuntimeError, match="called it"):
        one.feed(b'{"index":"*"', False)


def test_resolver_that_answers_the_same_bytes_changes_nothing():
    body = b'{"index":"*","settings":{"a":1}}'
    assert rewrite(TABLE, SEARCH, BINDINGS["dedicated"], body, echo) is body


def test_missing_resolver_in_a_whole_body_raises():
    with pytest.raises(BodyError) as caught:
        rewrite(TABLE, SEARCH, BINDINGS["dedicated"], b'{"index":"*"}', lambda kind, token: None)
    assert caught.value.status is Status.UNRESOLVED


@pytest.mark.parametrize("data", ["{}", bytearray(b"{}"), memoryview(b"{}"), None])
def test_only_bytes_are_fed(data):
    with pytest.raises(TypeError):
        Pass(TABLE, SEARCH, BINDINGS["copy"]).feed(data, True)


def test_part_without_an_edit_is_returned_itself():
    one = Pass(TABLE, SEARCH, BINDINGS["dedicated"])
    parts = [b'{"ext":[', b"1,2,3", b'],"index":"a"', b',"ids":["b"]}']
    out = [one.feed(part, part is parts[-1]) for part in parts]
    assert out[0] is parts[0]
    assert out[1] is parts[1]
    assert b"".join(out) == b'{"ext":[1,2,3],"index":"' + PREFIX + b'a","ids":["b"]}'


def test_copied_string_leaves_as_it_comes():
    """A long document does not wait for its end."""
    one = Pass(TABLE, SEARCH, BINDINGS["dedicated"])
    one.feed(b'{"doc":{"a":"', False)
    for _ in range(10):
        assert len(one.feed(b"x" * 1000, False)) == 1000


def test_string_that_is_edited_is_held_and_scanned_once():
    """4 MB in pieces of 7 bytes: a rescan at each of them would never end."""
    body = b'{"text":"' + b"\\u00e9x" * 600_000 + b'"}'
    one = Pass(TABLE, SEARCH, BINDINGS["stops"], lambda kind, token: b'"%d"' % len(token))
    out = b"".join([one.feed(body[i : i + 7], i + 7 >= len(body)) for i in range(0, len(body), 7)])
    assert out == b'{"text":"%d"}' % (len(body) - len(b'{"text":}'))


def test_number_of_any_length_is_scanned_once():
    body = b'{"size":' + b"7" * 1_000_000 + b"}"
    one = Pass(TABLE, SEARCH, BINDINGS["copy"])
    assert b"".join([one.feed(body[i : i + 3], i + 3 >= len(body)) for i in range(0, len(body), 3)]) == body


def test_object_of_many_keys_is_read_in_linear_time():
    """200,000 keys, each compared with all before it only by its hash."""
    keys = b",".join(b'"k%d":1' % i for i in range(200_000))
    body = b'{"query":{"match":{' + keys + b"}}}"
    assert rewrite(TABLE, SEARCH, BINDINGS["copy"], body) is body
    with pytest.raises(BodyError) as caught:
        rewrite(TABLE, SEARCH, BINDINGS["copy"], b'{"query":{"match":{' + keys + b',"k77777":1}}}')
    assert (caught.value.status, caught.value.offset) == (Status.DUPLICATE, len(body) - 2)


def test_keys_of_many_nested_objects_do_not_mix():
    """Hashes of an outer object survive those of an inner one, as a list and as a set."""
    inner = b"{" + b",".join(b'"k%d":{}' % i for i in range(40)) + b"}"
    table = Table([{"kind": "OPAQUE"}, {"other": ["COPY", 1]}], [])
    body = b"{" + b",".join(b'"k%d":%s' % (i, inner) for i in range(40)) + b"}"
    assert rewrite(table, 1, Bindings({}), body) is body
    for n in (0, 15, 16, 17, 39):
        with pytest.raises(BodyError, match="twice"):
            rewrite(table, 1, Bindings({}), body[:-1] + b',"k%d":1}' % n)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("odd", [b"", b'\\"', b"\\u00e9", "é".encode(), "日".encode(), "😀".encode(), b"\x7f"])
def test_strings_around_the_width_of_a_block(size, odd):
    """Wherever in a block of the wide search an odd byte stands."""
    for at in range(0, size + 1, 3):
        text = b"x" * at + odd + b"y" * (size - at)
        body = b'{"ext":"' + text + b'","index":"a"}'
        assert rewrite(TABLE, SEARCH, BINDINGS["dedicated"], body) == body.replace(b'"a"', b'"' + PREFIX + b'a"')
        for bad in (b"\x00", b"\n", b"\x1f", b"\xff", b"\x80"):
            with pytest.raises(BodyError) as caught:
                rewrite(TABLE, SEARCH, BINDINGS["copy"], b'{"ext":"' + text + bad + text + b'"}')
            assert caught.value.offset == 8 + len(text)


@pytest.mark.parametrize("space", [b" ", b"\n", b"\t \r\n", b" " * 15, b" " * 16, b"\n" + b" " * 40])
def test_white_space_of_any_length_is_kept(space):
    tokens = [b"{", b'"ids"', b":", b"[", b'"a"', b",", b'"b"', b"]", b",", b'"ext"', b":", b"{", b"}", b"}"]
    body = space + space.join(tokens) + space
    told = check_cuts(passes(TABLE, SEARCH, BINDINGS["per-tenant"]), body)
    expected = space + space.join(tokens).replace(b'"a"', b'"zqp.a"').replace(b'"b"', b'"zqp.b"') + space
    assert told.output == expected.replace(b"}" + space + b"}" + space, b"}" + space + b',"query":{"zqa":{}}}' + space)


def test_frames_edits_and_hashes_outgrow_the_walker():
    depth = 900
    table = Table([{"kind": "OPAQUE"}, {"other": ["FIELD", 1], "keys": {"é": 2}}, {"kind": "INDEX"}], [])
    bindings = Bindings({Kind.FIELD: Action(Op.PREFIX, b"zqp."), Kind.INDEX: Action(Op.PREFIX, b"i.")})
    body = b'{"a":5,"b":{"c":1},"d":' * depth + b"{}" + b"}" * depth
    one = Pass(table, 1, bindings, max_depth=1000)
    out = one.feed(body, True)
    for name in (b"a", b"b", b"c", b"d"):
        body = body.replace(b'"%s"' % name, b'"zqp.%s"' % name)
    assert out == body


def test_many_edits_in_one_body():
    body = orjson.dumps({"ids": [f"id{n}" for n in range(5000)], "query": {}})
    out = rewrite(TABLE, SEARCH, BINDINGS["shared"], body)
    assert orjson.loads(out)["ids"] == [f"zqp.id{n}" for n in range(5000)]


def test_resolver_answers_live_until_they_are_written():
    body = b'{"index":[' + b",".join(b'"%d*"' % n for n in range(500)) + b"]}"
    parts = [body[:700], body[700:]]
    told = run(passes(TABLE, SEARCH, BINDINGS["dedicated"]), parts, lambda kind, token: bytes(bytearray(token)) + b" ")
    assert told.output == body.replace(b'*"', b'*" ')


def test_wide_search_is_named():
    assert WIDE in ("sse2", "c")


LEAKS = """
import resource, sys
sys.path.insert(0, {root!r})
from esproxy.core import BodyError, Pass, BulkPass, rewrite
from tests.core.tables import BINDINGS, ROOTS, TABLE
def odd(kind, token):
    if token == b'"raise"': raise LookupError
    return None if token == b'"miss"' else token + b" "
def work():
    keys = b",".join(b'"k%d":{{}}' % i for i in range(40))
    many = b'{{"query":{{"match":{{' + keys
    for body in (b'{{"index":["*","raise"]}}', b'{{"index":["*","miss"]}}', many + b'}}}}}}', many):
        for name in ("dedicated", "per-tenant", "stops"):
            one = Pass(TABLE, ROOTS["search"], BINDINGS[name], odd)
            try:
                for i in range(0, len(body), 5): one.feed(body[i:i + 5], i + 5 >= len(body))
                one.error
            except LookupError: pass
            try: rewrite(TABLE, ROOTS["search"], BINDINGS[name], body)
            except BodyError: pass
    many = BulkPass(TABLE, ROOTS["action"], ROOTS["update"], ROOTS["doc"], BINDINGS["shared"], odd)
    many.feed(b'{{"index":{{"_id":"*"}}}}\\n{{x}}\\n' * 50, False)
for _ in range(200): work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(3000): work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_passes_that_end_in_any_way_leak_nothing():
    """In a process of its own: 3,000 rounds more may not need a megabyte more."""
    from pathlib import Path

    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", LEAKS.format(root=root)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1024


OMITS = Bindings({Kind.ROUTING: Action(Op.OMIT), Kind.ID: Action(Op.STRIP, PREFIX)})


def unscoped(kind: Kind, token: bytes) -> bytes:
    return b"" if token in (b'"s"', b"7") else token.replace(b"s:", b"")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"_id":"zqp.1","_routing":"s","_score":1}', b'{"_id":"1","_score":1}'),
        (b'{"_id":"zqp.1" , "_routing" : "s" }', b'{"_id":"1"  }'),
        (b'{"_id":"zqp.1","_routing":"s:a","_score":1}', b'{"_id":"1","_routing":"a","_score":1}'),
        (b'{"_id":"zqp.1","\\u005frouting":"s","_score":1}', b'{"_id":"1","_score":1}'),
        (b'{"_score":1,"_routing":7,"_id":"zqp.1"}', b'{"_score":1,"_id":"1"}'),
        (b'{"_score":1,"_routing":null,"_id":"zqp.1"}', b'{"_score":1,"_routing":null,"_id":"1"}'),
        (b'{"_score":1,"_routing":["s:a","s:b"],"_id":"zqp.1"}', b'{"_score":1,"_routing":["a","b"],"_id":"1"}'),
        (b'{"_routing":"s:a","_id":"zqp.1"}', b'{"_routing":"a","_id":"1"}'),
    ],
)
def test_member_is_left_out_where_the_resolver_answers_nothing(body, expected):
    told = check_cuts(passes(TABLE, HIT, OMITS), body, unscoped)
    assert told.output == expected and told.status is Status.OK


@pytest.mark.parametrize("body", [b'{"_routing":"s"}', b'{"_score":1,"_routing":["s"]}', b'{"_score":1,"_routing":[[],"s"]}'])
def test_nothing_for_what_cannot_be_left_out_is_a_mistake(body):
    for parts in cuts(body):
        with pytest.raises(ValueError, match="cannot be left out"):
            run(passes(TABLE, HIT, OMITS), parts, unscoped)
