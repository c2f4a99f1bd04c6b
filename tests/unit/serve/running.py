"""``esproxy serve`` as a process, in front of a stub node."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import orjson

from tests.stub import Peer, Stub, answer

INFO = (
    b'{"name":"n","cluster_name":"c","cluster_uuid":"u","version":{"distribution":"opensearch","number":"3.8.0",'
    b'"minimum_wire_compatibility_version":"2.19.0","minimum_index_compatibility_version":"2.0.0"}}'
)
JSON = ("content-type", "application/json; charset=UTF-8")
FOUND = b'{"_index":"acme.x","_id":"1","_version":1,"_seq_no":0,"_primary_term":1,"found":true,"_source":{"a":1}}'
SECONDS = 60


class Node(Stub):
    """A stub that any document is found on; the one with the id ``slow`` once ``release`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.release = asyncio.Event()
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        self.on("/", answer(200, INFO, JSON))
        self.on("/acme.x/_doc/1", answer(200, FOUND, JSON))
        self.on("/acme.x/_doc/slow", self.slow)

    async def slow(self, peer: Peer) -> None:
        self.asked.set()
        released, gone = asyncio.create_task(self.release.wait()), asyncio.create_task(peer.gone())
        await asyncio.wait([released, gone], return_when=asyncio.FIRST_COMPLETED)
        if released.done():
            peer.write(answer(200, FOUND.replace(b'"1"', b'"slow"'), JSON))
        else:
            self.left.set()
        for task in (released, gone):
            task.cancel()


class Running:
    """A supervisor, what it has logged, and clients for its two ports."""

    def __init__(self, process: asyncio.subprocess.Process, config: Path, port: int, admin_port: int) -> None:
        self.process = process
        self.config = config
        self.lines: list[dict] = []
        self.reading = asyncio.create_task(self.read())
        self.port = port
        self.client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers={"x-tenant": "acme"}, timeout=SECONDS)
        self.admin = httpx.AsyncClient(base_url=f"http://127.0.0.1:{admin_port}", timeout=SECONDS)

    async def read(self) -> None:
        async for line in self.process.stderr:
            try:
                self.lines.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                self.lines.append({"message": line.decode().rstrip(), "logger": "none"})

    def messages(self) -> list[str]:
        return [line["message"] for line in self.lines]

    async def until(self, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError("\n".join(map(str, self.lines))) from None

    async def logged(self, text: str, times: int = 1) -> str:
        """The last of so many messages that hold a text."""
        await self.until(lambda: sum(text in message for message in self.messages()) >= times)
        return [message for message in self.messages() if text in message][-1]

    async def is_ready(self) -> None:
        """Ready for requests, and not only for the first of several workers."""
        await self.logged("serving on")
        async with asyncio.timeout(SECONDS):
            while (await self.admin.get("/-/ready")).status_code != 200:
                await asyncio.sleep(0.02)

    def workers(self) -> list[int]:
        """Those that have become ready and are still there."""
        ready = [int(message.split()[1]) for message in self.messages() if message.endswith("is ready")]
        return [pid for pid in ready if is_alive(pid)]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        async with asyncio.timeout(SECONDS):
            return await self.process.wait()

    async def get(self, document: str = "1") -> httpx.Response:
        return await self.client.get(f"/x/_doc/{document}")


def is_alive(pid: int) -> bool:
    """Not a zombie either, which an orphan stays until somebody reaps it."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return Path("/proc").exists() is False and pid_exists(pid)


def pid_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def config_text(node: str, port: int, admin_port: int, *, workers: int = 1, listen: str = "", more: str = "") -> str:
    return (
        f"[listen]\nport = {port}\nadmin_port = {admin_port}\nworkers = {workers}\n{listen}\n"
        f'[clusters.main]\nnodes = ["{node}"]\n[tenants]\nids = ["acme"]\n{more}\n'
    )


@asynccontextmanager
async def running(folder: Path, node: str, *flags: str, **settings: object) -> AsyncIterator[Running]:
    """Started, but not waited for; killed at the end if it is still there."""
    port, admin_port = free_port(), free_port()
    config = folder / "esproxy.toml"
    config.write_text(config_text(node, port, admin_port, **settings))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ESPROXY_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "esproxy", "serve", "--config", str(config), *flags, stderr=asyncio.subprocess.PIPE, env=environment
    )
    proxy = Running(process, config, port, admin_port)
    try:
        yield proxy
    finally:
        await proxy.client.aclose()
        await proxy.admin.aclose()
        if process.returncode is None:
            process.kill()
            await process.wait()
        await proxy.reading  # to the end: also the workers have gone
        for line in proxy.lines:  # shown by pytest when the test fails
            print(line["message"], line.get("exception", ""))
