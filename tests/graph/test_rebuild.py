"""A wiped graph is made again as it was, from the ledger, the hand assertions and the merges."""

from __future__ import annotations

import pytest

from facts import open_fact_store
from facts.access import UNRESTRICTED
from facts.errors import Unavailable
from graph.cypher import CypherQuery
from graph.rebuild import Place, rebuild
from graph.store import open_graph_store
from tests.graph.upkeep_world import AGENT, edge, isle, shown, stored
from tests.graph.world import World

WIPES = {
    "nothing": "SELECT 1",
    "AGE's graph": "SET LOCAL search_path TO pg_catalog, ag_catalog; SELECT ag_catalog.drop_graph('knowledge', true)",
    "every derived row": """TRUNCATE knowledge_registry.node, knowledge_registry.edge, knowledge_registry.surface,
        knowledge_registry.redirect; DELETE FROM knowledge_registry.mention WHERE origin > 0;
        DELETE FROM knowledge_registry.observation WHERE origin > 0; DELETE FROM knowledge_registry.merge_epoch""",
    "AGE's rows": 'TRUNCATE knowledge."GraphNode", knowledge."REL", knowledge."Fact", knowledge."EVIDENCED_BY"',
}


def place(world: World) -> Place:
    return Place(db=world.facts.db, facts=world.facts.tables, graph="knowledge", registry="knowledge_registry")


def wipe(world: World, script: str) -> None:
    with world.facts.db.transaction() as conn:
        for statement in script.split(";"):
            conn.execute(statement.encode())


@pytest.mark.parametrize("lost", WIPES)
def test_a_wiped_graph_is_made_again_as_it_was(told: World, lost: str) -> None:
    views, tables = shown(told), stored(told)
    assert len(tables["EVIDENCED_BY"]) > 8
    wipe(told, WIPES[lost])
    done = rebuild(place(told))
    if lost == "every derived row":
        # The order in which rows of facts came is gone with them.
        attached = {"mention", "observation"}
        assert {name: [row[:-1] for row in rows] for name, rows in stored(told).items() if name in attached} == {
            name: [row[:-1] for row in tables[name]] for name in attached
        }
        tables = {name: rows for name, rows in tables.items() if name not in attached}
    assert {name: rows for name, rows in stored(told).items() if name in tables} == tables
    assert shown(told) == views
    assert (done.facts, done.nodes, done.edges) == (5, len(tables["GraphNode"]), len(tables["REL"]))
    assert told.facts.queue_statistics().pending == 0


def test_new_writes_and_cypher_work_on_a_graph_made_again(told: World) -> None:
    wipe(told, WIPES["AGE's graph"])
    with open_fact_store(told.facts.db.url) as facts:
        with pytest.raises(Unavailable, match="harvester rebuild"):
            open_graph_store(facts=facts)
        rebuild(place(told))
        with open_graph_store(facts=facts) as graph:
            world = World(facts, graph)
            world.harvest("a", isle("Ona"), edge("Ona", "bridge to", "Nova"))
            assert world.keys(name_like="nova") == ["isle:nova"]
            world.graph.unmerge_nodes(3, AGENT)
            cypher = "MATCH (n:GraphNode)-[r:REL]->(m) RETURN n.node_key, m.node_key"
            found = graph.query(CypherQuery(cypher=cypher), UNRESTRICTED)
            assert ("isle:ona", "isle:nova") in found.rows


def test_a_recreated_graph_has_the_tables_and_indexes_of_a_migrated_one(told: World) -> None:
    look = """SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'knowledge' ORDER BY 2"""
    labels = "SELECT name, id, kind, relation::text FROM ag_catalog.ag_label ORDER BY id"
    with told.facts.db.transaction() as conn:
        before = [conn.execute(query.encode()).fetchall() for query in (look, labels)]
    wipe(told, WIPES["AGE's graph"])
    rebuild(place(told))
    with told.facts.db.transaction() as conn:
        assert [conn.execute(query.encode()).fetchall() for query in (look, labels)] == before


def test_by_requeue_the_facts_are_extracted_anew_and_hand_assertions_stand(told: World) -> None:
    wipe(told, WIPES["AGE's graph"])
    done = rebuild(place(told), by_requeue=True)
    assert (done.facts, done.requeued) == (0, 5)
    assert told.facts.queue_statistics().pending == 5
    assert [edge.predicate for edge in told.edges().edges] == ["bridge to", "sees"]


def test_a_ledger_row_that_cannot_be_read_is_named_and_requeued(told: World) -> None:
    wipe(told, """UPDATE knowledge_registry.source SET extraction = '{"nodes": 3}' WHERE scope_key = 'shared:b'""")
    done = rebuild(place(told))
    assert (done.unreadable, done.requeued, done.facts) == (("shared:b",), 1, 4)
    assert told.facts.queue_statistics().pending == 1
    told.harvest("b", isle("Ona"))
    assert "shared:b" in told.nodes(name_like="ona").nodes[0].evidence
