"""Are the nodes there? Asked by the supervisor itself, so that it is known without traffic and in one place.

Each node is asked for ``/`` every few seconds with the cluster's credentials. Whatever it answers below 500 means that it is up:
a 401 is a wrong setting and no reason to take the proxy out of service, but it is shown.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import httpx

from esproxy.config import Cluster, Settings

EVERY = 2.0  # seconds


@dataclass(slots=True)
class NodeState:
    """What is known of one node. ``up`` is None before it was asked."""

    cluster: str
    url: str
    up: bool | None = None
    why: str = "not asked yet"


class Probe:
    """The states of all nodes of the settings it follows."""

    def __init__(self, every: float = EVERY) -> None:
        self.every = every
        self.states: dict[tuple[str, str], NodeState] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def follow(self, settings: Settings) -> None:
        """Ask the nodes of these settings from now on; what is known of those that stay is kept."""
        for task in self.tasks:
            task.cancel()
        keys = [(name, url) for name, cluster in settings.clusters.items() for url in cluster.nodes]
        self.states = {key: self.states.get(key) or NodeState(*key) for key in keys}
        timeout = settings.upstream.connect_timeout
        self.tasks = [asyncio.create_task(self.ask_on(name, cluster, timeout)) for name, cluster in settings.clusters.items()]

    def nodes(self) -> list[NodeState]:
        return list(self.states.values())

    async def ask_on(self, name: str, cluster: Cluster, timeout: float) -> None:
        states = [self.states[name, url] for url in cluster.nodes]
        async with client(cluster, timeout) as http:
            while True:
                await asyncio.gather(*(ask(http, state) for state in states))
                await asyncio.sleep(self.every)

    async def aclose(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def ask(http: httpx.AsyncClient, state: NodeState) -> None:
    try:
        answer = await http.get(state.url + "/")
    except (httpx.HTTPError, OSError) as error:
        state.up, state.why = False, f"{type(error).__name__}: {error}".removesuffix(": ")
    else:
        state.up, state.why = answer.status_code < 500, f"status {answer.status_code}"


def client(cluster: Cluster, timeout: float) -> httpx.AsyncClient:
    headers, auth = {}, None
    if cluster.api_key is not None:
        headers["authorization"] = "ApiKey " + cluster.api_key.get_secret_value()
    elif cluster.username is not None and cluster.password is not None:
        auth = (cluster.username, cluster.password.get_secret_value())
    verify: ssl.SSLContext | bool = cluster.verify
    if cluster.verify and cluster.ca_file is not None:
        verify = ssl.create_default_context(cafile=cluster.ca_file)
    return httpx.AsyncClient(headers=headers, auth=auth, timeout=timeout, verify=verify, trust_env=False)
