"""The stream of facts that every system loads: two node mentions and one edge a fact, hot nodes, restated triples.

Deterministic: the same size and seed give the same facts. Node popularity is zipf with exponent 0.8 over half as many
names as there are facts; one fact in five states an earlier triple again.
"""

import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

EXPONENT = 0.8
RESTATED = 0.2
PREDICATES = ("depends on", "calls", "owns", "ships with", "tested by", "documents", "replaces", "part of")
KINDS = ("service", "library", "team", "host")
CONFIDENCE = 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A name in the workload; the key is what any system must make of it."""

    kind: str
    name: str
    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One fact: its key, and the triple that it states."""

    key: str
    source: Node
    target: Node
    predicate: str

    @property
    def scope_key(self) -> str:
        return f"shared:{self.key}"

    @property
    def triple(self) -> tuple[str, str, str]:
        return self.source.key, self.target.key, self.predicate

    @property
    def value(self) -> dict[str, object]:
        """The fact's value, in the canonical shape of the triples extractor."""
        ends = [{"kind": node.kind, "name": node.name} for node in (self.source, self.target)]
        edge = {"from": ends[0], "to": ends[1], "predicate": self.predicate, "confidence": CONFIDENCE}
        return {"nodes": ends, "edges": [edge]}


def generate(size: int, *, seed: int = 1) -> Iterator[Fact]:
    """`size` facts."""
    chance = random.Random(seed)
    names = max(2, size // 2)
    popularity = list(accumulate((rank + 1) ** -EXPONENT for rank in range(names)))

    def node() -> int:
        return bisect_left(popularity, chance.random() * popularity[-1])

    said: list[tuple[int, str, int]] = []
    for number in range(size):
        if said and chance.random() < RESTATED:
            triple = chance.choice(said)
        else:
            source, target = node(), node()
            while target == source:
                target = node()
            triple = source, chance.choice(PREDICATES), target
        said.append(triple)
        yield Fact(
            key=f"bench/{number:07d}",
            source=named(triple[0]),
            target=named(triple[2]),
            predicate=triple[1],
        )


def named(rank: int) -> Node:
    """The node of a popularity rank."""
    kind = KINDS[rank % len(KINDS)]
    return Node(kind=kind, name=f"Item {rank}", key=f"{kind}:item-{rank}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """What the graph of a workload holds."""

    nodes: int
    edges: int
    observations: int
    evidence: int
    confidence: float
    """The sum over all edges."""


def totals(facts: list[Fact]) -> Totals:
    """The fold of a workload, as numbers."""
    observed = Counter(fact.triple for fact in facts)
    nodes = {key for fact in facts for key in (fact.source.key, fact.target.key)}
    return Totals(
        nodes=len(nodes),
        edges=len(observed),
        observations=len(facts),
        evidence=2 * len(facts),
        confidence=sum(1 - (1 - CONFIDENCE) ** times for times in observed.values()),
    )


def check(found: Totals, facts: list[Fact]) -> None:
    """A run that left anything but the fold of its facts measured nothing."""
    expected = totals(facts)
    counts = ("nodes", "edges", "observations", "evidence")
    wrong = [name for name in counts if getattr(found, name) != getattr(expected, name)]
    if wrong or abs(found.confidence - expected.confidence) > 1e-6 * max(1.0, expected.confidence):
        raise AssertionError(f"the graph holds {found}, the fold of the workload is {expected}")
