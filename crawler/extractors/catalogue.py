"""Extractors by name: ours, and those that other distributions register in the group ``harvester.extractors``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from crawler.errors import BadSetting
from crawler.extractors.contract import Extractor, ExtractorFactory
from crawler.extractors.mapping import MappingExtractor
from crawler.extractors.text import TextExtractor
from crawler.extractors.triples import TriplesExtractor


def _llm(options: Mapping[str, Any]) -> Extractor:
    from crawler.extractors.llm import LlmExtractor  # noqa: PLC0415 - an HTTP client that most commands do without

    return LlmExtractor(options)


ENTRY_POINT_GROUP: Final = "harvester.extractors"
_BUILT_IN: Final[Mapping[str, ExtractorFactory]] = {
    "triples": TriplesExtractor,
    "mapping": MappingExtractor,
    "text": TextExtractor,
    "llm": _llm,
}


def build_extractor(name: str, options: Mapping[str, Any], *, confidence: float) -> Extractor:
    """The extractor of a rule; the rule's default confidence reaches it as the option ``confidence``."""
    factory = _BUILT_IN.get(name) or _plugged_in(name)
    extractor = factory({"confidence": confidence, **options})
    if not isinstance(extractor, Extractor):
        raise BadSetting(f"extractor {name!r} lacks name, version or extract()", argument="extractor")
    return extractor


def extractor_names() -> list[str]:
    return sorted({*_BUILT_IN, *(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP))})


def _plugged_in(name: str) -> ExtractorFactory:
    found = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if not found:
        known = ", ".join(extractor_names())
        raise BadSetting(f"there is no extractor {name!r}; there are: {known}", argument="extractor")
    try:
        factory: ExtractorFactory = next(iter(found)).load()
    except (ImportError, AttributeError) as error:
        raise BadSetting(f"extractor {name!r} cannot be loaded: {error}", argument="extractor") from error
    return factory
