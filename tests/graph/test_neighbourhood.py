from __future__ import annotations

from itertools import combinations

import pytest

from facts.errors import InvalidArgument
from graph.model import Author, EdgeMention, NodeRef
from graph.queries import NeighbourhoodQuery
from graph.walk import MOST_EDGES_WALKED
from tests.graph.world import reader


def islands(world):
    ona, rost, vega, lone = (world.node("Isle", name) for name in ("Ona", "Rost", "Vega", "Lone"))
    world.edge(ona, "bridge", rost)
    world.edge(vega, "ferry", rost)
    return ona, rost, vega, lone


def edges_of(found):
    return [f"{edge.from_key} -[{edge.predicate}]-> {edge.to_key}" for edge in found.edges]


def spokes(world, hub, count):
    """Many edges from one node, written past the write path, which is not what is tested here."""
    with world.graph.db.transaction() as conn:
        conn.execute(
            """
            WITH hub AS (SELECT id FROM knowledge_registry.node WHERE key = %(hub)s), spoke AS (
                INSERT INTO knowledge_registry.node (key, kind, name, aliases, namespaces, created_by)
                SELECT 'spoke:' || lpad(n::text, 6, '0'), 'Spoke', n::text, ARRAY[n::text], ARRAY[''], 'test'
                FROM generate_series(1, %(count)s) AS n RETURNING id)
            INSERT INTO knowledge_registry.edge (source_id, target_id, predicate_key, predicate, shown_rank, confidence,
                observations, certain, weight, hand, writers, namespaces, evidence)
            SELECT hub.id, spoke.id, 'turn', 'turns', 1, 0.5, 1, 0, 0, 0, '{"test": 1}', '{"": 1}', '{}' FROM hub, spoke
            """,
            {"hub": hub, "count": count},
        )
        conn.execute("ANALYZE knowledge_registry.edge, knowledge_registry.node")


def test_neighbours_are_found_whichever_way_the_edge_points(world):
    ona, rost, vega, _ = islands(world)
    found = world.near(ona)
    assert [node.node_key for node in found.nodes] == [rost]
    assert edges_of(found) == ["isle:ona -[bridge]-> isle:rost"]
    assert world.near_keys(ona, depth=2) == [rost, vega]


def test_the_anchor_is_shown_beside_the_nodes_and_never_among_them(world):
    ring = world.ring(3)
    found = world.near(ring[0], depth=5)
    assert found.anchor.node_key == ring[0]
    assert [node.node_key for node in found.nodes] == ring[1:]
    assert not found.truncated


def test_an_unknown_node_has_no_anchor_and_no_neighbours(world):
    found = world.near("isle:nowhere")
    assert (found.anchor, found.nodes, found.edges, found.truncated) == (None, (), (), False)


def test_edges_among_the_listed_nodes_are_listed_too(world):
    ona, _, vega, _ = islands(world)
    world.edge(vega, "tunnel", ona)
    assert edges_of(world.near(ona)) == [
        "isle:ona -[bridge]-> isle:rost", "isle:vega -[tunnel]-> isle:ona", "isle:vega -[ferry]-> isle:rost",
    ]  # fmt: skip


def test_a_direction_limits_the_walk_and_the_edges_that_it_may_follow(world):
    a, b, c = (world.node("Step", name) for name in "abc")
    world.edge(a, "to", b)
    world.edge(b, "to", c)
    world.edge(b, "back to", a)
    out, into = world.near(a, depth=2, direction="out"), world.near(c, depth=2, direction="in")
    assert ([n.node_key for n in out.nodes], [n.node_key for n in into.nodes]) == ([b, c], [b, a])
    assert edges_of(world.near(a, direction="out")) == ["step:a -[to]-> step:b"]
    assert edges_of(world.near(b, direction="in")) == ["step:a -[to]-> step:b"]
    assert world.near_keys(a, direction="in", depth=5) == [b]


