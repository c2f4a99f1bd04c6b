"""All of these tests compare the straight way with the general one, wherever it could be gone."""

from __future__ import annotations

import pytest

from tests import both_ways


@pytest.fixture(autouse=True)
def watched(monkeypatch) -> None:
    both_ways.watch(monkeypatch.setattr)
