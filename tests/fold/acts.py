"""What can be done to the product. Each act does it, and says what the model makes of it.

`expect` changes the model and returns the reply that the product owes; it is asked after the product answered, so that
two acts at once can be judged in both orders.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from facts import DeleteFactInput, FactStore, StoreFactInput
from facts.access import HOUSE, Writer
from facts.uncrawled import CrawlMark
from graph.model import Provenance
from graph.store import GraphStore
from tests.fold.state import Place, Receipt, State
from tests.fold.words import Said


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """The two stores under test."""

    facts: FactStore
    graph: GraphStore


class Act(ABC):
    """One call of the product."""

    @abstractmethod
    def do(self, product: Product) -> Any:
        """The call; what of its reply the model can tell beforehand."""

    @abstractmethod
    def expect(self, state: State) -> Any:
        """The same on the model."""


def writer_of(place: Place) -> Writer:
    """Who stores and deletes there."""
    return HOUSE if place.session is None else Writer(session_id=place.session)


@dataclass(frozen=True, kw_only=True)
class Store(Act):
    """New, edited or revived facts of one session, in one batch. The value of a fact names all that it says."""

    items: Sequence[tuple[Place, Said, str]]

    def do(self, product: Product) -> list[bool]:
        batch = [
            StoreFactInput(key=place.key, value=[repr(said), writer], shared=place.session is None)
            for place, said, writer in self.items
        ]
        return [fact.changed for fact in product.facts.store(batch, writer_of(self.items[0][0]))]

    def expect(self, state: State) -> list[bool]:
        return [state.store(place, said, writer) for place, said, writer in self.items]


@dataclass(frozen=True, kw_only=True)
class Delete(Act):
    """One fact, softly."""

    place: Place

    def do(self, product: Product) -> int:
        request = DeleteFactInput(key=self.place.key, shared=self.place.session is None)
        return product.facts.delete(request, writer_of(self.place)).deleted

    def expect(self, state: State) -> int:
        return state.delete(self.place)


@dataclass(frozen=True, kw_only=True)
class Harvest(Act):
    """A batch of one extractor, in the order given."""

    receipts: Sequence[Receipt]

    def do(self, product: Product) -> list[tuple[str, str | None]]:
        replies: dict[str, tuple[str, str | None]] = {}
        if not self.receipts:
            return []
        batch = [receipt.said.incorporation(receipt.place.scope_key, receipt.etag) for receipt in self.receipts]
        for outcome in product.graph.incorporate(batch, Provenance(writer=self.receipts[0].writer)):
            replies[outcome.scope_key] = (outcome.outcome, outcome.reason)
        return [replies[receipt.place.scope_key] for receipt in self.receipts]

    def expect(self, state: State) -> list[tuple[str, str | None]]:
        return [state.incorporate(receipt) for receipt in self.receipts]


@dataclass(frozen=True, kw_only=True)
class Purge(Act):
    """Remove tombstones; with `old`, as if their time to live were over."""

    old: bool = False

    def do(self, product: Product) -> int:
        return product.facts.purge(ttl_s=0 if self.old else None).purged

    def expect(self, state: State) -> int:
        return state.purge(old=self.old)


@dataclass(frozen=True, kw_only=True)
class Mark(Act):
    """Acknowledge by hand, or requeue."""

    place: Place
    crawled: bool

    def do(self, product: Product) -> int:
        marks = [CrawlMark(scope_key=self.place.scope_key)]
        return product.facts.set_crawled(marks, crawled=self.crawled).affected

    def expect(self, state: State) -> int:
        return int(state.mark(self.place.scope_key, crawled=self.crawled))
