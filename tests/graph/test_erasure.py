"""Erased words are nowhere: not in facts, graph, ledger, merge records, errors."""

from __future__ import annotations

import pytest

from facts import DeleteFactInput, StoreFactInput
from facts.access import Writer
from graph.erasure import erase_facts, erase_tombstones
from graph.model import Author, EdgeMention, EdgeUpsert, Incorporation, NodeMention, NodeRef, NodeUpsert, Provenance
from tests.graph.world import World

AGENT = Author(agent_id="scribe")


def everything(world: World) -> str:
    """Every row of every table of ours, AGE's label tables included, as text."""
    with world.facts.db.transaction() as conn:
        tables = conn.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        return "\n".join(
            str(row[0])
            for schema, table in tables
            for row in conn.execute(f'SELECT t::text FROM "{schema}"."{table}" AS t'.encode()).fetchall()
        )


def harvest(world: World, key: str, nodes: list[str], *, value: object = 1) -> None:
    stored = world.facts.store(StoreFactInput(key=key, value=value, shared=True), Writer(session_id="s1", agent_id="w"))
    mentions = [NodeMention(kind="topic", name=name, aliases=(f"{name} alias",)) for name in nodes]
    edges = [
        EdgeMention(
            source=NodeRef(kind="topic", name=nodes[0]),
            target=NodeRef(kind="topic", name=name),
            predicate=f"near {name}",
        )
        for name in nodes[1:]
    ]
    [outcome] = world.graph.incorporate(
        [Incorporation(scope_key=stored.scope_key, etag=stored.etag, nodes=mentions, edges=edges)],
        Provenance(writer="triples"),
    )
    assert outcome.outcome == "acked"


@pytest.fixture
def gossip(world: World) -> World:
    harvest(world, "plain/1", ["Harbour", "Tide"])
    harvest(world, "canary/1", ["Harbour", "Canary One", "Canary Two"], value={"quote": "canary"})
    harvest(world, "canary/2", ["Tide", "Canary Two"])
    world.graph.upsert_node(NodeUpsert(kind="topic", name="Canary Hand", evidence=("shared:canary/1",)), AGENT)
    world.graph.upsert_edge(
        EdgeUpsert(
            from_key="topic:harbour", to_key="topic:tide", predicate="canary said", evidence=("shared:canary/1",)
        ),
        AGENT,
    )
    world.graph.merge_nodes("topic:canary-one", "topic:canary-two", "the canary told me", AGENT)
    undone = world.graph.merge_nodes("topic:canary-hand", "topic:harbour", "canary again", AGENT)
    world.graph.unmerge_nodes(undone.merge_id, AGENT)
    return world


def test_erased_facts_leave_no_word_in_any_table(gossip: World) -> None:
    assert "anary" in everything(gossip)
    erased = erase_facts(gossip.graph, ["shared:canary/1", "shared:canary/2"])
    assert (erased.erased, erased.merges, erased.left) == (2, 2, ())
    assert "anary" not in everything(gossip)
    assert gossip.facts.inspect("shared:plain/1") is not None
    assert gossip.facts.queue_statistics().pending == 0


def test_erasing_tombstones_needs_no_harvest(gossip: World) -> None:
    gossip.facts.delete(DeleteFactInput(key="canary/*", pattern=True, shared=True))
    assert erase_tombstones(gossip.graph).erased == 2
    assert "anary" not in everything(gossip)


def test_a_merge_into_a_name_that_only_erased_facts_gave_is_taken_back(world: World) -> None:
    harvest(world, "plain/1", ["Harbour", "Tide"])
    harvest(world, "canary/1", ["Canary Bay"])
    world.graph.merge_nodes("topic:harbour", "topic:canary-bay", "same place", AGENT)
    erase_facts(world.graph, ["shared:canary/1"])
    assert "anary" not in everything(world)
    assert "topic:harbour" in everything(world)


def test_a_merge_of_names_that_others_give_as_well_stands(world: World) -> None:
    harvest(world, "plain/1", ["Harbour", "Tide"])
    harvest(world, "canary/1", ["Harbour", "Tide"])
    world.graph.merge_nodes("topic:tide", "topic:harbour", "same place", AGENT)
    assert erase_facts(world.graph, ["shared:canary/1"]).merges == 0
