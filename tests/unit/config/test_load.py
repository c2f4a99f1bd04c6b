"""Where settings come from, and what becomes of secrets."""

from pathlib import Path

import pytest

from esproxy.cli import flags, main, parser
from esproxy.config import (
    CONFIG_VARIABLE,
    ConfigError,
    Settings,
    dump_for_worker,
    effective,
    load,
    read_from_supervisor,
    warnings,
    with_keys,
)
from esproxy.settings.load import read_file

CONTRACT = """
[listen]
host = "127.0.0.1"
port = 8080
admin_port = 8081

[clusters.main]
nodes = ["http://127.0.0.1:9200"]

[placement]
layout = "dedicated"
cluster = "main"
[[placement.rules]]
tenants = ["small-*"]
indices = ["*"]
layout = "dedicated"

[identity]
header = "x-tenant"

[tenants]
mode = "registered"
ids = ["acme", "zenith"]
"""


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv(CONFIG_VARIABLE, raising=False)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "esproxy.toml"
    path.write_text(CONTRACT)
    return path


def test_contract_is_read(file):
    settings = load(file)
    assert settings.listen.port == 8080 and settings.clusters["main"].nodes == ["http://127.0.0.1:9200"]
    assert settings.placement.rules[0].tenants == ["small-*"] and settings.tenants.ids == ["acme", "zenith"]


def test_later_sources_win_setting_by_setting(file, monkeypatch):
    monkeypatch.setenv("ESPROXY_LISTEN__PORT", "9001")
    monkeypatch.setenv("ESPROXY_LISTEN__WORKERS", "3")
    settings = load(file, {"listen": {"port": "9002"}})
    assert (settings.listen.port, settings.listen.workers, settings.listen.admin_port) == (9002, 3, 8081)


def test_every_setting_can_come_from_the_environment(monkeypatch):
    given = {
        "CLUSTERS__MAIN__NODES": "http://a:9200, http://b:9200",
        "CLUSTERS__MAIN__USERNAME": "elastic",
        "CLUSTERS__MAIN__PASSWORD": "007",
        "PLACEMENT__RULES": '[{"tenants": ["small-*"], "layout": "dedicated"}]',
        "IDENTITY__TRUSTED_PEERS": '["10.0.0.0/8", "::1"]',
        "TENANTS__IDS": "acme,zenith",
        "LIMITS__WINDOW": "1mb",
        "LOG": '{"level": "debug"}',
    }
    for name, value in given.items():
        monkeypatch.setenv(f"ESPROXY_{name}", value)
    settings = load()
    cluster = settings.clusters["main"]
    assert cluster.nodes == ["http://a:9200", "http://b:9200"] and cluster.password.get_secret_value() == "007"
    assert settings.placement.rules[0].tenants == ["small-*"] and settings.tenants.ids == ["acme", "zenith"]
    assert [str(network) for network in settings.identity.trusted_peers] == ["10.0.0.0/8", "::1/128"]
    assert settings.limits.window == 1 << 20 and settings.log.level == "debug"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("ESPROXY_LISTEN__PROT", "1", "listen.prot: is not a setting; did you mean port?"),
        ("ESPROXY_LISTNE__PORT", "1", "ESPROXY_LISTNE__PORT: is not a setting; did you mean listen?"),
        ("ESPROXY_LISTEN__PORT", "eighty", 'listen.port: must be a whole number, is "eighty"'),
        ("ESPROXY_LOG", "debug", "log: must be a table: this is no JSON (Expecting value: line 1 column 1 (char 0))"),
        (
            "ESPROXY_TENANTS__IDS",
            "[acme",
            "tenants.ids: must be a list: this is no JSON (Expecting value: line 1 column 2 (char 1))",
        ),
    ],
)
def test_bad_variable_is_reported(file, monkeypatch, name, value, problem):
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert [str(one) for one in caught.value.problems] == [problem]


def test_variables_that_are_no_settings_are_left_alone(file, monkeypatch):
    monkeypatch.setenv("ESPROXY_CACHE", "/tmp/x")
    assert load(file) == load(file)


def test_file_that_cannot_be_read_is_a_problem(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'[log]\nlevel = "\xe9"\n')
    with pytest.raises(ConfigError, match="is not UTF-8: byte 15"):
        load(tmp_path / "latin.toml")


def test_settings_are_frozen(file):
    with pytest.raises(ValueError, match="frozen"):
        load(file).listen.port = 1


# --- flags


def of_flags(*arguments: str) -> dict:
    return flags(parser().parse_args(["serve", *arguments]))


def test_flags_nest_as_the_file_does():
    given = of_flags(
        "--port", "1", "--host", "::1", "--workers", "2", "--layout", "dedicated", "--tenant-header", "X-Who", "--tenants", "a,b"
    )
    assert given == {
        "listen": {"port": "1", "host": "::1", "workers": "2"},
        "placement": {"layout": "dedicated"},
        "identity": {"header": "X-Who"},
        "tenants": {"mode": "registered", "ids": "a,b"},
    }
    assert of_flags("--tenants", "*") == {"tenants": {"mode": "open", "ids": []}} and of_flags() == {}


def test_upstream_names_the_nodes_of_the_cluster_that_tenants_live_in(tmp_path):
    assert load(upstream=["http://a:1", "http://b:2"]).clusters["main"].nodes == ["http://a:1", "http://b:2"]
    path = tmp_path / "x.toml"
    path.write_text('[placement]\ncluster = "big"\n[clusters.big]\nnodes = ["http://a:1"]\nverify = false\n')
    cluster = load(path, upstream=["https://c:3"]).clusters["big"]
    assert cluster.nodes == ["https://c:3"] and cluster.verify is False


