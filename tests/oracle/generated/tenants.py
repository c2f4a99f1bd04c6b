"""Twenty tenants with the same names and ids: the one under test, and nineteen others of three sorts.

*Twins* have the world of the generated calls itself, index for index created alike, so in pools they lie in the same
physical ones; their documents have the same ids, words that the same queries find, other numbers, and their canary. The others
are the neighbours that scenarios have (``neighbours.py``): indices of the same names whose fields collide in type, declared
or brought by documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

from tests.oracle.client import Client, WireClient
from tests.oracle.generated.material import WORLD
from tests.oracle.neighbours import OTHERS, Decoys, Neighbour, Neighbours, machines
from tests.oracle.scenario import Call, Engine, shared

TENANTS = (*OTHERS, *(f"t{number:02}" for number in range(1, 17)))
WORDED = ("t", "u")  # fields of the world that hold words
KEYED = ("k", "tags", "colours")


def varied(call: Call, canary: str, number: int) -> bytes | None:
    """The body, with other documents where it has some."""
    if call.body is None or "/_bulk" not in call.target:
        return call.body
    lines = [json.loads(line) for line in call.body.splitlines()]
    for document in lines[1::2]:
        for key in list(document):
            document[key] = _other(key, document[key], canary, number)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _other(key: str, value: Any, canary: str, number: int) -> Any:
    if key in WORDED and isinstance(value, str):
        return f"{value} {canary}"
    if key in KEYED:
        return [*(value if isinstance(value, list) else [value]), canary]
    return value + number if type(value) is int and abs(value) < 100 else value


def settle(node: Client, proxy: Callable[[str], WireClient], engine: Engine) -> Neighbours:
    """All of them but the one under test, loaded through the proxy, and what lies on the node under the bare names."""
    world = [call for call in shared(WORLD) if engine.is_one_of(call.engines)]
    names = sorted({call.target[1:] for call in world if call.method == "PUT"})
    neighbours = [Neighbour(tenant) for tenant in TENANTS]
    for number, neighbour in enumerate(neighbours):
        with closing(proxy(neighbour.tenant)) as client:
            if number < len(OTHERS) or number % 3 == 0:
                neighbour.load(client, names, {})
                continue
            for call in world:
                body = varied(call, neighbour.canary, number)
                raw = client.send(call.method, call.target, {"content-type": call.media or "application/json"}, body)
                if raw.status != 200 or b'"errors":true' in raw.body:
                    raise RuntimeError(f"{neighbour.tenant}: {call}: {raw.status} {raw.body[:500]!r}")
    decoys = Decoys()
    decoys.load(node, names)
    return Neighbours(node, [*neighbours, decoys], machines(node))
