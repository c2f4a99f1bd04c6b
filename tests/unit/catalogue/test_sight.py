"""What an exchange believes, without a node: calls are answered by hand."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.catalogue import codec
from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import CLOSED, GONE, OPEN, Alias, Directory, Entry, Index
from esproxy.catalogue.sight import AGAIN, Sight, footprint
from esproxy.catalogue.store import Steps, Store, Stored
from esproxy.errors import Failed
from esproxy.exchange import GO, Answer


def _entry(n: int, state: str = OPEN, then: str | None = None) -> Entry:
    return Entry(n, "shared", "pool~x", "pool~x-1", state, then)


def _directory(**entries: Entry) -> Directory:
    return Directory("acme", 100, indices=dict(entries))


def _catalogue(directory: Directory | None, seq_no: int = 1, alone: bool = False) -> Catalogue:
    cat = Catalogue(Store("main", "c", "m"), Cache(lambda: 0.0), lambda: 0.0, lambda: 1, lambda: "u")
    cat.cache.settled_from = 0.0
    cat.cache.grant(0.0, 5.0, alone)
    if directory is not None:
        cat.cache.put(Stored("directory:acme", seq_no, 1, directory), cat.cache.mark)
    return cat


def _answer(steps: Steps[Any], document: Directory | Index | None, seq_no: int = 9) -> Any:
    """Run a look whose one get finds this document."""
    next(steps)
    body: dict[str, Any] = {"found": False}
    if document is not None:
        source = orjson.loads(codec.encode(document))
        body = {"found": True, "_seq_no": seq_no, "_primary_term": 1, "_source": source}
    with pytest.raises(StopIteration) as end:
        steps.send(Answer(200 if document else 404, [], orjson.dumps(body)))
    return end.value.value


def test_known_open_index_is_believed_from_memory():
    directory = _directory(logs=_entry(1))
    assert Sight(_catalogue(directory), "acme").believe(["logs"]) is directory


@pytest.mark.parametrize(
    "entry",
    [_entry(1, then=GONE), _entry(1, then=CLOSED), _entry(1, CLOSED), _entry(1, "creating")],
    ids=["going", "closing", "closed", "creating"],
)
def test_unsettled_index_is_looked_up(entry: Entry):
    assert Sight(_catalogue(_directory(logs=entry)), "acme").believe(["logs"]) is None


def test_unknown_name_and_lapsed_lease_are_looked_up():
    cat = _catalogue(_directory(logs=_entry(1)))
    assert Sight(cat, "acme").believe(["web"]) is None and Sight(cat, "zenith").believe(["logs"]) is None
    cat.cache.lease_until = 0.0
    assert Sight(cat, "acme").believe(["logs"]) is None


def test_pattern_is_believed_only_while_alone_and_nothing_is_pending():
    quiet = _directory(logs=_entry(1))
    assert Sight(_catalogue(quiet), "acme").believe([], pattern=True) is None
    assert Sight(_catalogue(quiet, alone=True), "acme").believe([], pattern=True) is quiet
    going = _directory(logs=_entry(1), web=_entry(2, then=GONE))
    assert Sight(_catalogue(going, alone=True), "acme").believe([], pattern=True) is None


def test_alias_is_as_sure_as_its_targets():
    directory = _directory(logs=_entry(1), web=_entry(2, then=GONE))
    directory.aliases = {"sure": Alias({"logs": {}}), "unsure": Alias({"logs": {}, "web": {}}), "moving": Alias({"logs": {}}, {})}
    sight = Sight(_catalogue(directory), "acme")
    assert [sight.believe([name]) is not None for name in ("sure", "unsure", "moving")] == [True, False, False]


def test_look_serves_its_exchange_whatever_memory_says():
    sight = Sight(_catalogue(None), "acme")
    assert _answer(sight.look(), _directory(logs=_entry(1, then=GONE))) is GO
    found = sight.believe(["logs", "none"])
    assert found is not None and found.indices["logs"].n == 1
    sight.use(["logs"])
    assert not sight.holds(), "pending: only a second look tells"
    _answer(sight.confirm(), _directory(logs=_entry(1, then=GONE)))
    assert not sight.changed, "what is only pending has not changed yet"
    _answer(sight.confirm(), _directory(logs=_entry(2)))
    assert sight.changed


def test_tenant_without_a_directory_has_an_empty_one():
    sight = Sight(_catalogue(None), "acme")
    _answer(sight.look(), None)
    found = sight.believe(["logs"])
    assert found is not None and not found.indices


def test_answer_holds_while_nothing_used_changed():
    cat = _catalogue(_directory(logs=_entry(1), web=_entry(2)))
    sight = Sight(cat, "acme")
    sight.believe(["logs"])
    sight.use(["logs"])
    cat.cache.apply([Stored("directory:acme", 2, 1, _directory(logs=_entry(1)))], 2)
    assert sight.holds()
    cat.cache.apply([Stored("directory:acme", 3, 1, _directory(logs=_entry(5)))], 3)
    assert not sight.holds()


def test_read_is_sent_again_a_few_times_only():
    sight = Sight(_catalogue(None), "acme")
    assert [sight.again() for _ in range(AGAIN + 1)] == [True] * AGAIN + [False]


def test_footprint_of_an_alias_holds_its_targets_and_their_properties():
    directory = _directory(logs=_entry(1))
    directory.aliases = {"a": Alias({"logs": {"filter": {"match_all": {}}}}), "empty": Alias({}, {"logs": {}})}
    assert footprint(directory, "a") == (("logs", 1, "pool~x-1", OPEN, {"filter": {"match_all": {}}}),)
    assert footprint(directory, "empty") == footprint(directory, "none") == ()


def test_index_document_is_kept_and_its_absence_fails():
    cat = _catalogue(_directory(logs=_entry(1)))
    sight, entry = Sight(cat, "acme"), _entry(1)
    assert sight.index(entry) is None
    index = Index("acme", "logs", 1, "shared", "pool~x", {}, {})
    assert _answer(sight.look_index(entry), index) is GO
    assert sight.index(entry) == index == Sight(cat, "acme").index(entry)
    steps = sight.look_index(_entry(2))
    next(steps)
    with pytest.raises(Failed):
        steps.send(Answer(404, [], b'{"found":false}'))