def test_the_namespace_filters_what_is_listed_and_never_the_walk(world):
    ona = world.node("Isle", "Ona", namespace="corpus/n")
    rost = world.node("Isle", "Rost", namespace="corpus/s")
    vega = world.node("Isle", "Vega", namespace="corpus/n/x")
    world.edge(ona, "bridge", rost)
    world.edge(rost, "ferry", vega)
    found = world.near(ona, depth=2, namespace="corpus/n")
    assert ([node.node_key for node in found.nodes], edges_of(found)) == ([vega], [])


def test_low_confidence_ends_the_walk(world):
    a, b, c = (world.node("Step", name) for name in "abc")
    world.edge(a, "to", b, confidence=0.9)
    world.edge(b, "to", c, confidence=0.4)
    world.edge(a, "doubts", b, confidence=0.2)
    found = world.near(a, depth=3, min_confidence=0.5)
    assert ([node.node_key for node in found.nodes], edges_of(found)) == ([b], ["step:a -[to]-> step:b"])


def test_nodes_come_nearest_first_then_in_key_order(world):
    keys = {name: world.node("Step", name) for name in "azmbq"}
    world.edge(keys["m"], "to", keys["z"])
    world.edge(keys["m"], "to", keys["q"])
    world.edge(keys["z"], "to", keys["a"])
    world.edge(keys["q"], "to", keys["b"])
    assert world.near_keys(keys["m"], depth=2) == ["step:q", "step:z", "step:a", "step:b"]
    cut = world.near(keys["m"], depth=2, max_nodes=3)
    assert ([node.node_key for node in cut.nodes], cut.truncated) == (["step:q", "step:z", "step:a"], True)


def test_a_merged_key_leads_to_the_survivor(world):
    ona, rost, _, lone = islands(world)
    world.graph.merge_nodes(lone, ona, "one isle", Author(agent_id="tester"))
    found = world.near(lone)
    assert (found.anchor.node_key, [node.node_key for node in found.nodes]) == (ona, [rost])


def test_evidence_is_filtered_and_capped_for_nodes_and_edges(world):
    ona = world.node("Isle", "Ona", "session:s2:x", *(f"shared:n/{n}" for n in range(9)))
    rost = world.node("Isle", "Rost", "session:s2:y")
    world.edge(ona, "bridge", rost, "session:s2:x", "shared:n/1")
    found = world.near(ona, reader("s1"), evidence=9)
    assert found.anchor.evidence == tuple(f"shared:n/{n}" for n in range(9))
    assert not found.anchor.evidence_truncated
    assert (found.nodes[0].evidence, found.edges[0].evidence) == ((), ("shared:n/1",))
    brief = world.near(ona, reader("s2"), evidence=2).anchor
    assert (brief.evidence, brief.evidence_truncated) == (("session:s2:x", "shared:n/0"), True)


def test_harvested_evidence_is_filtered_before_it_is_capped(world):
    said = EdgeMention(
        source=NodeRef(kind="Isle", name="Ona"), target=NodeRef(kind="Isle", name="Rost"), predicate="bridge"
    )
    for number in range(8):
        world.harvest(f"private/{number}", said, session="s2")
    shared = [world.harvest(f"open/{number}", said) for number in range(3)]
    found = world.near("isle:ona", reader("s1"), evidence=2)
    for item in (found.anchor, *found.nodes, *found.edges):
        assert (item.evidence, item.evidence_truncated) == (tuple(shared[:2]), True)
    full = world.near("isle:ona", reader("s1"), evidence=3)
    for item in (full.anchor, *full.nodes, *full.edges):
        assert (item.evidence, item.evidence_truncated) == (tuple(shared), False)


def test_stale_citations_are_named(world):
    key = world.store("note/1", "first")
    world.node("Isle", "Ona", key)
    world.store("note/1", "second")
    assert world.near("isle:ona").anchor.stale_evidence == (key,)


