"""Ingest processors that a tenant may have."""

PROCESSORS = frozenset()
