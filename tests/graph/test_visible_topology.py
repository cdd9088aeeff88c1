"""Topology `visible`: what none of a caller's readable evidence shows is not there, in no name, number or answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from facts import AccessContext, open_fact_store
from facts.access import UNRESTRICTED
from graph.model import Author, EdgeMention, NodeMention, NodeRef
from graph.store import open_graph_store
from tests.graph.world import World, reader, walk_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

CRAWLER = AccessContext(granted_prefixes=("",))


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with open_fact_store(database_url) as facts, open_graph_store(facts=facts, topology="visible") as graph:
        yield World(facts, graph)


def states(source: str, predicate: str, target: str, confidence: float = 0.5) -> EdgeMention:
    return EdgeMention(
        source=NodeRef(kind="Isle", name=source),
        target=NodeRef(kind="Isle", name=target),
        predicate=predicate,
        confidence=confidence,
    )


@pytest.fixture
def isles(world: World) -> World:
    """Ona - Rost in the open; Rost - Vega and more words for Ona in session s2; Vega - Zeta in the open."""
    world.harvest("open/1", NodeMention(kind="Isle", name="Ona"), states("Ona", "bridge", "Rost"))
    world.harvest(
        "secret/1", NodeMention(kind="Isle", name="Ona", aliases=["Canary"], namespace="hidden/place"),
        states("Ona", "bridge", "Rost", 0.9), states("Rost", "ferry", "Vega"), session="s2", writer="spy",
    )  # fmt: skip
    world.harvest("open/2", states("Vega", "ferry", "Zeta"))
    return world


def test_what_only_hidden_facts_say_is_in_no_answer(isles):
    access = reader("s1")
    answers = [
        isles.nodes(access), isles.edges(access), isles.near("isle:ona", access, depth=5),
        isles.nodes(access, name_like="canary"),
        isles.nodes(access, seeds=["isle:ona", "session:s2:secret/1"], depth=5), isles.graph.stats(access=access).totals,
        isles.nodes(access, namespace="hidden"), isles.edges(access, namespace="hidden"),
    ]  # fmt: skip
    for answer in answers:
        assert not any(word in repr(answer).lower() for word in ("canary", "hidden", "secret", "spy", "s2"))


def test_names_and_numbers_come_from_visible_contributions(isles):
    (edge,) = isles.edges(reader("s1"), from_key="isle:ona").edges
    assert (edge.confidence, edge.observations, edge.asserted_by) == (0.5, 1, ("triples",))
    (node,) = isles.nodes(reader("s1"), name_like="ona").nodes
    assert (node.aliases, node.namespaces, node.degree) == (("Ona",), ("default",), 1)
    (edge,) = isles.edges(reader("s2"), from_key="isle:ona").edges
    assert (edge.confidence, edge.observations, edge.asserted_by) == (0.95, 2, ("spy", "triples"))
    (node,) = isles.nodes(reader("s2"), name_like="canary").nodes
    assert (node.aliases, node.namespaces, node.degree) == (("Ona", "Canary"), ("default", "hidden/place"), 1)


def test_the_walk_never_goes_through_what_it_hides(isles):
    assert isles.near_keys("isle:ona", reader("s1"), depth=5) == ["isle:rost"]
    assert isles.near_keys("isle:ona", reader("s2"), depth=5) == ["isle:rost", "isle:vega", "isle:zeta"]
    assert isles.keys(reader("s1"), seeds=["isle:ona"], depth=5) == ["isle:ona", "isle:rost"]
    assert isles.near_keys("isle:ona", UNRESTRICTED, depth=5) == ["isle:rost", "isle:vega", "isle:zeta"]
    assert isles.near_keys("isle:ona", CRAWLER, depth=5) == ["isle:rost", "isle:vega", "isle:zeta"]


def test_a_hidden_node_is_as_unknown_as_one_that_does_not_exist(world):
    world.harvest("secret/1", NodeMention(kind="Isle", name="Vega"), session="s2")
    assert world.near("isle:vega", reader("s1")) == world.near("isle:nowhere", reader("s1"))
    assert world.keys(reader("s1"), seeds=["isle:vega"]) == []
    assert world.near("isle:vega", reader("s2")).anchor is not None


def test_low_visible_confidence_ends_the_walk_even_where_the_whole_is_strong(isles):
    assert isles.near_keys("isle:ona", reader("s1"), min_confidence=0.8) == []
    assert isles.near_keys("isle:ona", reader("s2"), min_confidence=0.8) == ["isle:rost"]
    assert isles.triples(reader("s1"), min_confidence=0.8) == []


def test_assertions_without_evidence_are_for_their_authors_tree_and_privileged_callers(world):
    ona = world.node("Isle", "Ona", session="s1")
    rost = world.node("Isle", "Rost", session="s1")
    world.edge(ona, "bridge", rost, session="s1")
    for access in (reader("s1"), reader("s3", "s1"), UNRESTRICTED, CRAWLER):
        assert world.keys(access) == [ona, rost]
        assert world.near_keys(ona, access) == [rost]
        assert world.triples(access) == ["isle:ona bridge isle:rost"]
    for access in (reader("s2"), reader()):
        assert (world.keys(access), world.triples(access)) == ([], [])


def test_a_cited_key_decides_who_sees_a_hand_assertion(world):
    ona = world.node("Isle", "Ona", "session:s2:x", session="s1")
    rost = world.node("Isle", "Rost", "shared:y", "session:s2:x", session="s1")
    world.edge(ona, "bridge", rost, "session:s2:x", session="s1")
    assert world.keys(reader("s1")) == [rost]
    assert world.keys(reader("s2")) == [ona, rost]
    (node,) = world.nodes(reader("s3")).nodes
    assert node.evidence == ("shared:y",)


@pytest.mark.parametrize("limit", [1, 3])
def test_walks_by_cursor_yield_every_visible_item_once(world, limit):
    for number in range(6):
        session = None if number % 2 else "s2"
        world.harvest(f"f/{number}", states(f"Isle {number}", "bridge", "Hub"), session=session)
    nodes = walk_pages(lambda cursor: world.nodes(reader("s1"), limit=limit, cursor=cursor), items="nodes")
    assert [n.node_key for page in nodes for n in page] == ["isle:hub", "isle:isle-1", "isle:isle-3", "isle:isle-5"]
    edges = walk_pages(lambda cursor: world.edges(reader("s1"), limit=limit, cursor=cursor), items="edges")
    assert [e.from_key for page in edges for e in page] == ["isle:isle-1", "isle:isle-3", "isle:isle-5"]


def test_numbers_count_visible_items_only(isles):
    seen = isles.graph.stats(access=reader("s1")).totals
    assert (seen.nodes, seen.edges, seen.evidence) == (4, 2, 4)
    assert (seen.by_namespace, seen.by_kind, seen.by_predicate) == (
        {"default": 4},
        {"isle": 4},
        {"bridge": 1, "ferry": 1},
    )
    whole = isles.graph.stats(access=UNRESTRICTED).totals
    assert (whole.nodes, whole.edges, whole.evidence) == (4, 3, 7)
    assert whole == isles.graph.stats(access=CRAWLER).totals
    assert isles.graph.stats("hidden", access=reader("s1")).totals.nodes == 0
    assert isles.graph.stats("hidden", access=reader("s2")).totals.nodes == 1


def test_for_those_who_see_everything_both_topologies_tell_the_same(isles):
    isles.graph.merge_nodes("isle:vega", "isle:zeta", "one isle", Author(agent_id="tester"))
    everything = AccessContext(reader_session_id="s2")
    assert isles.nodes(everything) == isles.nodes()
    assert _timeless(isles.edges(everything).edges) == _timeless(isles.edges().edges)
    near, whole = isles.near("isle:ona", everything, depth=3), isles.near("isle:ona", depth=3)
    assert (near.anchor, near.nodes, _timeless(near.edges)) == (whole.anchor, whole.nodes, _timeless(whole.edges))


def _timeless(edges):
    return [(e.from_key, e.predicate, e.to_key, e.confidence, e.observations, e.evidence, e.namespaces) for e in edges]
