"""Logging to standard error: an object per line, or text for people. Nothing of a request's body is ever logged."""

from __future__ import annotations

import logging
import time
from typing import Any

import orjson

from esproxy.settings.models import Log

OURS = ("esproxy", "uvicorn")


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(entry, default=str).decode()


class CutsAreOurs(logging.Filter):
    """The server reports each cut answer as a failure of the application, with a traceback; the driver has logged why already."""

    def filter(self, record: logging.LogRecord) -> bool:
        from esproxy.serve.responses import AnswerCut

        return not (record.exc_info and isinstance(record.exc_info[1], AnswerCut))


def configure(log: Log) -> None:
    """Set up the loggers of the proxy and its server; those of others are left alone."""
    handler = logging.StreamHandler()
    handler.addFilter(CutsAreOurs())
    if log.format == "json":
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(process)d %(message)s"))
    for name in OURS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(log.level.upper() if name == "esproxy" else max(logging.WARNING, getattr(logging, log.level.upper())))
        logger.propagate = False
