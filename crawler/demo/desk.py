"""The demo's hands: the same tools that agents call, as a facts-manager, who sees all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from crawler.caller import Caller
from crawler.demo.fold import Belief, Knowledge
from crawler.picture.page import Picture, PicturedEdge, PicturedNode
from crawler.registry import Desk, call_tool
from crawler.sources.contract import Source, SourceFact
from crawler.wiring import Stores
from facts.access import Role, Writer
from facts.inputs import StoreFactInput
from facts.receipts import ClaimedFact

BATCH = 500
PAGE = 500
# Whole pages, whatever the values weigh: the budget is there for agents.
BUDGET = 1 << 30
DEMO = Caller(role=Role.FACTS_MANAGER, agent_id="demo")
SCOUT = Caller(role=Role.AGENT, agent_id="scout")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """The graph as the tools show it, at one moment."""

    nodes: tuple[dict[str, Any], ...]
    edges: tuple[dict[str, Any], ...]

    @property
    def names(self) -> dict[str, str]:
        """How node keys and predicate keys are spelled."""
        spelled = {node["nodeKey"]: node["name"] for node in self.nodes}
        return spelled | {edge["predicateKey"]: edge["predicate"] for edge in self.edges}

    def knowledge(self) -> Knowledge:
        return Knowledge(
            nodes=frozenset(node["nodeKey"] for node in self.nodes),
            edges={
                (edge["fromKey"], edge["predicateKey"], edge["toKey"]): Belief(
                    confidence=edge["confidence"], evidence=frozenset(edge["evidence"])
                )
                for edge in self.edges
            },
        )

    def picture(self) -> Picture:
        return Picture(
            nodes=tuple(
                PicturedNode(
                    key=node["nodeKey"], kind=node["kind"], name=node["name"], aliases=tuple(node.get("aliases", ()))
                )
                for node in self.nodes
            ),
            edges=tuple(
                PicturedEdge(
                    source=edge["fromKey"],
                    target=edge["toKey"],
                    predicate=edge["predicate"],
                    confidence=edge["confidence"],
                    evidence=tuple(edge["evidence"]),
                )
                for edge in self.edges
            ),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoDesk:
    """One open pair of stores and what the story does with them."""

    stores: Stores
    caller: Caller = DEMO

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        desk = Desk(facts=self.stores.facts, graph_store=self.stores.graph, caller=self.caller, budget=BUDGET)
        return call_tool(tool, arguments, desk)

    def pages(self, tool: str, field: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """Every row of a reading tool, page after page."""
        cursor: dict[str, Any] = {}
        while True:
            answer = self.call(tool, limit=PAGE, **arguments, **cursor)
            yield from answer[field]
            if not answer.get("cursor"):
                return
            cursor = {"cursor": answer["cursor"]}

    def ingest(self, source: Source) -> int:
        """Store what a source has, in batches; the number of facts."""
        writer = Writer(agent_id=f"ingest:{source.name}", role=Role.FACTS_MANAGER)
        items = (item for item in source.items(lambda _keys: set()) if isinstance(item, SourceFact))
        stored = 0
        while batch := list(islice(items, BATCH)):
            self.stores.facts.store(
                [StoreFactInput(key=each.key, value=each.value, tags=each.tags, shared=True) for each in batch], writer
            )
            stored += len(batch)
        return stored

    def live_facts(self) -> list[ClaimedFact]:
        """Every live fact, as an extractor takes them."""
        return [
            ClaimedFact(
                fact_id=0,
                scope_key=row["scopeKey"],
                key=row["key"],
                value=row["value"],
                etag=int(row["etag"]),
                deleted=False,
                session_id=row.get("sessionId"),
                agent_id=row.get("agentId"),
                shared=row["shared"],
                tags=tuple(row["tags"]),
                attempts=0,
            )
            for row in self.pages("read_facts", "facts", scope="all")
        ]

    def look(self) -> Sight:
        return Sight(
            nodes=tuple(self.pages("graph_search_nodes", "nodes")),
            edges=tuple(self.pages("graph_search_edges", "edges")),
        )
