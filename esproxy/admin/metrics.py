"""Metrics for Prometheus: the sums of what workers report, and what the supervisor knows.

Workers send differences (``esproxy.serve.stats``), which are added up here, so nothing is lost when a worker ends and no
worker is asked during a scrape. Names follow Prometheus' conventions: one prefix, base units, ``_total`` for counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from esproxy import __version__
from esproxy.admin.status import Status
from esproxy.serve.stats import BUCKETS

COUNTERS = {  # key of a report: metric and its help
    "disconnects": ("esproxy_client_disconnects", "Clients that left before their answer was whole."),
    "aborts": ("esproxy_answers_cut", "Answers that were cut after bytes had left."),
    "bugs": ("esproxy_internal_errors", "Exceptions inside the proxy."),
    "short": ("esproxy_requests_short", "Requests answered on the short way of a head that had come before."),
    "violations": ("esproxy_isolation_violations", "Answers that held what is not the tenant's, and were withheld."),
    "unknown_keys": ("esproxy_answer_unknown_keys", "Keys in answers that no API definition knows; they are copied."),
}


class Totals:
    """What all workers have ever reported."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str], int] = {}
        self.seconds = [0] * (len(BUCKETS) + 1)
        self.seconds_sum = 0.0
        self.counters = dict.fromkeys(COUNTERS, 0)

    def add(self, report: dict[str, Any]) -> None:
        for method, status, count in report["requests"]:
            key = (method, str(status))
            self.requests[key] = self.requests.get(key, 0) + count
        self.seconds = [one + other for one, other in zip(self.seconds, report["seconds"], strict=True)]
        self.seconds_sum += report["seconds_sum"]
        for name in COUNTERS:
            self.counters[name] += report[name]


class Collector:
    """Called by prometheus_client at each scrape."""

    def __init__(self, status: Callable[[], Status], totals: Totals) -> None:
        self.status = status
        self.totals = totals

    def collect(self) -> Iterator[Metric]:
        yield from self.of_requests()
        yield from self.of_the_supervisor(self.status())

    def of_requests(self) -> Iterator[Metric]:
        totals = self.totals
        requests = CounterMetricFamily("esproxy_requests", "Requests that have ended.", labels=["method", "code"])
        for (method, code), count in sorted(totals.requests.items()):
            requests.add_metric([method, code], count)
        yield requests
        below, buckets = 0, []
        for bound, count in zip([*BUCKETS, float("inf")], totals.seconds, strict=True):
            below += count
            buckets.append(("+Inf" if bound == float("inf") else repr(bound), below))
        yield HistogramMetricFamily(
            "esproxy_request_duration_seconds",
            "From the head of a request to the end of its answer.",
            buckets,
            totals.seconds_sum,
        )
        for name, (metric, help_) in COUNTERS.items():
            yield CounterMetricFamily(metric, help_, totals.counters[name])

    def of_the_supervisor(self, status: Status) -> Iterator[Metric]:
        in_flight = sum(report["in_flight"] for report in status.reports)
        yield GaugeMetricFamily("esproxy_inflight_requests", "Requests under way.", in_flight)
        yield GaugeMetricFamily("esproxy_workers_ready", "Workers that take requests.", status.workers_ready)
        yield GaugeMetricFamily("esproxy_workers_wanted", "Workers that are configured.", status.workers_wanted)
        yield CounterMetricFamily("esproxy_worker_restarts", "Workers that ended unasked.", status.restarts)
        yield GaugeMetricFamily(
            "esproxy_config_last_reload_successful", "Whether the last reload was.", float(status.last_reload_good)
        )
        yield GaugeMetricFamily(
            "esproxy_config_last_reload_success_timestamp_seconds",
            "When the settings in force were read.",
            status.last_good_reload,
        )
        up = GaugeMetricFamily("esproxy_upstream_up", "Whether a node answers.", labels=["cluster", "node"])
        for node in status.nodes:
            up.add_metric([node.cluster, node.url], float(node.up is True))
        yield up
        yield from self.of_the_engine(status.reports)
        yield build_info()

    def of_the_engine(self, reports: list[dict[str, Any]]) -> Iterator[Metric]:
        """Connections of all workers, by node."""
        gauge = GaugeMetricFamily(
            "esproxy_upstream_connections", "Open connections to a node.", labels=["cluster", "node", "state"]
        )
        sums: dict[tuple[str, str, str], int] = {}
        for report in reports:
            for cluster, told in report["clusters"].items():
                for node in told["nodes"]:
                    for state, count in (("idle", node["idle"]), ("active", node["open"] - node["idle"])):
                        key = (cluster, node["url"], state)
                        sums[key] = sums.get(key, 0) + count
        for key, count in sorted(sums.items()):
            gauge.add_metric(list(key), count)
        yield gauge


def build_info() -> Metric:
    info = GaugeMetricFamily("esproxy_build_info", "The version that runs.", labels=["version"])
    info.add_metric([__version__], 1)
    return info
