"""esproxy: a multi-tenancy proxy for Elasticsearch and OpenSearch."""

__version__ = "0.1.0.dev0"
