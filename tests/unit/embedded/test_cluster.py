from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from esproxy.embedded import EmbeddedCluster
from esproxy.embedded.cluster import free_ports
from esproxy.embedded.security import write_users


def test_cluster_of_an_unknown_engine_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown engine \[os9\]; there are: os3, "):
        EmbeddedCluster("os9")


def test_cluster_without_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="one node or more"):
        EmbeddedCluster("os3", nodes=0)


def test_cluster_of_opensearch_with_users_is_refused() -> None:
    with pytest.raises(ValueError, match=r"engine \[os3\] has no security of its own"):
        EmbeddedCluster("os3", users={"admin": "secret"})


def test_cluster_with_a_reserved_user_is_refused() -> None:
    with pytest.raises(ValueError, match="keeps these user names for itself: elastic"):
        EmbeddedCluster("es9", users={"elastic": "secret", "admin": "secret"})


def test_cluster_says_what_it_is_before_it_starts() -> None:
    cluster = EmbeddedCluster("es9")

    assert (cluster.engine, cluster.family, cluster.version, cluster.urls) == ("es9", "elasticsearch", "9.4.3", [])
    cluster.stop()


def test_free_ports_are_different() -> None:
    assert len(set(free_ports(20))) == 20


def test_written_users_hold_salted_hashes_and_one_role(tmp_path: Path) -> None:
    write_users(tmp_path, {"ann": "secret", "bob": "secret"})

    lines = (tmp_path / "users").read_text().splitlines()
    hashes = dict(line.split(":", 1) for line in lines)
    assert hashes["ann"] != hashes["bob"]
    rounds, salt, derived = hashes["ann"].removeprefix("{PBKDF2}").split("$")
    again = hashlib.pbkdf2_hmac("sha512", b"secret", base64.b64decode(salt), int(rounds), 32)
    assert base64.b64decode(derived) == again
    assert (tmp_path / "users_roles").read_text() == "superuser:ann,bob\n"
