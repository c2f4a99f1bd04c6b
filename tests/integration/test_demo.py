"""``esproxy demo --once`` in every layout: each tenant's tour equals the bare node's, and the node shows what is stored."""

from __future__ import annotations

import re
import subprocess
import sys

import httpx
import orjson

from esproxy.config import LAYOUTS_AVAILABLE
from esproxy.demo.tour import TOUR, differences


def test_demo_once_every_layout_equals_the_bare_node(node_url: str) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "esproxy", "demo", "--once", "--upstream", node_url], capture_output=True, text=True, timeout=240
    )
    assert made.returncode == 0, made.stdout + made.stderr
    for layout in LAYOUTS_AVAILABLE:
        for name in ("acme", "zenith"):
            assert f"{name}-{layout} (layout {layout}): {len(TOUR)} calls, all the same as on the bare node" in made.stdout
    shared = made.stdout.partition("How much is shared")[2].splitlines()
    for layout in LAYOUTS_AVAILABLE:
        assert any(re.match(rf" *{layout}: [1-9]\d* (logical )?indices", line) for line in shared), shared[:10]
    stored = {line.split()[0] for line in made.stdout.partition("What is stored")[2].splitlines() if line.strip()}
    assert {"acme-dedicated", "zenith-dedicated"} <= {name.partition(".")[0] for name in stored}
    assert any(name.startswith("own~acme-per-tenant-") for name in stored)
    assert any(name.startswith("pool~books-") for name in stored)
    shown = [orjson.loads(line) for line in made.stdout.splitlines() if line.startswith('    {"_id"')]
    assert [hit["_routing"].rpartition(".")[0] for hit in shown[1:]] == ["acme-per-tenant", "acme-shared"]
    (nested,) = shown[1]["_source"].values()
    assert nested.keys() == {"title", "tag", "year"}


def test_difference_is_told_by_its_place() -> None:
    """The comparison that the demo rests on can fail."""
    one, other = (httpx.Response(200, json={"hits": {"total": {"value": total}}, "took": total}) for total in (1, 2))
    assert differences(one, other) == ["hits.total.value: 1 instead of 2"]
    assert differences(one, one) == []
