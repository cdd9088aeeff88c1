"""What a sequence of calls leaves as ledger, assertions and merges: the inputs of the fold.

The fold itself is blind to order; which rows a hand call leaves is not, since a call that says nothing new leaves
none. Each method is one call, stated as the design page states it.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tests.oracle import keys
from tests.oracle.fold import (
    Contribution,
    Graph,
    Observation,
    Triple,
    all_contributions,
    all_observations,
    end,
    endpoint_mentions,
    fold,
    grouped,
    hand_edge,
    hand_end,
    hand_node,
    listed_mentions,
    resolutions,
    resolved,
    statements,
)
from tests.oracle.keys import Identity
from tests.oracle.model import (
    ABSENT,
    Assertions,
    EdgeRecord,
    HandEdge,
    HandNode,
    LedgerRow,
    Merge,
    Namespace,
    NodeRecord,
)

Record = NodeRecord | EdgeRecord
Cited = Mapping[str, int | None]
Row = TypeVar("Row", HandNode, HandEdge)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Doomed:
    """What a deletion by hand takes away."""

    mention: Callable[[Contribution], bool]
    observation: Callable[[Observation], bool]


@dataclass(kw_only=True)
class World:
    """The state between calls. `etags` are the current versions of the facts that exist."""

    ledger: dict[str, LedgerRow] = field(default_factory=dict)
    nodes: list[HandNode] = field(default_factory=list)
    edges: list[HandEdge] = field(default_factory=list)
    namespaces: dict[tuple[Record, str], str | None] = field(default_factory=dict)
    merges: list[Merge] = field(default_factory=list)
    etags: dict[str, int] = field(default_factory=dict)
    next_id: int = 1

    def graph(self) -> Graph:
        """F of what there is now."""
        return fold(self.ledger.values(), self.assertions(), self.merges)

    def assertions(self) -> Assertions:
        """The hand rows, frozen."""
        return Assertions(nodes=tuple(self.nodes), edges=tuple(self.edges), namespaces=dict(self.namespaces))

    # --- harvesting ----------------------------------------------------------------------------------------

    def incorporate(self, row: LedgerRow) -> None:
        """Replace by source: the ledger holds what this fact says now, and nothing that it said before."""
        self.ledger[row.scope_key] = row

    def incorporate_tombstone(self, scope_key: str) -> None:
        """The empty extraction plus removal of every reference to the fact, whoever made it."""
        self.remove_evidence(scope_key)

    # --- by hand -------------------------------------------------------------------------------------------

    def upsert_node(
        self,
        agent: str,
        kind: str,
        name: str,
        *,
        aliases: tuple[str, ...] = (),
        identity: Identity = "normal",
        namespace: Namespace = ABSENT,
        evidence: Iterable[str] = (),
    ) -> bool:
        """True when the node is new. A row is left by the agent's first call here, and by news in a later one."""
        row = HandNode(
            id=self._take_id(),
            kind=kind,
            name=name,
            agent=agent,
            aliases=aliases,
            identity=identity,
            cited=self._cite(evidence),
        )
        created = end(row.key, resolutions(self.merges)) not in self.graph()
        own = [one for one in self.nodes if one.key == row.key and one.agent == agent]
        held_forms = {form for one in own for form in forms(one)}
        held_keys = {key for one in own for key in one.cited}
        self._renew_node(row)
        if not own or forms(row) - held_forms or set(row.cited) - held_keys:
            self.nodes.append(row)
        self._set_namespace(("node", row.key), agent, namespace)
        return created

    def upsert_edge(
        self,
        agent: str,
        source: str,
        target: str,
        predicate: str,
        *,
        confidence: float = 1.0,
        namespace: Namespace = ABSENT,
        evidence: Iterable[str] = (),
    ) -> bool:
        """True when the call left a row: it made the edge, or named a key that no observation of it names yet."""
        row = HandEdge(
            id=self._take_id(),
            source=source,
            target=target,
            predicate=predicate,
            confidence=confidence,
            agent=agent,
            cited=self._cite(evidence),
        )
        ends = resolutions(self.merges)
        triple = (end(source, ends), end(target, ends), keys.predicate_key(predicate))
        live = [
            one for one in all_observations(self.ledger.values(), self.assertions()) if resolved(one, ends) == triple
        ]
        known = {key for one in live for key in one.evidence}
        self._renew_edge(row)
        if live and not set(row.cited) - known:
            return False
        self.edges.append(row)
        self._set_namespace(edge_record(row), agent, namespace)
        return True

    def remove_evidence(self, scope_key: str) -> None:
        """Nothing refers to the fact any more; a hand row falls with the last key that it cited."""
        self.ledger.pop(scope_key, None)
        self.nodes = without_key(self.nodes, scope_key)
        self.edges = without_key(self.edges, scope_key)
        self._forget_namespaces()

    def delete_node(self, key: str) -> set[str] | None:
        """The keys of the facts behind what went; None when there is no such node."""
        ends = resolutions(self.merges)
        return self._delete(touching({end(key, ends)}, ends)) if end(key, ends) in self.graph() else None

    def delete_edge(self, source: str, target: str, predicate: str) -> set[str] | None:
        """The same for an edge."""
        ends = resolutions(self.merges)
        triple = (end(source, ends), end(target, ends), keys.predicate_key(predicate))
        doomed = Doomed(lambda _: False, lambda one: resolved(one, ends) == triple)
        return self._delete(doomed) if self.graph().has_edge(*triple) else None

    def delete_namespace(self, namespace: str) -> set[str]:
        """Its contributions go; a node that thereby loses its last mention goes with all its edges."""
        ends, wanted = resolutions(self.merges), keys.namespace(namespace)
        inside = Doomed(lambda one: wanted in one.namespaces, lambda one: one.namespace == wanted)
        left = {identified(one) for one in self._struck(inside)._placed()}
        named = grouped(self._placed(), lambda one: end(one.key, ends))
        lost = {key for key, naming in named.items() if left.isdisjoint(map(identified, naming))}
        at_lost = touching(lost, ends)
        return self._delete(
            Doomed(
                lambda one: inside.mention(one) or at_lost.mention(one),
                lambda one: inside.observation(one) or at_lost.observation(one),
            )
        )

    def merge(self, duplicate: str, survivor: str) -> int:
        """Record that two keys are one; the id undoes it."""
        merge = Merge(id=self._take_id(), duplicate=duplicate, survivor=survivor)
        self.merges.append(merge)
        return merge.id

    def unmerge(self, merge_id: int) -> None:
        """Take one decision back."""
        self.merges = [merge for merge in self.merges if merge.id != merge_id]

    # --- shared --------------------------------------------------------------------------------------------

    def stale_evidence(self) -> tuple[dict[str, set[str]], dict[Triple, set[str]]]:
        """Keys that hand rows cite in no other version than old ones, by node and by edge as shown."""
        ends = resolutions(self.merges)
        nodes: dict[str, set[str]] = {}
        for key, rows in grouped(self.nodes, lambda row: end(row.key, ends)).items():
            nodes[key] = self._stale([row.cited for row in rows])
        edges: dict[Triple, set[str]] = {}
        for triple, stated in grouped(self.edges, lambda row: self._hand_triple(row, ends)).items():
            edges[triple] = self._stale([row.cited for row in stated])
        return ({k: v for k, v in nodes.items() if v}, {k: v for k, v in edges.items() if v})

    def _stale(self, cited: list[Cited]) -> set[str]:
        fresh = {key for one in cited for key, etag in one.items() if self.etags.get(key) == etag}
        return {key for one in cited for key in one} - fresh

    def _placed(self) -> list[Contribution]:
        """What names a node; the ends of hand edges do not count here."""
        return [one for one in all_contributions(self.ledger.values(), self.assertions()) if one.namespaces]

    def _struck(self, doomed: Doomed) -> "World":
        """The same without what is doomed. Items leave the ledger, hand rows fall as a whole."""
        told = self.assertions()
        return replace(
            self,
            ledger={key: struck(row, doomed) for key, row in self.ledger.items()},
            nodes=[row for row in self.nodes if not doomed.mention(hand_node(row, told))],
            edges=[
                row
                for row in self.edges
                if not doomed.observation(hand_edge(row, told))
                and not any(doomed.mention(hand_end(key, row)) for key in (row.source, row.target))
            ],
        )

    def _delete(self, doomed: Doomed) -> set[str]:
        """Strike it; the keys of the facts behind what went."""
        after = self._struck(doomed)
        behind = {key for key, row in self.ledger.items() if after.ledger[key] != row}
        behind |= {key for row in self.nodes if row not in after.nodes for key in row.cited}
        behind |= {key for row in self.edges if row not in after.edges for key in row.cited}
        self.ledger, self.nodes, self.edges = after.ledger, after.nodes, after.edges
        self._forget_namespaces()
        return behind

    def _take_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def _cite(self, evidence: Iterable[str]) -> dict[str, int | None]:
        return {key: self.etags.get(key) for key in evidence}

    def _renew_node(self, call: HandNode) -> None:
        self.nodes = [
            replace(row, cited=renewed(row.cited, call.cited)) if row.key == call.key else row for row in self.nodes
        ]

    def _renew_edge(self, call: HandEdge) -> None:
        self.edges = [
            replace(row, cited=renewed(row.cited, call.cited)) if edge_record(row) == edge_record(call) else row
            for row in self.edges
        ]

    def _hand_triple(self, row: HandEdge, ends: dict[str, str]) -> Triple:
        return end(row.source, ends), end(row.target, ends), keys.predicate_key(row.predicate)

    def _set_namespace(self, record: Record, agent: str, given: Namespace) -> None:
        if given is None or isinstance(given, str):
            self.namespaces[record, agent] = keys.namespace(given)

    def _forget_namespaces(self) -> None:
        """A value lives as long as its agent has a row on the record."""
        held: set[tuple[Record, str]] = {(("node", row.key), row.agent) for row in self.nodes}
        held |= {(edge_record(row), row.agent) for row in self.edges}
        self.namespaces = {key: value for key, value in self.namespaces.items() if key in held}


