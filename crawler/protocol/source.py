"""What the served surfaces work from: open stores, the settings that shape answers, and a desk for each caller."""

from __future__ import annotations

from dataclasses import dataclass

from crawler.caller import Caller
from crawler.guides import instructions, read_guide
from crawler.registry import Desk
from crawler.settings import Settings
from crawler.wiring import Stores
from facts.coverage import EVERYTHING, Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """``coverage``: what the harvester's rules cover, for ``noRule`` in statistics."""

    stores: Stores
    settings: Settings
    coverage: Coverage = EVERYTHING

    def desk(self, caller: Caller) -> Desk:
        """A desk for one call."""
        return Desk(
            facts=self.stores.facts,
            graph_store=self.stores.graph,
            caller=caller,
            budget=self.settings.answer_bytes,
            coverage=self.coverage,
            statement_seconds=self.settings.statement_seconds[caller.role],
        )

    def guide(self, name: str, caller: Caller) -> str:
        return read_guide(name, self.desk(caller), crawl_text=self.settings.crawl_guide)

    def instructions(self, caller: Caller) -> str:
        return instructions(self.desk(caller), crawl_text=self.settings.crawl_guide)
