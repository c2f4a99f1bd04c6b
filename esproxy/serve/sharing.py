"""What ``esproxy sharing`` reports: asked of the cluster, as a worker would ask it, and over in a moment."""

from __future__ import annotations

import asyncio

from esproxy.catalogue.names import CATALOGUE, MEMBERS
from esproxy.catalogue.sharing import Sharing, add_dedicated, sharing
from esproxy.catalogue.store import Store
from esproxy.config import Settings
from esproxy.serve.build import build_engine
from esproxy.serve.procedures import Procedures, carry_out
from esproxy.tenancy.names import legal_tenant


def read_sharing(settings: Settings) -> Sharing:
    """Raises EsproxyError when the cluster does not answer."""
    return asyncio.run(_read(settings))


async def _read(settings: Settings) -> Sharing:
    engine = build_engine(settings)
    procedures = Procedures(engine)
    store = Store(settings.placement.cluster, CATALOGUE, MEMBERS)
    try:
        found = await carry_out(procedures, sharing(store))
        listed = await carry_out(procedures, store.physical_indices("*"))
        add_dedicated(found, (name for name in listed if _under_a_prefix(name, settings)))
        return found
    finally:
        await engine.aclose()


def _under_a_prefix(name: str, settings: Settings) -> bool:
    tenant, separator, _ = name.partition(settings.placement.separator)
    known = legal_tenant(tenant) if settings.tenants.mode == "open" else tenant in settings.tenants.ids
    return bool(separator) and known
