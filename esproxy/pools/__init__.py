"""Exchanges with pooled indices: ``pooled`` is the frame, ``families`` the list of what is served, the rest one family or helper
each. The catalogue's own changes (create, delete, alias, …) are in ``procedures``."""
