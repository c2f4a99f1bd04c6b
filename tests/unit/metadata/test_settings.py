import pytest

from esproxy.errors import Refusal
from esproxy.metadata.settings import restore_settings, rewrite_settings


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


def test_id_of_a_node_is_taken_back_where_it_was_put():
    assert rewrite_settings({"routing.allocation.include": {"_id": None}}, physical, "N") == {
        "routing.allocation.include": {"_name": None}
    }


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


def test_restore_settings_takes_names_back():
    answer = {"index": {"provided_name": "acme.logs", "default_pipeline": "acme.p", "number_of_shards": "1"}}
    bare = lambda name: name.removeprefix("acme.")  # noqa: E731
    assert restore_settings(answer, bare, bare, bare) == {
        "index": {"provided_name": "logs", "default_pipeline": "p", "number_of_shards": "1"}
    }
    assert restore_settings({"index.provided_name": "acme.logs"}, bare, bare, bare) == {"index.provided_name": "logs"}
