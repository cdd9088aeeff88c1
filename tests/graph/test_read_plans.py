"""What the hot reads cost, as plans: index probes, rows looked at. Sizes are such that a scan would show."""

from __future__ import annotations

import json

import pytest
from psycopg import sql

from facts.access import NOBODY
from graph.columns import numbers
from graph.keys import form
from graph.queries import NodeQuery
from graph.reading import Reading
from graph.search import node_filters
from tests.graph.world import reader

SIZE = 20_000


@pytest.fixture
def crowd(world):
    """Many nodes of one kind, all linked to one hub; written past the write path, which is not what is tested here."""
    world.node("Wheel", "Hub")
    with world.graph.db.transaction() as conn:
        conn.execute(
            """
            WITH spoke AS (
                INSERT INTO knowledge_registry.node (key, kind, name, aliases, namespaces, created_by)
                SELECT 'spoke:' || lpad(n::text, 6, '0'), 'Spoke', 'Spoke ' || n, ARRAY['Spoke ' || n], ARRAY[''], 'test'
                FROM generate_series(1, %(size)s) AS n RETURNING id, key, name
            ), shown AS (
                INSERT INTO knowledge_registry.surface (node_id, form, spelling, folded, rank)
                SELECT id, 'spoke-' || ltrim(split_part(key, ':', 2), '0'), name, lower(name), 1 FROM spoke
            )
            INSERT INTO knowledge_registry.edge (source_id, target_id, predicate_key, predicate, shown_rank, confidence,
                observations, certain, weight, hand, writers, namespaces, evidence)
            SELECT hub.id, spoke.id, 'turn', 'turns', 1, 0.5, 1, 0, 0, 0, '{"test": 1}', '{"": 1}', '{}'
            FROM spoke, knowledge_registry.node hub WHERE hub.key = 'wheel:hub'
            """,
            {"size": SIZE},
        )
        conn.execute("ANALYZE knowledge_registry.edge, knowledge_registry.node, knowledge_registry.surface")
    return world


def plan_of(world, name, parameters, access=NOBODY):
    """The executed plan of a named read, flattened to its nodes."""
    with world.graph.db.transaction() as conn:
        acl = Reading(
            conn=conn,
            facts=world.facts.tables,
            tables=world.graph.tables,
            access=access,
            rules=world.facts.settings.reserved,
        ).acl
        statement = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) ") + getattr(world.graph.tables.reads, name)
        ((plans,),) = conn.execute(statement, {**parameters, **acl}, prepare=False).fetchall()
    return list(_flat((json.loads(plans) if isinstance(plans, str) else plans)[0]["Plan"]))


def _flat(node):
    yield node
    for child in node.get("Plans", ()):
        yield from _flat(child)


def rows_looked_at(plan):
    return sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in plan
        if "Relation Name" in node
    )


def scanned(plan):
    """Tables that are read from end to end; those of a few rows do not count."""
    return {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan" and node["Actual Rows"] > 100}


def test_a_node_is_found_by_its_key_with_one_index_probe(crowd):
    plan = plan_of(crowd, "node_ids", {"keys": '["spoke:000777"]'})
    assert {node.get("Index Name") for node in plan} >= {"node_key_once"}
    assert (scanned(plan), rows_looked_at(plan)) == (set(), 1)
    assert [node.node_key for node in crowd.graph.resolve("spoke:000777")] == ["spoke:000777"]


def test_a_node_is_found_by_a_name_or_alias_with_one_index_probe(crowd):
    plan = plan_of(crowd, "nodes_by_form", {"form": form("SPOKE 777"), "kind": None, "limit": 10})
    assert {node.get("Index Name") for node in plan} >= {"surface_form"}
    assert (scanned(plan), rows_looked_at(plan)) == (set(), 2)
    assert [node.node_key for node in crowd.graph.resolve("Spoke: 777!")] == ["spoke:000777"]


def test_a_page_of_a_kind_reads_a_page_of_keys(crowd):
    plan = plan_of(crowd, "nodes_by_key", node_filters(NodeQuery(kind="spoke"), 50))
    assert (scanned(plan), rows_looked_at(plan)) == (set(), 51)


def test_the_edges_of_one_end_are_read_by_its_index(crowd):
    first_page = {"after_from": None, "after_predicate": None, "after_to": None, "limit": 51}
    anywhere = {"space": None, "space_hint": None, "lowest": 0.0, "predicate_key": None}
    (end,) = _ids(crowd, "spoke:000777")
    plan = plan_of(crowd, "search_edges", {"source": None, "target": end, **anywhere, **first_page})
    assert not scanned(plan)
    assert rows_looked_at(plan) <= 4


def _ids(world, *keys):
    with world.graph.db.transaction() as conn:
        rows = conn.execute("SELECT id FROM knowledge_registry.node WHERE key = ANY (%s)", (list(keys),)).fetchall()
    return [number for (number,) in rows]


def test_the_evidence_of_a_hub_is_read_as_far_as_it_is_shown(world):
    keys = [world.store(f"f/{number}") for number in range(256)]
    for start in range(0, 256, 64):
        world.node("Wheel", "Hub", *keys[start : start + 64])
    with world.graph.db.transaction() as conn:
        conn.execute("ANALYZE knowledge_registry.mention, knowledge_registry.source, knowledge_registry.citation")
    plan = plan_of(world, "node_evidence", {"ids": numbers(_ids(world, "wheel:hub")), "most": 11}, reader("s1"))
    sources = sum(node["Actual Rows"] * node["Actual Loops"] for node in plan if node.get("Relation Name") == "source")
    assert sources <= 11 + 64


def test_a_name_that_is_borne_by_many_leads_to_all_of_them(world):
    world.node("Ship", "Aurora", aliases=["Dawn"])
    world.node("Song", "Dawn")
    assert [node.node_key for node in world.graph.resolve(" dawn ")] == ["ship:aurora", "song:dawn"]
    assert [node.node_key for node in world.graph.resolve("DAWN", kind="Songs")] == []
    assert [node.node_key for node in world.graph.resolve("DAWN", kind="song")] == ["song:dawn"]
    assert world.graph.resolve("  ") == ()
