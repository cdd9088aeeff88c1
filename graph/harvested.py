"""What harvesters put into the ledger, to be compared with what rules and extractors would say today."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph.store import GraphStore

PAGE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Harvested:
    """One ledger row: who extracted, and the canonical text of what was said."""

    scope_key: str
    extractor: str
    version: str
    extraction: str

    @property
    def namespace(self) -> str | None:
        """The namespace that the rule gave the fact."""
        found: str | None = json.loads(self.extraction)["namespace"]
        return found

    def still_says(self, text: str) -> bool:
        """Whether an extraction of today says the same, the namespace aside; a position struck out by hand is any."""
        if text == self.extraction:
            return True
        said: dict[str, Any] = json.loads(self.extraction)
        says: dict[str, Any] = json.loads(text)
        return all(_same(said[part], says[part]) for part in ("nodes", "edges"))


def _same(said: Sequence[Any], says: Sequence[Any]) -> bool:
    return len(said) == len(says) and all(old is None or old == new for old, new in zip(said, says, strict=True))


def harvested_pages(graph: GraphStore, *, extractor: str | None = None) -> Iterator[list[Harvested]]:
    """The ledger in pages, each read in a transaction of its own."""
    after = 0
    while True:
        with graph.db.transaction() as conn:
            parameters = {"after": after, "extractor": extractor, "limit": PAGE}
            rows = conn.execute(graph.tables.ledger.ledger_page, parameters).fetchall()
        if not rows:
            return
        after = rows[-1][0]
        yield [Harvested(scope_key=row[1], extractor=row[2], version=row[3] or "", extraction=row[4]) for row in rows]
