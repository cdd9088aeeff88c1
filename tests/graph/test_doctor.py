"""The doctor names each fault that is planted, mends what is safe, and finds nothing where nothing is wrong."""

from __future__ import annotations

import pytest

from facts import open_fact_store
from facts.access import UNRESTRICTED
from facts.errors import InvalidArgument, Unavailable
from graph.cypher import CypherQuery
from graph.doctor import REBUILD, Finding, Level, examine, mend
from graph.rebuild import rebuild
from graph.store import open_graph_store
from graph.versions import version_complaint
from tests.graph.test_rebuild import WIPES, place, wipe
from tests.graph.upkeep_world import isle, shown, stored
from tests.graph.world import World

# What is planted, and the findings that name it (others may follow from it).
FAULTS = {
    "an AGE vertex is gone": (
        """DELETE FROM knowledge."GraphNode" WHERE properties::text LIKE '%isle:lone%'""",
        "wrong_vertices",
        "isle:lone",
    ),
    "an AGE vertex too many": (
        """INSERT INTO knowledge."GraphNode" VALUES (ag_catalog._graphid(3, 999999), '{"node_key": "ghost:x"}')""",
        "wrong_vertices",
        "ghost:x",
    ),
    "a property was changed": (
        """UPDATE knowledge."GraphNode" SET properties = '{"node_key": "isle:lone"}'
        WHERE properties::text LIKE '%isle:lone%'""",
        "wrong_vertices",
        "isle:lone",
    ),
    "an AGE edge is gone": (
        """DELETE FROM knowledge."REL" WHERE properties::text LIKE '%sees%'""",
        "wrong_age_edges",
        "see",
    ),
    "an AGE edge was turned": (
        """UPDATE knowledge."REL" SET start_id = end_id, end_id = start_id""",
        "wrong_age_edges",
        "see",
    ),
    "an AGE edge shows another confidence": (
        """UPDATE knowledge."REL"
        SET properties = replace(properties::text, '"confidence": 0.', '"confidence": 0.1')::ag_catalog.agtype""",
        "wrong_age_edges",
        "see",
    ),
    "an anchor is gone": (
        """DELETE FROM knowledge."Fact" WHERE properties::text LIKE '%shared:a"%'""",
        "wrong_anchors",
        "shared:a",
    ),
    "an anchor too many": (
        """INSERT INTO knowledge."Fact" (properties) VALUES ('{"scope_key": "shared:ghost"}')""",
        "wrong_anchors",
        "shared:ghost",
    ),
    "evidence is gone": ("""DELETE FROM knowledge."EVIDENCED_BY" """, "wrong_evidence", "isle:vega by shared:a"),
    "evidence is doubled": (
        """INSERT INTO knowledge."EVIDENCED_BY" (start_id, end_id) SELECT start_id, end_id FROM knowledge."EVIDENCED_BY" """,
        "wrong_evidence",
        "isle:vega by shared:a",
    ),
    "the catalogue has an old oid": (
        """SET LOCAL session_replication_role = replica; UPDATE ag_catalog.ag_graph SET graphid = 777777;
        UPDATE ag_catalog.ag_label SET graph = 777777""",
        "graph_oid",
        "777777",
    ),
    "a column was added": ("""ALTER TABLE knowledge."REL" ADD COLUMN weight int""", "altered_labels", "REL"),
    "row security was switched on": (
        """ALTER TABLE knowledge."GraphNode" ENABLE ROW LEVEL SECURITY""",
        "altered_labels",
        "GraphNode",
    ),
    "a source that nothing needs": (
        "INSERT INTO knowledge_registry.source (scope_key) VALUES ('shared:stray')",
        "unused_sources",
        "shared:stray",
    ),
    "an assertion that asserts nothing": (
        "INSERT INTO knowledge_registry.assertion (agent_id) VALUES ('nobody')",
        "empty_assertions",
        "nobody",
    ),
    "a lease on a fact that is gone": (
        """INSERT INTO pilotswarm_facts.crawl_leases (fact_id, etag, owner, leased_until) VALUES (4711, 1, 'x', now())""",
        "leases_without_fact",
        "4711",
    ),
    "a fact went past the triggers": (
        """SET LOCAL session_replication_role = replica; UPDATE pilotswarm_facts.facts SET last_crawled_at = NULL
        WHERE key = 'a'""",
        "miscounted",
        "0 pending and 0 of them deleted are kept, 1 and 0 are there",
    ),
    "a fact behind the graph is not pinned": (
        "UPDATE pilotswarm_facts.facts SET pinned = false WHERE key = 'a'",
        "unpinned",
        "shared:a",
    ),
    "AGE lost the graph": (WIPES["AGE's graph"], "graph_missing", "knowledge"),
    "a node row is gone": ("DELETE FROM knowledge_registry.node WHERE key = 'isle:lone'", "dangling_edges", "see"),
    "a mention points nowhere": (
        "UPDATE knowledge_registry.mention SET node_id = 999999 WHERE named_key = 'isle:lone'",
        "mentions_without_node",
        "isle:lone",
    ),
    "an edge row is gone": (
        "DELETE FROM knowledge_registry.edge WHERE predicate_key = 'see'",
        "statements_without_edge",
        "isle:ona see isle:lone",
    ),
    "an edge that nothing states": (
        "DELETE FROM knowledge_registry.observation WHERE predicate_key = 'see'",
        "unstated_edges",
        "isle:ona see isle:lone",
    ),
    "a node that nothing names": (
        "DELETE FROM knowledge_registry.mention WHERE named_key = 'isle:lone'",
        "unnamed_nodes",
        "isle:lone",
    ),
    "a redirect is gone": (
        "DELETE FROM knowledge_registry.redirect WHERE named_key = 'isle:rost'",
        "redirects",
        "isle:rost",
    ),
    "a mention stands at another node": (
        """UPDATE knowledge_registry.mention SET node_id = (SELECT id FROM knowledge_registry.node WHERE key = 'isle:ona')
        WHERE named_key = 'isle:lone'""",
        "misplaced_mentions",
        "isle:lone at isle:ona",
    ),
    "a statement is about another edge": (
        "UPDATE knowledge_registry.observation SET to_key = 'isle:vega' WHERE predicate_key = 'see'",
        "misplaced_statements",
        "see",
    ),
    "another spelling is shown": (
        "UPDATE knowledge_registry.surface SET spelling = 'Lonely' WHERE form = 'lone'",
        "wrong_surfaces",
        "isle:lone Lonely",
    ),
    "a surface of no node": (
        "INSERT INTO knowledge_registry.surface VALUES (999999, 'x', 'X', 'x', 1)",
        "wrong_surfaces",
        "(no node 999999) X",
    ),
    "another name is shown": (
        "UPDATE knowledge_registry.node SET name = 'Lonely' WHERE key = 'isle:lone'",
        "wrong_nodes",
        "isle:lone",
    ),
    "another confidence is kept": (
        "UPDATE knowledge_registry.edge SET confidence = confidence + 2e-9 WHERE predicate_key = 'see'",
        "edge_sums",
        "confidence is",
    ),
    "an observation too many is counted": (
        "UPDATE knowledge_registry.edge SET observations = observations + 1 WHERE predicate_key = 'see'",
        "edge_sums",
        "observations",
    ),
    "another writer is counted": (
        """UPDATE knowledge_registry.edge SET writers = '{"x": 1}' WHERE predicate_key = 'see'""",
        "edge_sums",
        "writers",
    ),
    "evidence of an edge is lost": (
        "UPDATE knowledge_registry.edge SET evidence = '{}' WHERE predicate_key = 'bridge_to'",
        "edge_sums",
        "evidence",
    ),
    "a row of a fact that the ledger lost": (
        "UPDATE knowledge_registry.source SET extraction = NULL WHERE scope_key = 'shared:a'",
        "unfounded_rows",
        "mention of isle:ona",
    ),
    "a mention of a fact is gone": (
        "DELETE FROM knowledge_registry.mention WHERE form = 'the-ona'",
        "ledger_rows",
        "shared:b: its mentions differ",
    ),
    "a ledger row was damaged": (
        """UPDATE knowledge_registry.source SET extraction = '{"nodes": 3}' WHERE scope_key = 'shared:b'""",
        "ledger_rows",
        "shared:b",
    ),
    "the ledger's fact is gone": (
        "DELETE FROM pilotswarm_facts.facts WHERE scope_key = 'shared:a'",
        "ledger_without_fact",
        "shared:a",
    ),
}


