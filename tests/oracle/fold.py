"""graph = F(ledger, assertions, merges): pure, and blind to the order in which anything was harvested.

The promise of the product written a second time: plainly, slowly, from the design page alone. Nothing in this
folder imports the product.

Nodes of the answer are keyed by node key and carry `name, kind, aliases, namespaces, evidence`; edges are keyed
by predicate key and carry `predicate, confidence, observations, evidence, asserted_by, namespaces`. In
`namespaces`, None stands for the default partition.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, TypeVar

import networkx as nx

from tests.oracle import keys
from tests.oracle.keys import Identity
from tests.oracle.model import (
    Assertions,
    EdgeRecord,
    HandEdge,
    HandNode,
    LedgerRow,
    Merge,
    Namespace,
    Ref,
    Statement,
    endpoint_key,
)

Graph: TypeAlias = "nx.MultiDiGraph[str]"
Triple = tuple[str, str, str]
HAND, FACT = 0, 1
Origin = tuple[int, int]
"""(HAND, assertion id) or (FACT, facts.id): hand assertions rank before facts."""

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Contribution:
    """One naming of a node: what it would show, and the facts behind it."""

    key: str
    kind: str
    name: str
    origin: Origin
    position: int
    evidence: frozenset[str]
    namespaces: frozenset[str | None]
    """One value; empty for the end of a hand edge, which holds the node and says nothing about its partition."""
    aliases: tuple[str, ...] = ()
    identity: Identity = "normal"
    weak: bool = False
    """Given as key only: kind and name are the key's two parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """One row of support for an edge as named."""

    source: str
    target: str
    predicate: str
    confidence: float
    origin: Origin
    position: int
    writer: str
    namespace: str | None
    evidence: frozenset[str]


def fold(ledger: Iterable[LedgerRow], assertions: Assertions, merges: Iterable[Merge]) -> Graph:
    """The graph that the inputs say."""
    rows, ends = list(ledger), resolutions(merges)
    graph: Graph = nx.MultiDiGraph()
    for key, contributions in grouped(all_contributions(rows, assertions), lambda one: end(one.key, ends)).items():
        graph.add_node(key, **shown_node(key, contributions))
    for triple, observations in grouped(all_observations(rows, assertions), lambda one: resolved(one, ends)).items():
        source, target, predicate_key = triple
        if source != target:
            graph.add_edge(source, target, key=predicate_key, **shown_edge(triple, observations))
    return graph


