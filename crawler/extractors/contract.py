"""What an extractor is: facts in, one result a fact out, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from facts.receipts import ClaimedFact
from graph.model import EdgeMention, NodeMention


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What one fact says. Empty is an answer too: nothing found, recorded as such."""

    nodes: Sequence[NodeMention] = ()
    edges: Sequence[EdgeMention] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One fact that could not be read. ``label`` groups failures of the same kind in counts."""

    label: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """Not now, through no fault of the fact: it stays pending, and the attempt does not count.

    ``seconds`` until its rule is worth another claim; 0: the rest of a batch that would have taken too long.
    """

    seconds: float
    reason: str


Result = Extraction | Failure | Deferred


@runtime_checkable
class Extractor(Protocol):
    """Never sees tombstones. Runs outside any transaction, so it may be slow; it must not keep state between batches.

    It may answer a `Failure` for a fact, or raise: then each fact of the batch is tried alone, so that one bad fact
    never costs the others. It may put facts off by `Deferred`. ``quick`` (optional, default False) says that a batch
    never comes near the lease, so that no heartbeat is needed. ``make_ready()`` (optional) is called by whoever drains,
    before anything is claimed: rules are read by every command, a secret is needed by this one only.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def extract(self, facts: Sequence[ClaimedFact]) -> Sequence[Result]: ...


ExtractorFactory = Callable[[Mapping[str, Any]], Extractor]
"""What an entry point of the group ``harvester.extractors`` names; given a rule's options and ``confidence``."""