def faults(world: World) -> dict[str, Finding]:
    return {each.check: each for each in examine(place(world)) if each.level is Level.FAULT}


def test_evidence_removed_within_a_namespace_leaves_no_source_that_nothing_needs(world: World) -> None:
    world.node("Ship", "Aurora", world.store("a"), namespace="sea")
    world.node("Ship", "Aurora", "shared:never-stored", namespace="sea")
    world.graph.remove_evidence("shared:never-stored", namespace="sea")
    assert not examine(place(world))


@pytest.mark.parametrize("confidence", (0.0, -0.0, 1e-320))
def test_a_confidence_of_nothing_is_zero_in_every_row(world: World, confidence: float) -> None:
    for name in ("Aurora", "Brig"):
        world.node("Ship", name)
    world.edge("ship:aurora", "follows", "ship:brig", confidence=confidence)
    assert not examine(place(world))


def test_a_sound_graph_has_no_faults_and_a_cited_key_without_a_fact_is_a_notice(told: World) -> None:
    found = examine(place(told))
    assert [(each.check, each.level, each.count, each.examples) for each in found] == [
        ("cited_unknown", Level.NOTICE, 1, ("shared:never-stored",))
    ]


@pytest.mark.parametrize("planted", FAULTS)
def test_a_planted_fault_is_named_and_mended_or_its_remedy_works(told: World, planted: str) -> None:
    views, tables = shown(told), stored(told)
    script, check, example = FAULTS[planted]
    wipe(told, script)
    found = faults(told)
    assert check in found
    assert any(example in each for each in found[check].examples), found[check]
    mend(place(told))
    left = faults(told)
    assert not any("--fix" in each.remedy for each in left.values()), left
    if any(each.remedy == REBUILD for each in left.values()):
        rebuild(place(told))
    irreparable = {"altered_labels", "ledger_without_fact"}
    if planted in LOSSES or check in irreparable:
        assert not {each for each in faults(told) if each not in irreparable}
        return
    assert not faults(told)
    assert shown(told) == views
    assert stored(told) == tables


