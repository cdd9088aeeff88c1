"""The promise of the product, written a second time and plainly: the graph that a set of live facts says.

Shares with the product only the pure rules of identity and the extractors, and reads no database; the demo compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isclose, prod

from crawler.errors import SourceFailed
from crawler.extractors.contract import Deferred, Extraction
from crawler.rules import RuleSet
from facts.receipts import ClaimedFact
from graph.keys import node_key, predicate_key
from graph.model import EdgeMention, NodeRef

EdgeKey = tuple[str, str, str]
TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Belief:
    """How far an edge is believed, and the facts that say so."""

    confidence: float
    evidence: frozenset[str]

    def agrees(self, other: Belief) -> bool:
        return self.evidence == other.evidence and isclose(
            self.confidence, other.confidence, rel_tol=0, abs_tol=TOLERANCE
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Knowledge:
    """A graph without its looks: node keys, and what is believed of each (from, predicate key, to)."""

    nodes: frozenset[str]
    edges: Mapping[EdgeKey, Belief]

    def differences(self, other: Knowledge) -> list[str]:
        """Every way in which two graphs are not the same; empty when they are."""
        found = [f"node {key}" for key in sorted(self.nodes ^ other.nodes)]
        for key in sorted(self.edges.keys() | other.edges.keys()):
            here, there = self.edges.get(key), other.edges.get(key)
            if here is None or there is None or not here.agrees(there):
                found.append(f"edge {' '.join(key)}: {here} or {there}")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What became of the edges between two moments."""

    gone: frozenset[EdgeKey] = field(default_factory=frozenset)
    come: frozenset[EdgeKey] = field(default_factory=frozenset)
    changed: frozenset[EdgeKey] = field(default_factory=frozenset)
    untouched: int = 0

    @classmethod
    def between(cls, before: Knowledge, after: Knowledge) -> Change:
        kept = before.edges.keys() & after.edges.keys()
        changed = frozenset(key for key in kept if not before.edges[key].agrees(after.edges[key]))
        return cls(
            gone=frozenset(before.edges.keys() - after.edges.keys()),
            come=frozenset(after.edges.keys() - before.edges.keys()),
            changed=changed,
            untouched=len(kept) - len(changed),
        )


def fold(facts: Iterable[ClaimedFact], rules: RuleSet) -> Knowledge:
    """What these facts say together: each counts once on an edge, at its strongest; confidence is noisy-OR."""
    nodes: set[str] = set()
    said: dict[EdgeKey, dict[str, float]] = {}
    for fact in facts:
        extraction = extract(fact, rules)
        nodes.update(node_key(node.kind, node.name, node.identity) for node in extraction.nodes)
        for edge in extraction.edges:
            key = edge_key(edge)
            nodes.update((key[0], key[2]))
            by_fact = said.setdefault(key, {})
            by_fact[fact.scope_key] = max(edge.confidence, by_fact.get(fact.scope_key, 0.0))
    return Knowledge(
        nodes=frozenset(nodes),
        edges={key: Belief(confidence=_noisy_or(by.values()), evidence=frozenset(by)) for key, by in said.items()},
    )


def extract(fact: ClaimedFact, rules: RuleSet) -> Extraction:
    rule = rules.rule_for(fact)
    if rule is None:
        return Extraction()
    (said,) = rule.extractor.extract([fact])
    if not isinstance(said, Extraction):
        raise SourceFailed(f"{fact.key}: {said.reason if isinstance(said, Deferred) else said.message}")
    return said


def edge_key(edge: EdgeMention) -> EdgeKey:
    return _end(edge.source), predicate_key(edge.predicate), _end(edge.target)


def _end(end: str | NodeRef) -> str:
    return end if isinstance(end, str) else node_key(end.kind, end.name, end.identity)


def _noisy_or(confidences: Iterable[float]) -> float:
    return 1.0 - prod(1.0 - each for each in confidences)
