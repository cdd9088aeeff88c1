"""Logs are events with fields: JSON lines when nobody watches, coloured lines for a person. Always on stderr."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog

Format = Literal["auto", "json", "console"]


def configure_logs(*, style: Format = "auto", level: str = "info") -> None:
    """Once, at the edge; stdout stays free for results and protocols."""
    as_json = style == "json" or (style == "auto" and not sys.stderr.isatty())
    last: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False) if as_json else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([structlog.processors.format_exc_info] if as_json else []),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    _take_over_libraries()


class _ToStructlog(logging.Handler):
    """What libraries log (the connection pool, above all) in the same lines as our own events."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        log.log(record.levelno, "library", library=record.name, said=record.getMessage())


def _take_over_libraries() -> None:
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, _ToStructlog)]:
        root.removeHandler(handler)
    root.addHandler(_ToStructlog(level=logging.WARNING))