# --- identity


def test_header_is_the_way_to_identify_unless_there_is_a_pattern(file, tmp_path):
    assert load(upstream=["http://a:1"]).identity.header == "x-tenant"
    path = tmp_path / "x.toml"
    path.write_text("[identity]\nindex_pattern = '^(?P<prefix>[^-]+)-(?P<tenant>[^-]+)(?P<postfix>.*)$'\n")
    identity = load(path, upstream=["http://a:1"]).identity
    assert identity.header is None and identity.index_pattern is not None


@pytest.mark.parametrize(
    ("host", "extra", "fine"),
    [
        ("127.0.0.1", {}, True), ("127.8.8.8", {}, True), ("::1", {}, True), ("localhost", {}, True),
        ("0.0.0.0", {}, False), ("::", {}, False), ("10.1.2.3", {}, False), ("proxy.example", {}, False),
        ("0.0.0.0", {"trusted_peers": ["10.0.0.0/8"]}, True),
        ("0.0.0.0", {"index_pattern": "(?P<tenant>[a-z]+)-.*"}, True),
    ],
)  # fmt: skip
def test_tenant_header_needs_loopback_or_trusted_peers(host, extra, fine):
    given = {"listen": {"host": host}, "identity": extra}
    if fine:
        load(flags=given, upstream=["http://a:1"])
    else:
        with pytest.raises(ConfigError, match="is not loopback"):
            load(flags=given, upstream=["http://a:1"])


@pytest.mark.parametrize(
    ("text", "size"), [("512kb", 512 << 10), ("16mb", 16 << 20), ("1 GiB", 1 << 30), ("2048", 2048), (4096, 4096)]
)
def test_size_has_units_of_1024(text, size):
    assert load(flags={"limits": {"window": text, "max_body": "2gb"}}, upstream=["http://a:1"]).limits.window == size


@pytest.mark.parametrize("there", [True, False])
def test_http2_needs_its_package(there, monkeypatch):
    monkeypatch.setattr("esproxy.settings.checks.find_spec", lambda name: there or None)
    given = {"upstream": {"transport": "httpx", "http2": True}}
    if there:
        assert load(flags=given, upstream=["https://a:1"]).upstream.http2
    else:
        with pytest.raises(ConfigError, match="needs the package h2: pip install h2"):
            load(flags=given, upstream=["https://a:1"])


# --- secrets


@pytest.fixture
def secretive(tmp_path):
    (tmp_path / "password").write_text("hush\n")
    path = tmp_path / "x.toml"
    key = "k" * 40
    path.write_text(
        f'[clusters.main]\nnodes = ["http://a:1"]\nusername = "elastic"\npassword_file = "{tmp_path}/password"\n'
        f'[secrets]\nkeys = ["{key}"]\n'
    )
    return load(path)


def test_secret_is_read_from_its_file(secretive):
    assert secretive.clusters["main"].password.get_secret_value() == "hush"


def test_secrets_are_masked_wherever_settings_are_shown(secretive):
    for shown in (effective(secretive), repr(secretive), str(secretive), secretive.model_dump_json()):
        assert "hush" not in shown and "kkk" not in shown


def test_worker_is_handed_the_same_settings_secrets_included(secretive):
    assert read_from_supervisor(dump_for_worker(secretive)) == secretive


def test_worker_does_not_look_at_the_environment(secretive, monkeypatch):
    monkeypatch.setenv("ESPROXY_LISTEN__PORT", "1")
    assert read_from_supervisor(dump_for_worker(secretive)).listen.port == 8080


def test_keys_are_made_when_there_are_none(secretive):
    assert with_keys(secretive) is secretive
    one, other = (with_keys(load(upstream=["http://a:1"])) for _ in range(2))
    assert len(one.secrets.keys[0].get_secret_value()) >= 32 and one.secrets != other.secrets


# --- check


def test_check_of_a_good_file_ends_with_0(file, capsys):
    assert main(["check", str(file)]) == 0
    told = capsys.readouterr()
    assert told.out == "the configuration is good\n"
    assert "warning: secrets.keys: unset: made anew at each start" in told.err


def test_check_effective_prints_what_can_be_a_file_again(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ESPROXY_LISTEN__PORT", "9001")
    assert main(["check", "--effective", str(file)]) == 0
    again = tmp_path / "again.toml"
    again.write_text(capsys.readouterr().out)
    monkeypatch.delenv("ESPROXY_LISTEN__PORT")
    assert load(again).listen.port == 9001
    monkeypatch.setenv("ESPROXY_LISTEN__PORT", "9001")
    assert load(again) == load(file)


def test_check_finds_its_file_in_the_environment(file, capsys, monkeypatch):
    monkeypatch.setenv(CONFIG_VARIABLE, str(file))
    assert main(["check"]) == 0


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        ({}, "tenants.ids: nobody is registered"),
        ({"tenants": {"mode": "open", "ids": ["a"]}}, "tenants.ids: has no use"),
        (
            {"clusters": {"main": {"nodes": ["https://a:1"], "verify": False}}},
            "clusters.main.verify: certificates are not verified",
        ),
    ],
)
def test_warning_is_given_for_what_is_allowed_and_unwise(given, warning):
    settings = load(flags={"clusters": {"main": {"nodes": ["http://a:1"]}}, **given})
    assert any(str(one).startswith(warning) for one in warnings(settings))


def test_defaults_are_those_of_an_empty_file(tmp_path):
    path = Path(tmp_path) / "empty.toml"
    path.write_text("")
    assert read_file(path) == {}
    assert load(path, upstream=["http://a:1"]).listen == Settings().listen
