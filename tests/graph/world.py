"""Short words for tests of the graph: assert by hand, harvest one fact, read back what matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facts import StoreFactInput
from facts.access import UNRESTRICTED, AccessContext, Writer
from graph.model import Author, EdgeMention, EdgeUpsert, Incorporation, NodeMention, NodeUpsert, Provenance
from graph.queries import EdgeQuery, NeighbourhoodQuery, NodeQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from facts import FactStore
    from graph.store import GraphStore
    from graph.views import EdgePage, Neighbourhood, NodePage


def reader(session: str | None = None, *tree: str) -> AccessContext:
    return AccessContext(reader_session_id=session, granted_session_ids=frozenset(tree))


@dataclass(frozen=True)
class World:
    facts: FactStore
    graph: GraphStore

    def node(self, kind: str, name: str, *evidence: str, session: str | None = None, **more: Any) -> str:
        author = Author(agent_id=more.pop("agent", "tester"), session_id=session)
        asked = NodeUpsert(kind=kind, name=name, evidence=evidence, **more)
        return self.graph.upsert_node(asked, author).node_key

    def edge(
        self, source: str, predicate: str, target: str, *evidence: str, session: str | None = None, **more: Any
    ) -> None:
        author = Author(agent_id=more.pop("agent", "tester"), session_id=session)
        self.graph.upsert_edge(
            EdgeUpsert(from_key=source, predicate=predicate, to_key=target, evidence=evidence, **more), author
        )

    def ring(self, size: int) -> list[str]:
        keys = [self.node("Bead", f"{number:03d}") for number in range(size)]
        for number, key in enumerate(keys):
            self.edge(key, "next", keys[(number + 1) % size])
        return keys

    def store(self, key: str, value: object = 1, *, session: str | None = None) -> str:
        stored = self.facts.store(
            StoreFactInput(key=key, value=value, shared=session is None), Writer(session_id=session)
        )
        return stored.scope_key

    def harvest(
        self, key: str, *said: NodeMention | EdgeMention, session: str | None = None, writer: str = "triples"
    ) -> str:
        """Store a fact of a new value and incorporate what it says."""
        before = self.facts.inspect(key if session is None else f"session:{session}:{key}")
        scope_key = self.store(key, [repr(said), before and before.etag], session=session)
        fact = self.facts.inspect(scope_key)
        assert fact is not None
        item = Incorporation(
            scope_key=scope_key,
            etag=fact.etag,
            nodes=[each for each in said if isinstance(each, NodeMention)],
            edges=[each for each in said if isinstance(each, EdgeMention)],
        )
        (outcome,) = self.graph.incorporate([item], Provenance(writer=writer))
        assert outcome.outcome == "acked", outcome
        return scope_key

    def nodes(self, access: AccessContext = UNRESTRICTED, **asked: Any) -> NodePage:
        return self.graph.search_nodes(NodeQuery(**asked), access)

    def keys(self, access: AccessContext = UNRESTRICTED, **asked: Any) -> list[str]:
        return [node.node_key for node in self.nodes(access, **asked).nodes]

    def edges(self, access: AccessContext = UNRESTRICTED, **asked: Any) -> EdgePage:
        return self.graph.search_edges(EdgeQuery(**asked), access)

    def triples(self, access: AccessContext = UNRESTRICTED, **asked: Any) -> list[str]:
        return [f"{e.from_key} {e.predicate_key} {e.to_key}" for e in self.edges(access, **asked).edges]

    def near(self, key: str, access: AccessContext = UNRESTRICTED, **asked: Any) -> Neighbourhood:
        return self.graph.neighbourhood(NeighbourhoodQuery(node_key=key, **asked), access)

    def near_keys(self, key: str, access: AccessContext = UNRESTRICTED, **asked: Any) -> list[str]:
        return [node.node_key for node in self.near(key, access, **asked).nodes]


def walk_pages(fetch: Any, *, items: str, most: int = 100) -> list[Sequence[Any]]:
    """Every page of a walk by cursor."""
    pages, cursor = [], None
    for _ in range(most):
        page = fetch(cursor)
        pages.append(getattr(page, items))
        cursor = page.cursor
        if cursor is None:
            return pages
    raise AssertionError("the walk does not end")
