import pytest

from esproxy.errors import Refusal
from esproxy.metadata.settings import refuse_files, restore_settings, rewrite_settings


def physical(name):
    return "acme." + name


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ({"number_of_shards": 1}, {"number_of_shards": 1}),
        ({"index": {"number_of_shards": 1, "analysis": {"analyzer": {"a": {"type": "standard"}}}}}, None),
        ({"index.refresh_interval": "1s"}, None),
        ({"index": {"default_pipeline": "p"}}, {"index": {"default_pipeline": "acme.p"}}),
        (
            {"index.final_pipeline": "p", "index": {"search.default_pipeline": "s"}},
            {"index.final_pipeline": "acme.p", "index": {"search.default_pipeline": "acme.s"}},
        ),
    ],
)
def test_rewrite_settings_keeps_the_shape(written, sent):
    assert rewrite_settings(written, physical) == (sent if sent is not None else written)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ({"index.routing.allocation.include._id": "N"}, {"index.routing.allocation.include._name": "*"}),
        ({"routing": {"allocation": {"require": {"_name": "N"}}}}, {"routing": {"allocation": {"require": {"_name": "**"}}}}),
        ({"index.routing.allocation.require._name": None}, {"index.routing.allocation.require._name": None}),
        ({"index.routing.allocation.require._name": ""}, {"index.routing.allocation.require._name": ""}),
    ],
)
def test_index_goes_to_the_tenants_one_node_wherever_that_is(written, sent):
    assert rewrite_settings(written, physical, "N") == sent
    restored = restore_settings(sent, physical, physical, lambda node: "N" if node else node)
    assert restored == written


@pytest.mark.parametrize("nothing", [None, ""])
def test_id_of_a_node_is_taken_back_where_it_was_put_and_where_it_shows(nothing):
    written = {"routing.allocation.include": {"_id": nothing}}
    sent = rewrite_settings(written, physical, "N")
    assert sent == {"routing.allocation.include": {"_name": nothing, "_id": nothing}}
    assert restore_settings(sent, physical, physical, lambda node: "N" if node else node) == written


@pytest.mark.parametrize("where", ["include._id", "require._name", "exclude._id", "include._ip", "include._host", "include.rack"])
def test_index_goes_to_no_node_that_is_named_otherwise(where):
    for node, value in ((None, "N"), ("N", "M"), ("N", "N,M"), ("N", "*"), ("N", ["N"])):
        with pytest.raises(Refusal, match="unknown setting"):
            rewrite_settings({"index.routing.allocation." + where: value}, physical, node)


@pytest.mark.parametrize(
    "written",
    [
        {"index.routing.allocation.require._name": "n1"},
        {"index": {"routing": {"allocation": {"include": {"_ip": "x"}}}}},
        {"routing.allocation.exclude._host": "x"},
        {"analysis": {"filter": {"s": {"type": "synonym", "synonyms_path": "/etc/passwd"}}}},
        {"analysis": {"tokenizer": {"k": {"type": "kuromoji_tokenizer", "user_dictionary": "d.txt"}}}},
        {"index.data_path": "/"},
        {"cluster.name": "x"},
        {"nonsense": 1},
    ],
)
def test_rewrite_settings_refuses_what_reaches_outside(written):
    with pytest.raises(Refusal, match="unknown setting"):
        rewrite_settings(written, physical)


@pytest.mark.parametrize("path", ["../../etc", "a/b", "a\\b", "..", ["../x"]])
@pytest.mark.parametrize("key", ["locale", "language", "lang"])
def test_dictionary_is_named_and_no_path(key, path):
    for written in ({"analysis": {"filter": {"h": {"type": "hunspell", key: path}}}}, {f"index.analysis.filter.h.{key}": path}):
        with pytest.raises(Refusal, match="is no path"):
            rewrite_settings(written, physical)
    with pytest.raises(Refusal, match="is no path"):
        refuse_files({"filter": [{"type": "multiplexer", "filters": [{"type": "hunspell", key: path}]}]})


def test_dictionary_may_be_named():
    written = {"analysis": {"filter": {"h": {"type": "hunspell", "locale": "en_US"}, "s": {"language": "English"}}}}
    assert rewrite_settings(written, physical) == written
    refuse_files({"filter": [{"type": "hunspell", "lang": "de-DE"}], "text": "a/b"})


def test_restore_settings_takes_names_back():
    answer = {"index": {"provided_name": "acme.logs", "default_pipeline": "acme.p", "number_of_shards": "1"}}
    bare = lambda name: name.removeprefix("acme.")  # noqa: E731
    assert restore_settings(answer, bare, bare, bare) == {
        "index": {"provided_name": "logs", "default_pipeline": "p", "number_of_shards": "1"}
    }
    assert restore_settings({"index.provided_name": "acme.logs"}, bare, bare, bare) == {"index.provided_name": "logs"}