def identified(one: Contribution) -> Hashable:
    """What makes it the same contribution before and after."""
    return one.origin, one.key, one.position


def touching(nodes: Collection[str], ends: Mapping[str, str]) -> Doomed:
    """All that names these nodes, and every edge at them."""
    return Doomed(
        lambda one: end(one.key, ends) in nodes, lambda one: any(key in nodes for key in resolved(one, ends)[:2])
    )


def struck(row: LedgerRow, doomed: Doomed) -> LedgerRow:
    """A row without the items behind what is doomed; the end of an edge goes with its edge.

    Repeated, since an end that was listed is a mention of its own once its listing is gone.
    """
    while True:
        nodes = {one.position for one in listed_mentions(row) if doomed.mention(one)}
        edges = {(one.position - len(row.nodes)) // 2 for one in endpoint_mentions(row) if doomed.mention(one)}
        edges |= {one.position for one in statements(row) if doomed.observation(one)}
        if not nodes and not edges:
            return row
        row = replace(row, nodes=without(row.nodes, nodes), edges=without(row.edges, edges))


def without(items: tuple[Item | None, ...], places: Collection[int]) -> tuple[Item | None, ...]:
    """The items, with nothing at these places."""
    return tuple(None if place in places else item for place, item in enumerate(items))


def edge_record(row: HandEdge) -> EdgeRecord:
    """The edge as the row names it."""
    return "edge", row.source, row.target, keys.predicate_key(row.predicate)


def forms(row: HandNode) -> set[str]:
    """The forms that a hand row holds."""
    return {keys.form(text, row.identity) for text in (*row.aliases, row.name) if text.strip()}


def renewed(cited: Cited, call: Cited) -> dict[str, int | None]:
    """The etags of keys that a call names again are those of the call."""
    return {key: call.get(key, etag) for key, etag in cited.items()}


def without_key(rows: list[Row], scope_key: str) -> list[Row]:
    """The rows without a key that some of them cited; a row goes with its last key."""
    kept: list[Row] = []
    for row in rows:
        left = {key: etag for key, etag in row.cited.items() if key != scope_key}
        if left or not row.cited:
            kept.append(replace(row, cited=left))
    return kept