def grouped(items: Iterable[Item], key_of: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key."""
    groups: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        groups[key_of(item)].append(item)
    return groups


def resolutions(merges: Iterable[Merge]) -> dict[str, str]:
    """Where each merged key ends."""
    into = {merge.duplicate: merge.survivor for merge in merges}
    ends: dict[str, str] = {}
    for start in into:
        at = start
        while at in into:
            at = into[at]
        ends[start] = at
    return ends


def end(key: str, ends: Mapping[str, str]) -> str:
    """A mention's node: its own key, then the redirects of recorded merges; nothing else."""
    return ends.get(key, key)


def resolved(observation: Observation, ends: Mapping[str, str]) -> Triple:
    """The edge that an observation supports."""
    predicate_key = keys.predicate_key(observation.predicate)
    return end(observation.source, ends), end(observation.target, ends), predicate_key


# --- contributions -----------------------------------------------------------------------------------------


def all_contributions(rows: Iterable[LedgerRow], assertions: Assertions) -> list[Contribution]:
    """Everything that names a node."""
    found: list[Contribution] = []
    for row in rows:
        found += listed_mentions(row)
        found += endpoint_mentions(row)
    for node in assertions.nodes:
        found.append(hand_node(node, assertions))
    for edge in assertions.edges:
        found += [hand_end(key, edge) for key in (edge.source, edge.target)]
    return found


def own_or(given: Namespace, otherwise: str | None) -> str | None:
    """A node's or an edge's own namespace, else the fact's."""
    return keys.namespace(given) if given is None or isinstance(given, str) else keys.namespace(otherwise)


def listed_mentions(row: LedgerRow) -> list[Contribution]:
    """The nodes that a fact lists."""
    return [
        Contribution(
            key=node.key,
            kind=node.kind,
            name=node.name,
            aliases=node.aliases,
            identity=node.identity,
            origin=(FACT, row.fact_id),
            position=position,
            evidence=frozenset([row.scope_key]),
            namespaces=frozenset([own_or(node.namespace, row.namespace)]),
        )
        for position, node in enumerate(row.nodes)
        if node is not None
    ]


def endpoint_mentions(row: LedgerRow) -> list[Contribution]:
    """The ends of a fact's edges that it does not list, in the fact's namespace."""
    listed = {node.key for node in row.nodes if node is not None}
    return [
        endpoint_mention(point, row, len(row.nodes) + 2 * index + side)
        for index, edge in enumerate(row.edges)
        if edge is not None
        for side, point in enumerate((edge.source, edge.target))
        if endpoint_key(point) not in listed
    ]


def endpoint_mention(point: str | Ref, row: LedgerRow, position: int) -> Contribution:
    """One unlisted end: by reference a full mention, by key the weakest one."""
    kind, name = keys.split_key(point) if isinstance(point, str) else (point.kind, point.name)
    return Contribution(
        key=endpoint_key(point),
        kind=kind,
        name=name,
        identity="exact" if isinstance(point, str) else point.identity,
        weak=isinstance(point, str),
        origin=(FACT, row.fact_id),
        position=position,
        evidence=frozenset([row.scope_key]),
        namespaces=frozenset([keys.namespace(row.namespace)]),
    )


def hand_node(node: HandNode, assertions: Assertions) -> Contribution:
    """A hand assertion of a node; its namespace is the one that its agent gave last for this key."""
    return Contribution(
        key=node.key,
        kind=node.kind,
        name=node.name,
        aliases=node.aliases,
        identity=node.identity,
        origin=(HAND, node.id),
        position=0,
        evidence=frozenset(node.cited),
        namespaces=frozenset([assertions.namespaces.get((("node", node.key), node.agent))]),
    )


def hand_end(key: str, edge: HandEdge) -> Contribution:
    """The end of a hand edge: it keeps the node alive, and shows only what nothing else shows."""
    kind, name = keys.split_key(key)
    return Contribution(
        key=key,
        kind=kind,
        name=name,
        identity="exact",
        weak=True,
        origin=(HAND, edge.id),
        position=0,
        evidence=frozenset(),
        namespaces=frozenset(),
    )


# --- what a node shows -------------------------------------------------------------------------------------


def shown_node(key: str, contributions: Iterable[Contribution]) -> dict[str, Any]:
    """Name, kind and aliases of the lowest-ranked contributions; evidence and namespaces of all."""
    ordered = sorted(contributions, key=lambda one: node_rank(one, key))
    first = ordered[0]
    aliases: dict[str, str] = {}
    for one in ordered:
        for spelling in (*one.aliases, one.name):
            if spelling.strip():
                aliases.setdefault(keys.form(spelling, one.identity), spelling.strip())
    namespaces = frozenset[str | None]().union(*(one.namespaces for one in ordered))
    return {
        "name": first.name.strip(),
        "kind": first.kind.strip(),
        "aliases": list(aliases.values()),
        "namespaces": namespaces or frozenset([None]),
        "namespace": smallest(namespaces),
        "evidence": frozenset[str]().union(*(one.evidence for one in ordered)),
    }


def node_rank(one: Contribution, shown_at: str) -> tuple[object, ...]:
    """Keys last of all; what a merge moved in after the survivor's own; hand before facts; then position."""
    return one.weak, one.key != shown_at, one.origin, one.position


def smallest(namespaces: Iterable[str | None]) -> str | None:
    """The one that is shown: the smallest by bytes, nothing when none is named."""
    named = [namespace for namespace in namespaces if namespace is not None]
    return min(named, key=str.encode) if named else None


# --- observations ------------------------------------------------------------------------------------------


def all_observations(rows: Iterable[LedgerRow], assertions: Assertions) -> list[Observation]:
    """Everything that supports an edge."""
    found = [one for row in rows for one in statements(row)]
    return found + [hand_edge(edge, assertions) for edge in assertions.edges]


def statements(row: LedgerRow) -> list[Observation]:
    """What a fact states."""
    return [harvested(edge, position, row) for position, edge in enumerate(row.edges) if edge is not None]


def harvested(edge: Statement, position: int, row: LedgerRow) -> Observation:
    """A fact's statement."""
    return Observation(
        source=endpoint_key(edge.source),
        target=endpoint_key(edge.target),
        predicate=edge.predicate,
        confidence=edge.confidence,
        origin=(FACT, row.fact_id),
        position=position,
        writer=row.writer,
        namespace=own_or(edge.namespace, row.namespace),
        evidence=frozenset([row.scope_key]),
    )


def hand_edge(edge: HandEdge, assertions: Assertions) -> Observation:
    """A hand assertion of an edge."""
    record: EdgeRecord = ("edge", edge.source, edge.target, keys.predicate_key(edge.predicate))
    return Observation(
        source=edge.source,
        target=edge.target,
        predicate=edge.predicate,
        confidence=edge.confidence,
        origin=(HAND, edge.id),
        position=0,
        writer=edge.agent,
        namespace=assertions.namespaces.get((record, edge.agent)),
        evidence=frozenset(edge.cited),
    )


# --- what an edge shows ------------------------------------------------------------------------------------


def shown_edge(triple: Triple, observations: Iterable[Observation]) -> dict[str, Any]:
    """Predicate of the lowest-ranked observation; strength of those that count; the rest of all."""
    ordered = sorted(observations, key=lambda one: edge_rank(one, triple))
    counting = [ordered[index].confidence for index in sorted(counting_observations(ordered))]
    namespaces = frozenset(one.namespace for one in ordered)
    return {
        "predicate": ordered[0].predicate.strip(),
        "confidence": 1.0 - prod(1.0 - confidence for confidence in counting),
        "observations": len(counting),
        "evidence": frozenset[str]().union(*(one.evidence for one in ordered)),
        "asserted_by": frozenset(one.writer for one in ordered),
        "namespaces": namespaces,
        "namespace": smallest(namespaces),
    }


def edge_rank(one: Observation, triple: Triple) -> tuple[object, ...]:
    """What a merge moved in after the survivor's own; hand before facts; then position."""
    return (one.source, one.target) != triple[:2], one.origin, one.position


def counting_observations(ordered: list[Observation]) -> set[int]:
    """Each key counts in the strongest observation that names it; without keys, one counts: the strongest.

    `ordered` is by rank, so that the first of equals is the one of lowest rank.
    """
    counting: set[int] = set()
    for key in {key for one in ordered for key in one.evidence}:
        naming = [index for index, one in enumerate(ordered) if key in one.evidence]
        counting.add(max(naming, key=lambda index: ordered[index].confidence))
    without_keys = [index for index, one in enumerate(ordered) if not one.evidence]
    if without_keys:
        counting.add(max(without_keys, key=lambda index: ordered[index].confidence))
    return counting
