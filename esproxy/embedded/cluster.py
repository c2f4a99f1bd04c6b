"""A cluster of real nodes on this machine, for as long as somebody wants it.

    with EmbeddedCluster("os3", on_progress=ProgressPrinter()) as cluster:
        httpx.get(cluster.url)

Its nodes end with ``stop``, with the ``with`` block, and with the process that made it, however that ends (see keeper).
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from esproxy.embedded import security
from esproxy.embedded.engines import Engine, engine_named
from esproxy.embedded.errors import EmbeddedError, MissingTools, NodeFailed
from esproxy.embedded.fetch import fetch
from esproxy.embedded.identity import node_identity
from esproxy.embedded.java import find_jdk
from esproxy.embedded.launch import QUICK_JVM, Plan, Seat
from esproxy.embedded.node import Node
from esproxy.embedded.progress import OnProgress, Progress, ignore_progress
from esproxy.embedded.tools import default_engine, missing_tools

_POLL = 0.1
_PORTS_TRIED = 3
_PORT_TAKEN = "Address already in use"


class EmbeddedCluster:
    """``engine`` is a name of ENGINES, None the newest OpenSearch that can be run here.

    ``settings`` are flat node settings that win over ours. ``users`` (Elasticsearch only) switches security on and makes each
    of them a superuser. ``folder`` keeps configuration, data and logs there; without it they are in a temporary folder that goes
    with the cluster, made in ``within`` (None: where temporary folders are made). ``jvm_flags`` replace the default ones, which
    favour a quick start over speed.
    Making one starts nothing; ``start`` and the ``with`` block raise MissingTools, FetchFailed or NodeFailed.
    """

    def __init__(
        self,
        engine: str | Engine | None = None,
        *,
        nodes: int = 1,
        heap: str = "512m",
        settings: Mapping[str, str] | None = None,
        users: Mapping[str, str] | None = None,
        jvm_flags: Sequence[str] = QUICK_JVM,
        folder: Path | None = None,
        within: Path | None = None,
        ready_timeout: float = 180.0,
        on_progress: OnProgress = ignore_progress,
    ) -> None:
        if nodes < 1:
            raise ValueError("a cluster has one node or more")
        self._engine = default_engine() if engine is None else engine_named(engine) if isinstance(engine, str) else engine
        if users and self._engine.family != "elasticsearch":
            raise ValueError(f"engine [{self._engine.name}] has no security of its own: users are for Elasticsearch")
        if reserved := security.RESERVED.intersection(users or ()):
            raise ValueError(f"Elasticsearch keeps these user names for itself: {', '.join(sorted(reserved))}")
        self._count = nodes
        self._heap = heap
        self._settings = {**(security.SETTINGS if users else {}), **(settings or {})}
        self._users = dict(users or {})
        self._jvm_flags = tuple(jvm_flags)
        self._kept_folder = folder
        self._within = within
        self._ready_timeout = ready_timeout
        self._report = on_progress
        self._folder: Path | None = None
        self.nodes: list[Node] = []

    @property
    def engine(self) -> str:
        return self._engine.name

    @property
    def family(self) -> str:
        """``elasticsearch`` or ``opensearch``."""
        return self._engine.family

    @property
    def version(self) -> str:
        return self._engine.version

    @property
    def title(self) -> str:
        """Such as ``OpenSearch 3.8.0``."""
        return self._engine.title

    @property
    def url(self) -> str:
        """The first node's address."""
        return self.nodes[0].url

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def start(self) -> Self:
        """Fetch the engine if need be, start all nodes and wait until they are one cluster that answers."""
        if self.nodes:
            raise RuntimeError("this cluster has been started")
        jdk = find_jdk(self._engine)
        if jdk is None:
            raise MissingTools(self._engine.title, missing_tools(self._engine))
        home = fetch(self._engine, self._report)
        for attempt in range(1, _PORTS_TRIED + 1):
            self._folder = self._make_folder()
            seats = self._make_seats(self._folder)
            plan = Plan(self._engine, jdk, home, seats, self._folder / "repo", self._heap, self._settings, self._jvm_flags)
            self.nodes = [Node(plan, seat, node_identity(), remove=self._kept_folder is None) for seat in seats]
            try:
                self._start_nodes()
                return self
            except NodeFailed as problem:
                self.stop()
                if attempt == _PORTS_TRIED or _PORT_TAKEN not in str(problem):
                    raise
            except BaseException:
                self.stop()
                raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def stop(self) -> None:
        """End all nodes and wait until they are gone; a temporary folder goes with them. May be called twice."""
        for node in self.nodes:
            if self._kept_folder is None:
                node.kill()  # nobody will read its data
            else:
                node.stop()
        self.nodes = []
        if self._folder is not None and self._kept_folder is None:
            shutil.rmtree(self._folder)
        self._folder = None

    def wait_ready(self, timeout: float | None = None) -> None:
        """Wait until all nodes that run answer as one cluster whose shards are there, as after a node's ``start``."""
        running = [node for node in self.nodes if node.running]
        if not running:
            raise NodeFailed(f"no node of {self.title} runs")
        began, limit = time.monotonic(), self._ready_timeout if timeout is None else timeout
        credentials = next(iter(self._users.items()), None)
        with httpx.Client(auth=credentials, trust_env=False, timeout=10) as client:
            while not all(_answers(client, node, len(running)) for node in running):
                waited = time.monotonic() - began
                self._report(Progress("start", f"starting {self._what()}", waited))
                for node in running:
                    if not node.running:
                        raise NodeFailed(f"{self.title}, node [{node.name}] ended before it was ready:\n{node.log_tail()}")
                if waited > limit:
                    raise NodeFailed(f"{self.title} was not ready after {waited:.0f} s:\n{running[0].log_tail()}")
                time.sleep(_POLL)
        self._report(
            Progress("ready", f"{self._what()} is ready at {', '.join(node.url for node in running)}", time.monotonic() - began)
        )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"EmbeddedCluster({self.engine!r}, nodes={self.nodes!r})"

    def _what(self) -> str:
        return self.title if self._count == 1 else f"{self.title} ({self._count} nodes)"

    def _start_nodes(self) -> None:
        self._report(Progress("start", f"starting {self._what()}", 0.0))
        for node in self.nodes:
            if self._users:
                config = node.folder / "config"
                config.mkdir(parents=True, exist_ok=True)
                security.write_users(config, self._users)
            node.start()
        self.wait_ready()

    def _make_folder(self) -> Path:
        if self._kept_folder is None:
            folder = Path(tempfile.mkdtemp(prefix="esproxy-", dir=self._within))
        else:
            folder = self._kept_folder.absolute()
            folder.mkdir(parents=True, exist_ok=True)
        (folder / "repo").mkdir(exist_ok=True)
        (folder / "nodes").mkdir(exist_ok=True)
        if (identity := node_identity()) is not None:
            identity.own(folder)
            if not all(identity.can_read(above) for above in folder.parents):
                raise EmbeddedError(f"nodes cannot run below {folder.parent}: it is closed to the user they run as (set TMPDIR)")
        return folder

    def _make_seats(self, folder: Path) -> list[Seat]:
        ports = free_ports(2 * self._count)
        names = [f"node-{number}" for number in range(1, self._count + 1)]
        return [Seat(name, folder / "nodes" / name, *ports[2 * i : 2 * i + 2]) for i, name in enumerate(names)]


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _answers(client: httpx.Client, node: Node, nodes: int) -> bool:
    try:
        health = client.get(
            f"{node.url}/_cluster/health", params={"wait_for_status": "yellow", "wait_for_nodes": f">={nodes}", "timeout": "1s"}
        )
        root = client.get(f"{node.url}/")
    except httpx.TransportError:
        return False
    return health.status_code == 200 and not health.json()["timed_out"] and root.status_code == 200