def test_a_hub_is_answered_within_its_caps(world):
    hub = world.node("Wheel", "Hub")
    spokes(world, hub, 25_000)
    for depth in (1, 5):
        found = world.near(hub, depth=depth)
        assert (len(found.nodes), len(found.edges), found.truncated) == (200, 200, True)
        assert looked_at(world, hub, depth) <= MOST_EDGES_WALKED
    small = world.near("spoke:000001", depth=2, max_nodes=10)
    assert (small.nodes[0].node_key, len(small.nodes), small.truncated) == (hub, 10, True)


def looked_at(world, key, depth):
    with world.graph.db.transaction() as conn:
        row = conn.execute(
            """SELECT w.looked_at FROM knowledge_registry.node n,
               knowledge_registry.walk(ARRAY[n.id], %s, 'any', 0, NULL, 200, %s, 3) w WHERE n.key = %s""",
            (depth, MOST_EDGES_WALKED, key),
        ).fetchone()
    return row[0]


def test_a_ring_and_a_complete_graph_are_walked_once_however_deep(world):
    ring = world.ring(50)
    found = world.near(ring[0], depth=5)
    assert (len(found.nodes), found.truncated) == (10, False)
    assert looked_at(world, ring[0], 5) <= 2 * (1 + 2 * 4)
    clique = [world.node("Peer", f"{number:02d}") for number in range(16)]
    for one, other in combinations(clique, 2):
        world.edge(one, "knows", other)
    found = world.near(clique[0], depth=5)
    assert (len(found.nodes), len(found.edges), found.truncated) == (15, 120, False)
    assert looked_at(world, clique[0], 5) <= 15 + 15 * 15


def test_more_edges_than_are_listed_keep_those_at_the_node_itself(world, monkeypatch):
    monkeypatch.setattr("graph.neighbourhood.MOST_EDGES_LISTED", 6)
    clique = [world.node("Peer", f"{number:02d}") for number in range(6)]
    for one, other in combinations(clique, 2):
        world.edge(one, "knows", other)
    found = world.near(clique[5])
    assert found.truncated
    assert len(found.edges) == 6
    assert sum("peer:05" in (edge.from_key, edge.to_key) for edge in found.edges) == 5


def test_a_dangling_edge_does_not_break_the_walk(world):
    ona, rost, vega, _ = islands(world)
    with world.graph.db.transaction() as conn:
        conn.execute("DELETE FROM knowledge_registry.node WHERE key = %s", (rost,))
    found = world.near(ona, depth=3)
    assert ([node.node_key for node in found.nodes], found.edges) == ([vega], ())
    assert world.keys(seeds=[ona]) == [ona]
    assert world.triples() == []


def test_time_that_is_up_cuts_the_answer_short_instead_of_failing(world, monkeypatch):
    ring = world.ring(5)
    monkeypatch.setattr("graph.walk.Walk.parameters", _no_time(NeighbourhoodQuery(node_key=ring[0])))
    found = world.near(ring[0])
    assert (found.anchor.node_key, found.nodes, found.truncated) == (ring[0], (), True)


def _no_time(query):
    return property(
        lambda walk: {
            "depth": walk.depth, "direction": query.direction, "lowest": 0.0, "space": None, "most_nodes": 9,
            "most_edges": 9, "seconds": -1.0,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "argument"),
    [({"depth": 0}, "depth"), ({"direction": "up"}, "direction"), ({"max_nodes": 2.5}, "maxNodes"),
     ({"min_confidence": -1}, "minConfidence")],
)  # fmt: skip
def test_a_bad_argument_of_a_neighbourhood_is_named(world, asked, argument):
    with pytest.raises(InvalidArgument) as caught:
        world.near("a:b", **asked)
    assert caught.value.argument == argument


def test_caps_of_a_neighbourhood_are_told(world):
    ring = world.ring(3)
    assert world.near(ring[0], depth=6, max_nodes=5_000).cut == ("depth", "maxNodes")
