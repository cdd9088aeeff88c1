"""What agents do by hand: assert, merge, delete. Each act does it, and says what the model makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from graph.model import Author, EdgeUpsert, NodeUpsert
from tests.fold.acts import Act, Product
from tests.fold.state import State
from tests.fold.words import namespace_argument
from tests.oracle import keys
from tests.oracle.fold import end, resolutions
from tests.oracle.keys import Identity
from tests.oracle.model import Namespace

MERGE_OF = "SELECT id FROM {}.merge WHERE from_key = %s AND undone_at IS NULL"


def cited(state: State, evidence: Sequence[str]) -> bool:
    """Pin what a call cites; False when a tombstone is among it, which is refused."""
    if any(key in state.facts and not state.facts[key].alive for key in evidence):
        return False
    for key in evidence:
        state.pin(key)
    return True


@dataclass(frozen=True, kw_only=True)
class UpsertNode(Act):
    """An agent asserts a node."""

    agent: str
    kind: str
    name: str
    aliases: tuple[str, ...]
    identity: Identity
    namespace: Namespace
    evidence: tuple[str, ...]

    def do(self, product: Product) -> bool:
        asked = NodeUpsert(
            kind=self.kind,
            name=self.name,
            aliases=self.aliases,
            identity=self.identity,
            namespace=namespace_argument(self.namespace),
            evidence=self.evidence,
        )
        return product.graph.upsert_node(asked, Author(agent_id=self.agent)).created

    def expect(self, state: State) -> bool | str:
        if not cited(state, self.evidence):
            return "conflict"
        return state.world.upsert_node(
            self.agent,
            self.kind,
            self.name,
            aliases=self.aliases,
            identity=self.identity,
            namespace=self.namespace,
            evidence=self.evidence,
        )


@dataclass(frozen=True, kw_only=True)
class UpsertEdge(Act):
    """An agent asserts an edge between nodes that it has seen."""

    agent: str
    source: str
    target: str
    predicate: str
    confidence: float
    namespace: Namespace
    evidence: tuple[str, ...]

    def do(self, product: Product) -> bool:
        asked = EdgeUpsert(
            from_key=self.source,
            to_key=self.target,
            predicate=self.predicate,
            confidence=self.confidence,
            namespace=namespace_argument(self.namespace),
            evidence=self.evidence,
        )
        edge = product.graph.upsert_edge(asked, Author(agent_id=self.agent))
        return edge.created or edge.reinforced

    def expect(self, state: State) -> bool | str:
        ends = resolutions(state.world.merges)
        source, target = end(self.source, ends), end(self.target, ends)
        graph = state.world.graph()
        refused = state.copy()
        if not cited(refused, self.evidence):
            return "conflict"
        if source == target:
            return "invalid_argument"
        if source not in graph or target not in graph:
            return "not_found"
        cited(state, self.evidence)
        return state.world.upsert_edge(
            self.agent,
            self.source,
            self.target,
            self.predicate,
            confidence=self.confidence,
            namespace=self.namespace,
            evidence=self.evidence,
        )


@dataclass(frozen=True, kw_only=True)
class MergeNodes(Act):
    """An agent records that two keys are one."""

    duplicate: str
    survivor: str

    def do(self, product: Product) -> str:
        product.graph.merge_nodes(self.duplicate, self.survivor, "the same", Author(agent_id="ann"))
        return "merged"

    def expect(self, state: State) -> str:
        ends, graph = resolutions(state.world.merges), state.world.graph()
        duplicate, survivor = end(self.duplicate, ends), end(self.survivor, ends)
        if duplicate == survivor:
            return "invalid_argument"
        if duplicate not in graph or survivor not in graph:
            return "not_found"
        state.world.merge(duplicate, survivor)
        return "merged"


@dataclass(frozen=True, kw_only=True)
class UnmergeNodes(Act):
    """An agent takes the standing decision on a key back."""

    duplicate: str

    def do(self, product: Product) -> str:
        query = sql.SQL(MERGE_OF).format(sql.Identifier(product.graph.tables.registry))
        row = product.facts.db.run(lambda connection: connection.execute(query, [self.duplicate]).fetchone())
        assert row is not None, f"{self.duplicate} is not merged"
        product.graph.unmerge_nodes(row[0], Author(agent_id="ann"))
        return "taken back"

    def expect(self, state: State) -> str:
        merge = next(merge for merge in state.world.merges if merge.duplicate == self.duplicate)
        state.world.unmerge(merge.id)
        return "taken back"


@dataclass(frozen=True, kw_only=True)
class DeleteNode(Act):
    """A node with its edges; whether there was one."""

    key: str
    requeue: bool

    def do(self, product: Product) -> bool:
        return product.graph.delete_node(self.key, requeue=self.requeue)

    def expect(self, state: State) -> bool:
        return deleted(state, state.world.delete_node(self.key), requeue=self.requeue)


@dataclass(frozen=True, kw_only=True)
class DeleteEdge(Act):
    """An edge, whoever stated it."""

    source: str
    target: str
    predicate: str
    requeue: bool

    def do(self, product: Product) -> bool:
        return product.graph.delete_edge(self.source, self.target, self.predicate, requeue=self.requeue)

    def expect(self, state: State) -> bool:
        behind = state.world.delete_edge(self.source, self.target, self.predicate)
        return deleted(state, behind, requeue=self.requeue)


@dataclass(frozen=True, kw_only=True)
class DeleteNamespace(Act):
    """Every contribution in a namespace."""

    namespace: str
    requeue: bool

    def do(self, product: Product) -> None:
        product.graph.delete_namespace(self.namespace, requeue=self.requeue)

    def expect(self, state: State) -> None:
        deleted(state, state.world.delete_namespace(self.namespace), requeue=self.requeue)


@dataclass(frozen=True, kw_only=True)
class RemoveEvidence(Act):
    """All that stands on one fact."""

    scope_key: str
    requeue: bool

    def do(self, product: Product) -> None:
        product.graph.remove_evidence(self.scope_key, requeue=self.requeue)

    def expect(self, state: State) -> None:
        before = state.copy().world
        state.world.remove_evidence(self.scope_key)
        row = before.ledger.get(self.scope_key)
        said = row is not None and any(item is not None for item in (*row.nodes, *row.edges))
        went = said or (before.nodes, before.edges) != (state.world.nodes, state.world.edges)
        deleted(state, {self.scope_key} if went else set(), requeue=self.requeue)
        state.unpin(self.scope_key)


def deleted(state: State, behind: set[str] | None, *, requeue: bool) -> bool:
    """What a deletion does to the facts behind what went."""
    if requeue:
        state.requeue(behind or set())
    return behind is not None


def edge_keys(state: State) -> list[tuple[str, str, str]]:
    """The edges that there are."""
    return sorted(state.world.graph().edges(keys=True))


def node_keys(state: State) -> list[str]:
    """The nodes that there are, and the keys that were merged away."""
    return sorted({*state.world.graph().nodes, *(merge.duplicate for merge in state.world.merges)})


def spaces(state: State) -> list[str]:
    """Namespaces that are named, in a row."""
    named = {space for _, data in state.world.graph().nodes(data=True) for space in data["namespaces"]}
    named |= {space for *_, data in state.world.graph().edges(data=True) for space in data["namespaces"]}
    return sorted(keys.namespace(space) or "" for space in named if space) or ["corpus/none"]
