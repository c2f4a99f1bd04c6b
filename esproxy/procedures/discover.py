"""Find out what a cluster runs: the first thing asked of it.

``GET /`` tells engine, version and uuid. OpenSearch names itself in ``version.distribution``; Elasticsearch answers with its
product header. Anything else is refused: rule tables exist for these two only.
"""

from __future__ import annotations

import orjson

from esproxy.cluster import Cluster
from esproxy.errors import Failed
from esproxy.exchange import GO, Call, Procedure, Send


def discover(name: str, clusters: dict[str, Cluster]) -> Procedure:
    """Fill ``clusters[name]``. Raises Failed when the answer is no cluster's."""
    send = Send(name, "GET", b"/", [(b"accept", b"application/json")], held=True)
    answer = yield Call(send, limit=1 << 20)
    if answer.status != 200:
        raise Failed(f"the cluster answered {answer.status} when asked what it is", status=503)
    try:
        found = orjson.loads(answer.body)
        distribution = found["version"].get("distribution", "")
        found["cluster_uuid"].encode()
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        raise Failed("what answers at the cluster's address is no Elasticsearch or OpenSearch node") from None
    if distribution == "opensearch":
        engine = "opensearch"
    elif (b"x-elastic-product", b"Elasticsearch") in answer.headers:
        engine = "elasticsearch"
    else:
        raise Failed("what answers at the cluster's address is no Elasticsearch or OpenSearch node")
    clusters[name] = Cluster(name, engine, found)
    return GO
