import pytest

from esproxy.tenancy.cursors import Sealer

KEY, OTHER = "k" * 32, "o" * 32
WHOSE = {"tenant": "acme", "kind": "scroll", "cluster": "main"}


def test_cursor_sealed_and_opened_is_the_same_again():
    sealer = Sealer([KEY])
    token = sealer.seal("DnF1ZXJ5", **WHOSE)
    assert "DnF1ZXJ5" not in token
    assert sealer.open(token, **WHOSE) == "DnF1ZXJ5"
    assert sealer.open(token, **WHOSE) == "DnF1ZXJ5"  # the same token twice is legitimate


@pytest.mark.parametrize("change", [{"tenant": "zenith"}, {"kind": "pit"}, {"cluster": "other"}])
def test_cursor_of_another_does_not_open(change):
    sealer = Sealer([KEY])
    assert sealer.open(sealer.seal("x", **WHOSE), **{**WHOSE, **change}) is None


@pytest.mark.parametrize("cursor", ["DnF1ZXJ5", "DnF1ZXJ5V", "DnF1ZXJ5VG"])  # with every padding
def test_cursor_with_any_byte_changed_does_not_open(cursor):
    sealer = Sealer([KEY])
    token = sealer.seal(cursor, **WHOSE)
    for at in range(len(token)):
        for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZ=":
            if token[at] != other:
                assert sealer.open(token[:at] + other + token[at + 1 :], **WHOSE) is None


@pytest.mark.parametrize("raw", ["", "x", "DnF1ZXJ5VGhlbkZldGNo", "ä", "A" * 16, "%%%%"])
def test_cursor_that_is_no_token_does_not_open(raw):
    assert Sealer([KEY]).open(raw, **WHOSE) is None


def test_cursor_sealed_twice_is_the_same_token_and_another_is_not():
    sealer = Sealer([KEY])
    assert sealer.seal("x", **WHOSE) == sealer.seal("x", **WHOSE)
    assert sealer.seal("x", **WHOSE)[:16] != sealer.seal("y", **WHOSE)[:16]
    assert sealer.seal("x", **WHOSE)[:16] != sealer.seal("x", **{**WHOSE, "tenant": "zenith"})[:16]


def test_cursor_of_an_old_key_opens_after_rotation_and_not_without_it():
    token = Sealer([OTHER]).seal("x", **WHOSE)
    assert Sealer([KEY, OTHER]).open(token, **WHOSE) == "x"
    assert Sealer([KEY]).open(token, **WHOSE) is None
