"""Values that already hold nodes and edges, in any of the usual shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from crawler.errors import BadSetting, UnknownShape
from crawler.extractors.contract import Extraction, Failure
from crawler.extractors.shapes import Defaults, read_mentions
from facts.receipts import ClaimedFact


class TriplesExtractor:
    """Options: ``kind``, the kind of a node that is given by name only (default ``entity``)."""

    name: Final = "triples"
    version: Final = "1"
    quick: Final = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        unknown = set(options) - {"kind", "confidence"}
        if unknown:
            raise BadSetting(f"the triples extractor has no option {min(unknown)!r}; it has kind", argument="options")
        self._defaults = Defaults(confidence=options.get("confidence", 0.8), kind=options.get("kind", "entity"))

    def extract(self, facts: Sequence[ClaimedFact]) -> list[Extraction | Failure]:
        return [self._one(fact.value) for fact in facts]

    def _one(self, value: object) -> Extraction | Failure:
        try:
            nodes, edges = read_mentions(value, self._defaults)
        except UnknownShape as error:
            return Failure(label=f"unknown shape: {error.shape}", message=error.message)
        return Extraction(nodes=nodes, edges=edges)
