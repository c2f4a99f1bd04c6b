"""Exchanges with pooled indices: ``frame`` runs them, ``families`` the list of what is served, the rest one family or helper
each. The catalogue's own changes (create, delete, alias, …) are in ``procedures``."""
