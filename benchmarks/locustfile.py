"""The load that locust puts on a proxy and on a bare node, in turn: open loop, so that a slow answer delays no other request.

    locust -f benchmarks/locustfile.py --headless -u 1 --direct http://127.0.0.1:9200 --proxied http://127.0.0.1:8080 --rate 100

``locust_run.py`` starts everything, fills the indices (``--fill`` does it here) and calls this; the requests are those of mix.py.

Requests come in *slices*, one of each target in the order A B B A, so that a machine that gets slower hits both alike; the two
slices of a pair ask the same requests at the same moments from their begin. Moments are those of a Poisson process of ``--rate``
a second, whatever the answers do. A request's time counts from its moment, not from when somebody got round to sending it.

Every answer is looked at (``mix.fault``); locust's own report has both targets' rows side by side. ``--samples FILE`` keeps, for
each slice, its seconds, the CPU seconds of the process trees named by ``--watch`` and of locust, and each request's kind and
milliseconds.
"""

from __future__ import annotations

import json
import random
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import gevent
import gevent.pool
import httpx
import load
import mix
from locust import FastHttpUser, events, task

AT_ONCE = 128  # requests under way; one more waits, and its wait counts
PAUSE = 0.5  # seconds between slices


@events.init_command_line_parser.add_listener
def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--direct", metavar="URL", default="", help="a bare node, whose indices have the tenant in their name")
    parser.add_argument("--proxied", metavar="URL", default="", help="a proxy, which is told the tenant in a header")
    parser.add_argument("--rate", type=float, default=50, help="requests a second")
    parser.add_argument("--slice", type=float, default=10, help="seconds of a slice")
    parser.add_argument("--slices", type=int, default=4, help="of each target; 0: no end")
    parser.add_argument("--tenant-prefix", default="load-", help="of the tenants' ids, a number follows")
    parser.add_argument("--tenants", type=int, default=16)
    parser.add_argument("--seed", type=int, default=mix.SEED)
    parser.add_argument("--fill", action="store_true", help="make the indices and store their documents first")
    parser.add_argument("--samples", metavar="FILE", default="")
    parser.add_argument("--watch", metavar="PID,PID", default="", help="processes whose trees' CPU is kept with each slice")


class Arrivals(FastHttpUser):
    """One user is the whole world's clients: requests are greenlets of their own."""

    concurrency = AT_ONCE
    network_timeout = connection_timeout = 30.0
    host = "http://the.targets.are.options"
    max_redirects = max_retries = 0

    def on_start(self) -> None:
        self.options = options = self.environment.parsed_options
        self.tenants = tenants_of(options)
        urls = {"direct": options.direct, "proxied": options.proxied}
        self.urls = {name: url.rstrip("/") for name, url in urls.items() if url}
        if not self.urls:
            raise SystemExit("give --proxied URL or --direct URL, or both")
        self.decks = {name: [mix.deck(tenant, mix.NAMINGS[name]) for tenant in self.tenants] for name in self.urls}
        self.pids = [int(pid) for pid in options.watch.split(",") if pid]
        if options.fill:
            for name, url in self.urls.items():
                with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
                    mix.fill(client, self.tenants, mix.NAMINGS[name])

    @task
    def slices(self) -> None:
        done: list[dict[str, Any]] = []
        number = 0
        while not self.options.slices or number < self.options.slices:
            order = list(self.urls) if number % 2 == 0 else list(reversed(self.urls))
            done += [self.slice(name, number) for name in order]
            number += 1
        if self.options.samples:
            Path(self.options.samples).write_text(json.dumps(done))
        self.environment.runner.quit()

    def slice(self, target: str, number: int) -> dict[str, Any]:
        """All requests of one slice, until the last is answered."""
        options = self.options
        self.samples: list[tuple[str, float, bool]] = []
        seed = f"{options.seed} {number}"
        requests, gaps = mix.Mix(self.decks[target], seed), random.Random(seed)
        group = gevent.pool.Pool(AT_ONCE)
        before, began = self.cpu(), time.perf_counter()
        due = began + gaps.expovariate(options.rate)
        while due < began + options.slice:
            gevent.sleep(max(0.0, due - time.perf_counter()))
            group.spawn(self.ask, target, requests.pick(), due)
            due += gaps.expovariate(options.rate)
        group.join()
        seconds = time.perf_counter() - began
        spent = [after - earlier for after, earlier in zip(self.cpu(), before, strict=True)]
        gevent.sleep(PAUSE)
        return {"target": target, "pair": number, "seconds": seconds, "cpu": spent, "samples": self.samples}

    def ask(self, target: str, request: mix.Request, due: float) -> None:
        answer = self.client.request(
            request.method,
            self.urls[target] + request.target,
            name=f"{target}: {request.kind}",
            data=request.body or None,
            headers=request.headers,
            catch_response=True,
            allow_redirects=False,
        )
        with answer as response:
            taken = (time.perf_counter() - due) * 1000
            response.request_meta["response_time"] = taken
            wrong = mix.fault(request, response.status_code, response.content or b"")
            self.samples.append((request.kind, round(taken, 3), wrong is None))
            response.success() if wrong is None else response.failure(wrong)

    def cpu(self) -> list[float]:
        """CPU seconds so far, of each watched tree and of ourselves."""
        return [*(sum(load.cpu(pid).values()) for pid in self.pids), time.process_time()]


def tenants_of(options: Any) -> list[str]:
    return [f"{options.tenant_prefix}{number}" for number in range(options.tenants)]
