"""What a source is: facts to store, in a stable order, each under a key that it alone writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

KnownKeys = Callable[[Sequence[str]], set[str]]
"""Which of these keys are stored and alive, so that a source whose items never change can leave them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFact:
    """A fact that the source has now. ``shared`` None: as the command says."""

    key: str
    value: Any
    tags: tuple[str, ...] = ()
    shared: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """An item that is stored already and cannot have changed; it counts as present for a prune."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """One bad item, reported and skipped; the rest goes on.

    ``keeps``: what the keys of its facts start with, so that a prune spares them. None: nobody can say which those are,
    and then a prune deletes nothing at all.
    """

    where: str
    reason: str
    keeps: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An item that is left out on purpose: counted by reason, no error. ``keeps`` as above; None: nothing is spared."""

    where: str
    reason: str
    keeps: str | None = None


SourceItem = SourceFact | Unchanged | Unreadable | Skipped


class Source(Protocol):
    """``name`` marks the writer of its facts (``ingest:<name>``); a prune looks only at facts of that writer."""

    @property
    def name(self) -> str: ...

    @property
    def prefix(self) -> str:
        """What every key starts with; empty: nothing in common, and then nothing can be pruned."""

    @property
    def description(self) -> str | None:
        """What its namespace (the prefix without the last slash) is for; None: it has none to register."""

    def size(self) -> int | None:
        """How many items there are, for a progress bar; None: unknown."""

    def items(self, known: KnownKeys) -> Iterator[SourceItem]:
        """Every item that the source has now."""
