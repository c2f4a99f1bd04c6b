"""What all exchanges of a process share: settings, identity, tenants, budgets, and what is known of the clusters."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from esproxy.budget import Budget
from esproxy.catalogue.context import Catalogue
from esproxy.cluster import Cluster
from esproxy.errors import Failed
from esproxy.plan import Plan
from esproxy.pools.families import ELSEWHERE
from esproxy.pools.pooled import Pools
from esproxy.ready import ReadyHeads
from esproxy.tenancy.cursors import Sealer
from esproxy.tenancy.identify import HeaderIdentity, PatternIdentity, Registry
from esproxy.tenancy.placement import DEDICATED, Placement
from esproxy.tenancy.tenant import Tenants

if TYPE_CHECKING:
    from esproxy.config import Settings


class Common:
    def __init__(self, settings: Settings, catalogue: Catalogue | None = None) -> None:
        """``catalogue``: needed when a placement rule can give a pool, see ``Placement.pools``."""
        self.settings = settings
        limits = settings.limits
        self.placement = Placement(settings.placement.layout, settings.placement.rules)
        self.bodies, self.answers = Budget(limits.max_held // 2), Budget(limits.max_held // 2)
        bounds = limits.max_depth, limits.window, limits.max_body, self.answers
        self.pools = Pools(catalogue, self.placement, *bounds) if catalogue is not None else None
        self.cluster_name = settings.placement.cluster
        self.clusters: dict[str, Cluster] = {}
        self.ready: ReadyHeads | None = None
        self.violations = 0
        registry = Registry(settings.tenants.mode, settings.tenants.ids)
        identity = settings.identity
        self.pattern = PatternIdentity(identity.index_pattern, registry) if identity.index_pattern else None
        self.header = None if self.pattern else HeaderIdentity(identity.header, registry, identity.trusted_peers)
        self.sealer = Sealer([key.get_secret_value() for key in settings.secrets.keys] or [secrets.token_hex(32)])
        self.tenants = Tenants(settings.placement.separator, looked_at=self.pattern is not None)

    @property
    def unknown_keys(self) -> int:
        """Keys in answers that no definition knows, ever."""
        return sum(cluster.unknown_keys for cluster in self.clusters.values())

    def pools_for(self, plan: Plan) -> Pools | None:
        """What a request needs whose tenant may have indices in pools; None for all others, and once it is known not to be for
        such."""
        if (
            (plan.ready is not None and plan.ready.target is not None)
            or plan.apart
            or plan.pattern is not None
            or plan.route.row.name in ELSEWHERE
            or self.placement.layouts(plan.owner().id) == {DEDICATED}
        ):
            return None
        if self.pools is None:
            raise Failed("there is no catalogue for indices in pools")
        return self.pools

    @property
    def product(self) -> bool:
        """The upstream is Elasticsearch, as far as is known."""
        cluster = self.clusters.get(self.cluster_name)
        return cluster is not None and cluster.product
