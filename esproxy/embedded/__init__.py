"""Real Elasticsearch and OpenSearch nodes on this machine, for the demo, the tests and for trying things out.

    from esproxy.embedded import EmbeddedCluster, ProgressPrinter

    with EmbeddedCluster("os3", nodes=1, heap="512m", on_progress=ProgressPrinter()) as cluster:
        ...  # cluster.url, cluster.urls, cluster.engine, cluster.family, cluster.version, cluster.nodes

An engine (engines) is fetched once through Maven (fetch, maven) into the user's cache (cache), configured and started
(launch, node, cluster) on a JDK that was found (java), and ended with the process that asked for it (keeper). What the machine
lacks is named with the command that installs it (tools). Folder by folder, dependencies point downwards:
cluster → node, fetch → launch, tools, maven → cache, java → engines, identity, errors.
"""

from esproxy.embedded.cluster import EmbeddedCluster, free_ports
from esproxy.embedded.engines import ENGINES, Engine, engine_named
from esproxy.embedded.errors import EmbeddedError, FetchFailed, Missing, MissingTools, NodeFailed
from esproxy.embedded.node import Node
from esproxy.embedded.progress import Progress, ProgressPrinter
from esproxy.embedded.tools import default_engine, missing_tools

__all__ = [
    "ENGINES",
    "EmbeddedCluster",
    "EmbeddedError",
    "Engine",
    "FetchFailed",
    "Missing",
    "MissingTools",
    "Node",
    "NodeFailed",
    "Progress",
    "ProgressPrinter",
    "default_engine",
    "engine_named",
    "free_ports",
    "missing_tools",
]
