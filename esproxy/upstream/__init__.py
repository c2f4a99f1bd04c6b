"""The engine: connections to the nodes of clusters. Knows nobody above it."""
