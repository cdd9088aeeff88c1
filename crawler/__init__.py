"""The harvester: sources, extractors, the step that keeps the graph the fold of the facts, and the tools for agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawler.extractors.contract import Extraction, Extractor
    from crawler.harvest import Harvester
    from crawler.registry import fact_tools, graph_tools

__all__ = ["Extraction", "Extractor", "Harvester", "fact_tools", "graph_tools"]

_HOMES = {
    "Extraction": "crawler.extractors.contract",
    "Extractor": "crawler.extractors.contract",
    "Harvester": "crawler.harvest",
    "fact_tools": "crawler.registry",
    "graph_tools": "crawler.registry",
}


def __getattr__(name: str) -> Any:
    """Public names come from their rooms when asked for: `harvester --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
