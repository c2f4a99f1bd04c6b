"""The cluster of one's own: ``/`` and ``_cluster/health`` as a tenant sees them.

A tenant's cluster has the real one's name and version, so that clients find what they expect, and a uuid of its own, so that
two tenants cannot find out that they share. Health is asked for the tenant's indices only; what the node says there about the
whole cluster, its queues and the share of its active shards, is none of its business: queues read as an idle cluster's, the
share is counted anew. So are the attributes of nodes (OpenSearch): they read as those of nodes that have none.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

import orjson

from esproxy import exact
from esproxy.exchange import Reply
from esproxy.metadata.nodes import node_id
from esproxy.plan import Plan
from esproxy.replies import json_headers

NAME = re.compile(rb'("name"\s*:\s*)"[^"\\]*"')  # of the node that answers
QUEUES = ("number_of_pending_tasks", "number_of_in_flight_fetch", "task_max_waiting_in_queue_millis")


NODES = ("number_of_nodes", "number_of_data_nodes")


def tenant_uuid(cluster_uuid: str, tenant: str) -> str:
    """22 characters of URL-safe base64, as cluster uuids have; the same for a tenant as long as the cluster lives."""
    digest = hashlib.blake2b(tenant.encode(), key=cluster_uuid.encode(), digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def static_info(plan: Plan) -> Reply:
    """No index name tells a tenant in ``/``, so it says what it says to everybody."""
    told = info(exact.pretty(plan.cluster.info), "", node_id(plan.cluster, ""))
    return Reply(200, json_headers(plan.product, plan.head.get(b"accept")), told)


def info(answer: bytes, tenant: str, node: str) -> bytes:
    """The answer of ``GET /`` for a tenant, laid out as the node did. ``node``: the name of the tenant's node."""
    uuid = orjson.loads(answer).get("cluster_uuid")
    named = NAME.sub(lambda found: found[1] + orjson.dumps(node), answer, count=1)
    return named.replace(uuid.encode(), tenant_uuid(uuid, tenant).encode()) if isinstance(uuid, str) and uuid else named


def health(answer: dict[str, Any], all_indices: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``_cluster/health`` without the whole cluster's queues; ``all_indices`` is the same for all of the tenant's:
    the share of active shards is the cluster's, whichever indices were asked for, unless they are green."""
    for key in QUEUES:
        if key in answer:
            answer[key] = 0
    for key in NODES:
        if key in answer:
            answer[key] = 1
    if "task_max_waiting_in_queue" in answer:  # human=true
        answer["task_max_waiting_in_queue"] = "0s"
    if answer.get("status") != "green" and "active_shards_percent_as_number" in answer:
        active = all_indices["active_shards"]
        total = active + all_indices["initializing_shards"] + all_indices["unassigned_shards"]
        settled = not answer["initializing_shards"] + answer["unassigned_shards"]  # red because an index is not there
        percent = active / total * 100 if total and not settled else 100.0
        answer["active_shards_percent_as_number"] = percent
        if "active_shards_percent" in answer:
            answer["active_shards_percent"] = f"{percent:.1f}%"
    return answer


def awareness(query: dict[str, str]) -> dict[str, dict[str, Any]] | None:
    """What ``level=awareness_attributes`` tells of a cluster whose nodes have no attributes; the parameters that ask for it are
    taken out of ``query``. None when it is not asked for."""
    if query.get("level") != "awareness_attributes":
        return None
    del query["level"]
    name = query.pop("awareness_attribute", "")
    return {name: {}} if name else {}