# What only the lost row held: an assertion's own rows, the ledger's extraction.
LOSSES = {
    "an edge that nothing states",
    "a node that nothing names",
    "a statement is about another edge",
    "a row of a fact that the ledger lost",
    "a ledger row was damaged",
    "a mention of a fact is gone",
}


def test_cypher_works_again_after_the_oid_was_repaired(told: World) -> None:
    wipe(told, FAULTS["the catalogue has an old oid"][0])
    query = CypherQuery(cypher="MATCH (n:GraphNode) RETURN count(n)")
    # AGE remembers graphs for as long as a connection lives.
    with open_fact_store(told.facts.db.url) as facts, open_graph_store(facts=facts) as graph:
        with pytest.raises(InvalidArgument, match="does not exist"):
            graph.query(query, UNRESTRICTED)
        assert mend(place(World(facts, graph))) == ("graph_oid",)
    with open_fact_store(told.facts.db.url) as facts, open_graph_store(facts=facts) as graph:
        world = World(facts, graph)
        assert graph.query(query, UNRESTRICTED).rows[0][0] == len(world.keys())
        world.harvest("z", isle("Fresh"))
        assert not faults(world)


def test_a_hand_acknowledgement_of_another_version_is_a_notice(told: World) -> None:
    told.store("a", "edited")
    wipe(told, "UPDATE pilotswarm_facts.facts SET last_crawled_at = now() WHERE key = 'a'")
    notices = {each.check: each.examples for each in examine(place(told)) if each.level is Level.NOTICE}
    assert notices["other_versions"] == ("shared:a",)
    assert not faults(told)


def test_versions_that_differ_are_both_in_the_text() -> None:
    assert version_complaint(("1.7.0", "1.7.0")) is None
    assert "1.8.0" in str(version_complaint(("1.7.0", "1.8.0")))
    assert "1.7.0" in str(version_complaint(("1.7.0", "1.8.0")))
    assert "not installed" in str(version_complaint(None))
    assert "no files" in str(version_complaint(("1.7.0", None)))
    assert "at least 1.7" in str(version_complaint(("1.6.0", "1.6.0")))


def test_a_graph_of_two_versions_is_not_opened(world: World) -> None:
    wipe(world, "UPDATE pg_catalog.pg_extension SET extversion = '1.6.9' WHERE extname = 'age'")
    with open_fact_store(world.facts.db.url) as facts, pytest.raises(Unavailable, match=r"1\.7.*1\.6\.9"):
        open_graph_store(facts=facts)
    assert "age_version" in faults(world)


def test_a_deleted_node_leaves_no_orphan_in_any_table_and_comes_back_with_new_evidence_alone(world: World) -> None:
    world.harvest("f1", isle("Acme", "Old alias"))
    assert world.graph.delete_node("isle:acme", requeue=False)
    world.harvest("f9", isle("Acme"))
    node = world.nodes().nodes[0]
    assert (node.aliases, node.evidence) == (("Acme",), ("shared:f9",))
    assert not examine(place(world))
