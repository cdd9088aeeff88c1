"""Tool calls by name and outcome, counted where every surface passes: `crawler.registry.call_tool`."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

OK: Final = "ok"
UNKNOWN_TOOL: Final = "(none)"
_counting = threading.Lock()
_counts: Counter[tuple[str, str]] = Counter()


def note_call(tool: str, outcome: str) -> None:
    """``outcome``: ok, or the code of the error. ``tool``: one that exists, so that callers cannot make up series."""
    with _counting:
        _counts[tool, outcome] += 1


def call_counts() -> dict[tuple[str, str], int]:
    """How often each tool ended how in this process: what metrics show."""
    with _counting:
        return dict(_counts)
