"""``esproxy demo``: the main job, shown and checked on a real node."""

from esproxy.demo.main import add_arguments, main

__all__ = ["add_arguments", "main"]
