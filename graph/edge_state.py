"""What the statements of an edge add up to: pure, exact, and the same in whatever order they came.

Each cited key counts in the strongest statement of the edge that names it (ties: lowest rank); a statement counts
while a key counts in it; of the statements without keys one counts, the strongest.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graph.confidence import Strength, once
from graph.rows import Observation

EVIDENCE_SHOWN = 256


class Statement(NamedTuple):
    """One live statement of an edge: an observation with the source ids it cites."""

    origin: int
    rank: int
    confidence: float
    writer: str
    namespace: str
    predicate: str
    model: str | None
    keys: tuple[int, ...]

    @classmethod
    def of(cls, row: Observation, keys: tuple[int, ...]) -> "Statement":
        """The statement that a row makes."""
        return cls(row.origin, row.rank, row.confidence, row.writer, row.namespace, row.predicate, row.model, keys)


class EdgeState(NamedTuple):
    """The summary row of an edge: sums, counts by writer and namespace, what is shown, newest evidence (source ids)."""

    predicate: str
    shown_rank: int
    model: str | None
    strength: Strength
    hand: int
    writers: dict[str, int]
    namespaces: dict[str, int]
    evidence: tuple[int, ...]


class OriginOnEdge(NamedTuple):
    """The statements of one fact on one edge, before and after a write."""

    origin: int
    before: Sequence[Statement]
    after: Sequence[Statement]


def _strength_key(statement: Statement) -> tuple[float, int]:
    return (statement.confidence, -statement.rank)


def counting(statements: Sequence[Statement]) -> list[Statement]:
    """Those statements that count."""
    best: dict[int, Statement] = {}
    for statement in statements:
        for key in statement.keys:
            if key not in best or _strength_key(statement) > _strength_key(best[key]):
                best[key] = statement
    winners = {id(statement): statement for statement in best.values()}
    unsourced = [statement for statement in statements if not statement.keys]
    if unsourced:
        strongest = max(unsourced, key=_strength_key)
        winners[id(strongest)] = strongest
    return list(winners.values())


def _stated_once(only: Statement) -> EdgeState:
    return EdgeState(
        only.predicate, only.rank, only.model, once(only.confidence), int(only.origin < 0), {only.writer: 1},
        {only.namespace: 1}, only.keys[-EVIDENCE_SHOWN:],
    )  # fmt: skip


def recount(statements: Sequence[Statement]) -> EdgeState | None:
    """The state of an edge from all its statements (in order of attachment); None when there are none."""
    if not statements:
        return None
    if len(statements) == 1:
        return _stated_once(statements[0])
    strength = Strength()
    for statement in counting(statements):
        strength = strength.plus(statement.confidence)
    shown = min(statements, key=lambda statement: statement.rank)
    keys = dict.fromkeys(key for statement in statements for key in statement.keys)
    return EdgeState(
        predicate=shown.predicate,
        shown_rank=shown.rank,
        model=shown.model,
        strength=strength,
        hand=sum(statement.origin < 0 for statement in statements),
        writers=dict(Counter(statement.writer for statement in statements)),
        namespaces=dict(Counter(statement.namespace for statement in statements)),
        evidence=tuple(keys)[-EVIDENCE_SHOWN:],
    )


@dataclass(frozen=True, slots=True)
class Step:
    """A state after a change by facts, and what only the database can tell of it."""

    state: EdgeState | None
    shown_withdrawn: bool = False
    evidence_short: bool = False


def _tally(counts: dict[str, int], dropped: Iterable[str], added: Iterable[str]) -> dict[str, int]:
    total = Counter(counts)
    total.update(added)
    total.subtract(Counter(dropped))
    return {name: count for name, count in total.items() if count}


def _strength_after(strength: Strength, change: OriginOnEdge) -> Strength:
    before = max((statement.confidence for statement in change.before), default=None)
    after = max((statement.confidence for statement in change.after), default=None)
    if before == after:
        return strength
    if before is not None:
        strength = strength.plus(before, -1)
    return strength if after is None else strength.plus(after)


def _evidence_after(evidence: tuple[int, ...], changes: Sequence[OriginOnEdge]) -> tuple[int, ...]:
    lost = {change.origin for change in changes if change.before and not change.after}
    gained = [change.origin for change in changes if change.after and not change.before]
    kept = tuple(key for key in evidence if key not in lost) if lost else evidence
    return (*kept, *gained)[-EVIDENCE_SHOWN:] if gained else kept


def after_facts(state: EdgeState, changes: Sequence[OriginOnEdge]) -> Step:
    """The state after facts changed what they state, on an edge without hand assertions. Costs what changed."""
    strength = state.strength
    for change in changes:
        strength = _strength_after(strength, change)
    dropped = [statement for change in changes for statement in change.before]
    added = [statement for change in changes for statement in change.after]
    writers = _tally(state.writers, (each.writer for each in dropped), (each.writer for each in added))
    if not writers:
        return Step(None)
    shown = min(added, key=lambda statement: statement.rank, default=None)
    takes_over = shown is not None and shown.rank <= state.shown_rank
    withdrawn = not takes_over and any(statement.rank == state.shown_rank for statement in dropped)
    evidence = _evidence_after(state.evidence, changes)
    after = state._replace(
        strength=strength,
        writers=writers,
        namespaces=_tally(state.namespaces, (each.namespace for each in dropped), (each.namespace for each in added)),
        evidence=evidence,
    )
    if takes_over and shown is not None:
        after = after._replace(predicate=shown.predicate, shown_rank=shown.rank, model=shown.model)
    short = len(evidence) < len(state.evidence) == EVIDENCE_SHOWN
    return Step(after, shown_withdrawn=withdrawn, evidence_short=short)
