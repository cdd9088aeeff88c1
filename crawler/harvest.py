"""The harvest step: claim, extract outside any transaction, incorporate (which acknowledges). Nothing else drains."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, TypeVar

import structlog

from crawler.extractors.contract import Deferred, Extraction, Extractor, Failure, Result
from crawler.rules import Rule, RuleSet
from facts import FactStore
from facts.errors import Busy, HarvesterError, Unavailable
from facts.queue import Backoff, FailedClaim, claim, fail, release
from facts.receipts import ClaimedFact
from graph.incorporate import Derived
from graph.model import Incorporation, Outcome, Provenance
from graph.store import GraphStore

T = TypeVar("T")
R = TypeVar("R")

_LONGEST_ERROR: Final = 500
_CLAIMED_AHEAD: Final = 1
_NOTHING_SAID: Final = Provenance(writer="harvester", extractor="none", version="1")
log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of claimed facts; adds up over steps and workers. ``failures`` counts by kind of failure.

    What was put off is in ``deferred`` and not in ``claimed``: nothing was done about it.
    """

    claimed: int = 0
    acked: int = 0
    stale: int = 0
    gone: int = 0
    failed: int = 0
    deferred: int = 0
    tombstones: int = 0
    empty: int = 0
    nodes: int = 0
    edges: int = 0
    withdrawn: int = 0
    skipped: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name in ("claimed", "acked", "stale", "gone", "failed", "deferred", "tombstones", "empty",
                     "nodes", "edges", "withdrawn", "skipped"):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures.update(other.failures)

    def as_json(self) -> dict[str, object]:
        names = [name for name in self.__dataclass_fields__ if name != "failures"]
        return {name: getattr(self, name) for name in names} | {"failures": dict(self.failures)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much a step takes and how failures wait."""

    batch_size: int = 1_000
    lease_seconds: float = 60.0
    backoff: Backoff = field(default_factory=Backoff)
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Claimed facts that one extractor reads, so that they share a provenance."""

    provenance: Provenance
    extractor: Extractor | None
    rule_at: int
    members: list[tuple[ClaimedFact, Rule | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A group that only needs to be written: what failed, and what the others say."""

    group: _Group
    failed: Sequence[tuple[ClaimedFact, Failure]]
    deferred: Sequence[tuple[ClaimedFact, Deferred]]
    ready: Sequence[Incorporation]
    ahead: Mapping[tuple[str, int], Derived]


class Harvester:
    """Drains what its rules cover. Any number of them, in any processes, may work on one database."""

    def __init__(
        self, facts: FactStore, graph: GraphStore, rules: RuleSet, *, owner: str, pace: Pace | None = None
    ) -> None:
        rules.make_ready()
        self._facts = facts
        self._graph = graph
        self._rules = rules
        self._resting: dict[int, float] = {}
        self._pace = pace or Pace()
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="claim-ahead")
        self._next: Future[Sequence[_Group | _Prepared]] | None = None
        self.owner = owner

    def __repr__(self) -> str:
        return f"Harvester(owner={self.owner!r}, rules={len(self._rules.rules)})"

    def step(self) -> Tally:
        """One batch; a tally with ``claimed == 0`` says that nothing is due now.

        A batch that was put off as a whole is followed by one of the other rules, so that none waits for a rule at rest.
        """
        total = Tally()
        for _ in range(len(self._rules.rules) + _CLAIMED_AHEAD + 1):
            done = self._batch()
            total.add(done)
            if done.claimed or not done.deferred:
                break
        return total

    def _batch(self) -> Tally:
        tally = Tally()
        failures: list[FailedClaim] = []
        for group in self._take():
            prepared = self._prepared(group) if isinstance(group, _Group) else group
            tally.claimed += len(prepared.group.members) - len(prepared.deferred)
            tally.deferred += self._put_off(prepared)
            for fact, said in self._incorporated(prepared, tally):
                tally.failed += 1
                tally.failures[said.label] += 1
                error = said.message[:_LONGEST_ERROR]
                failures.append(FailedClaim(fact_id=fact.fact_id, etag=fact.etag, attempts=fact.attempts, error=error))
                log.warning("fact_failed", scope_key=fact.scope_key, attempt=fact.attempts, error=error)
        if failures:
            self._facts.db.run(
                lambda connection: fail(
                    connection, self._facts.tables, failures, owner=self.owner, backoff=self._pace.backoff
                )
            )
        return tally

    def drain(self, *, on_step: Callable[[Tally], None] | None = None) -> Tally:
        """Steps until nothing is due; facts that failed wait for their back-off and stay pending."""
        total = Tally()
        while True:
            done = self.step()
            total.add(done)
            if on_step is not None:
                on_step(done)
            if done.claimed == 0:
                return total

    def release(self) -> int:
        """Give back every lease that this harvester holds, attempts uncounted; for a stop in the middle of a batch."""
        if self._next is not None:
            wait([self._next])
            self._next = None
        return self._facts.db.run(lambda connection: release(connection, self._facts.tables, owner=self.owner))

    def _at_rest(self) -> frozenset[int]:
        """Positions of the rules whose extractors put facts off and whose time is not yet."""
        now = self._pace.clock()
        return frozenset(at for at, until in self._resting.items() if until > now)

    def _put_off(self, prepared: _Prepared) -> int:
        """Give these leases back, attempts uncounted; their rule is left out of claims until it is worth another try."""
        if not prepared.deferred:
            return 0
        fact_ids = [fact.fact_id for fact, _ in prepared.deferred]
        longest = max((said for _, said in prepared.deferred), key=lambda said: said.seconds)
        at = prepared.group.rule_at
        if longest.seconds > 0:
            if at not in self._at_rest():
                rule = self._rules.rules[at].name
                log.warning("rule_rests", rule=rule, seconds=round(longest.seconds, 1), reason=longest.reason)
            self._resting[at] = self._pace.clock() + longest.seconds
        self._facts.db.run(
            lambda connection: release(connection, self._facts.tables, owner=self.owner, fact_ids=fact_ids)
        )
        return len(fact_ids)

    def _take(self) -> Sequence[_Group | _Prepared]:
        """The batch to work on. A full one has the next one made ready while it is written: this process is idle then."""
        ahead, self._next = self._next, None
        groups = ahead.result() if ahead is not None else ()
        if not groups:
            groups = self._groups()
        members = sum(len((each if isinstance(each, _Group) else each.group).members) for each in groups)
        if members == self._pace.batch_size:
            self._next = self._ahead.submit(self._look_ahead)
        return groups

    def _groups(self) -> list[_Group]:
        return list(self._grouped(self._claim()))

    def _look_ahead(self) -> Sequence[_Group | _Prepared]:
        """Claim, and go on to extract where that takes no time worth a lease: a slow extraction would hold up a stop."""
        groups = self._groups()
        return [self._prepared(group) for group in groups] if self._rules.is_quick else groups

    def _claim(self) -> list[ClaimedFact]:
        coverage = self._rules.without(self._at_rest()).coverage()
        return self._facts.db.run(
            lambda connection: claim(
                connection,
                self._facts.tables,
                owner=self.owner,
                limit=self._pace.batch_size,
                lease=self._pace.lease_seconds,
                coverage=coverage,
            )
        )

    def _grouped(self, claimed: Sequence[ClaimedFact]) -> Iterator[_Group]:
        """Tombstones and uncovered facts are the empty extraction; they go first, with whatever provenance."""
        routed = [(fact, None if fact.deleted else self._rules.rule_for(fact)) for fact in claimed]

        def writer(member: tuple[ClaimedFact, Rule | None]) -> int:
            return -1 if member[1] is None else self._rules.rules.index(member[1])

        routed.sort(key=writer)
        for at, members in groupby(routed, key=writer):
            if at < 0:
                yield _Group(provenance=_NOTHING_SAID, extractor=None, rule_at=at, members=list(members))
                continue
            extractor = self._rules.rules[at].extractor
            provenance = Provenance(writer=extractor.name, extractor=extractor.name, version=extractor.version)
            yield _Group(provenance=provenance, extractor=extractor, rule_at=at, members=list(members))

    def _prepared(self, group: _Group) -> _Prepared:
        """Extract and work out, outside any transaction."""
        failed: list[tuple[ClaimedFact, Failure]] = []
        deferred: list[tuple[ClaimedFact, Deferred]] = []
        ready: list[tuple[Incorporation, int]] = []
        for (fact, rule), one in zip(group.members, _extract(group), strict=True):
            if isinstance(one, Failure):
                failed.append((fact, one))
                continue
            if isinstance(one, Deferred):
                deferred.append((fact, one))
                continue
            namespace = None if rule is None else rule.namespace_for(fact.key)
            item = Incorporation(
                scope_key=fact.scope_key, etag=fact.etag, namespace=namespace, nodes=one.nodes, edges=one.edges
            )
            ready.append((item, fact.fact_id))
        ahead = self._graph.derive_ahead(ready, group.provenance) if group.extractor is not None else {}
        return _Prepared(group=group, failed=failed, deferred=deferred, ready=[item for item, _ in ready], ahead=ahead)

    def _incorporated(self, prepared: _Prepared, tally: Tally) -> Iterator[tuple[ClaimedFact, Failure]]:
        """Write, count; what comes out are the facts that failed."""
        yield from prepared.failed
        by_key = {fact.scope_key: fact for fact, _ in prepared.group.members}

        def write(some: Sequence[Incorporation]) -> list[Outcome]:
            return self._graph.incorporate(some, prepared.group.provenance, prepared.ahead)

        for outcome in _guarded(write, prepared.ready, _rejected):
            fact = by_key[outcome.scope_key]
            if outcome.outcome == "rejected":
                yield fact, Failure(label="rejected by the graph", message=outcome.reason or "rejected by the graph")
            else:
                _count(tally, fact, outcome)


def _extract(group: _Group) -> list[Result]:
    if group.extractor is None:
        return [Extraction()] * len(group.members)
    extractor = group.extractor

    def work(facts: Sequence[ClaimedFact]) -> list[Result]:
        said = list(extractor.extract(facts))
        if len(said) != len(facts):
            raise HarvesterError(f"extractor {extractor.name} gave {len(said)} results for {len(facts)} facts")
        return said

    return _guarded(work, [fact for fact, _ in group.members], _extractor_failed)


def _guarded(
    work: Callable[[Sequence[T]], list[R]], items: Sequence[T], failure: Callable[[T, Exception], R]
) -> list[R]:
    """All at once if that works, else by halves, down to the one item that raises: it alone fails.

    A database that is away or busy is nobody's fault and passes through.
    """
    if not items:
        return []
    try:
        return work(items)
    except (Unavailable, Busy):
        raise
    except Exception as error:
        if len(items) == 1:
            log.debug("guarded", error=str(error), exc_info=True)
            return [failure(items[0], error)]
    half = len(items) // 2
    return _guarded(work, items[:half], failure) + _guarded(work, items[half:], failure)


def _extractor_failed(_fact: ClaimedFact, error: Exception) -> Result:
    return Failure(label=f"extractor: {type(error).__name__}", message=f"{type(error).__name__}: {error}")


def _rejected(item: Incorporation, error: Exception) -> Outcome:
    return Outcome(scope_key=item.scope_key, outcome="rejected", reason=f"{type(error).__name__}: {error}")


def _count(tally: Tally, fact: ClaimedFact, outcome: Outcome) -> None:
    if outcome.outcome == "stale":
        tally.stale += 1
    elif outcome.outcome == "gone":
        tally.gone += 1
    else:
        tally.acked += 1
        tally.tombstones += fact.deleted
        tally.empty += not fact.deleted and not outcome.nodes and not outcome.edges
        tally.nodes += outcome.nodes
        tally.edges += outcome.edges
        tally.withdrawn += outcome.withdrawn
        tally.skipped += outcome.skipped
