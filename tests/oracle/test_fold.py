"""The fold by hand: each rule of the design page in its smallest example."""

from itertools import permutations

import pytest

from tests.oracle.compare import assert_same, compare
from tests.oracle.fold import fold
from tests.oracle.model import Assertions, LedgerRow, Mention, Merge, Ref, Statement
from tests.oracle.world import World

ALVA, BREK = Ref(kind="Port", name="Alva"), Ref(kind="Port", name="Brek")
TRADE = ("port:alva", "port:brek", "trade_with")


def said(fact_id, *, confidence=0.5, name="Alva", namespace=None, aliases=(), edges=True):
    return LedgerRow(
        fact_id=fact_id,
        scope_key=f"shared:t/{fact_id}",
        etag=1,
        writer="triples",
        namespace=namespace,
        nodes=(Mention(kind="Port", name=name, aliases=aliases),),
        edges=(Statement(source=ALVA, target=BREK, predicate="trades with", confidence=confidence),) if edges else (),
    )


def edge_of(world, triple=TRADE):
    return world.graph().edges[triple]


def test_a_fact_gives_its_nodes_and_its_edge():
    graph = fold([said(1)], Assertions(), [])
    assert graph.nodes["port:alva"]["evidence"] == {"shared:t/1"}
    assert graph.nodes["port:brek"]["name"] == "Brek"
    assert graph.edges[TRADE]["confidence"] == 0.5
    assert graph.edges[TRADE]["observations"] == 1


@pytest.mark.parametrize("order", list(permutations([1, 2, 3])))
def test_three_facts_withdrawn_in_any_order_leave_what_the_rest_say(order):
    world = World()
    for fact_id in (1, 2, 3):
        world.incorporate(said(fact_id))
    seen = [edge_of(world)["confidence"]]
    for fact_id in order[:2]:
        world.incorporate_tombstone(f"shared:t/{fact_id}")
        seen.append(edge_of(world)["confidence"])
    world.incorporate_tombstone(f"shared:t/{order[2]}")
    assert seen == pytest.approx([0.875, 0.75, 0.5])
    assert not world.graph()


def test_the_spelling_of_the_oldest_fact_is_shown_whatever_the_order_of_harvest():
    late, early = said(7, name="ALVA"), said(3, name="Alva!")
    assert_same(fold([late, early], Assertions(), []), fold([early, late], Assertions(), []))
    assert fold([late, early], Assertions(), []).nodes["port:alva"]["name"] == "Alva!"


def test_a_hand_assertion_ranks_before_every_fact():
    world = World()
    world.incorporate(said(1))
    world.upsert_node("scribe", "port", "ALVA", aliases=("The Bay",))
    assert world.graph().nodes["port:alva"]["name"] == "ALVA"
    assert world.graph().nodes["port:alva"]["aliases"] == ["The Bay", "ALVA"]


def test_an_end_given_as_key_shows_its_parts_only_while_nothing_names_it_better():
    by_key = LedgerRow(
        fact_id=1,
        scope_key="shared:t/1",
        etag=1,
        writer="triples",
        edges=(Statement(source="port:alva", target="port:brek", predicate="trades with"),),
    )
    assert fold([by_key], Assertions(), []).nodes["port:alva"]["name"] == "alva"
    assert fold([by_key, said(2)], Assertions(), []).nodes["port:alva"]["name"] == "Alva"


def test_a_known_key_makes_a_hand_call_a_no_op():
    world = World()
    world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=0.6, evidence=["shared:t/1"])
    assert not world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=0.99, evidence=["shared:t/1"])
    assert not world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=0.99)
    assert (edge_of(world)["confidence"], edge_of(world)["observations"]) == (0.6, 1)


def test_a_stronger_row_takes_over_every_key_of_an_older_one():
    world = World()
    world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=0.6, evidence=["a"])
    assert world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=0.9, evidence=["a", "b"])
    assert edge_of(world)["confidence"] == pytest.approx(0.9)
    assert edge_of(world)["observations"] == 1


def test_one_fact_counts_once_at_the_strongest_of_its_live_paths():
    world = World()
    world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=0.7, evidence=["shared:t/1"])
    world.incorporate(said(1, confidence=0.4))
    assert (edge_of(world)["confidence"], edge_of(world)["observations"]) == (pytest.approx(0.7), 1)
    world.incorporate(said(1, confidence=0.9))
    assert (edge_of(world)["confidence"], edge_of(world)["observations"]) == (pytest.approx(0.9), 1)
    world.incorporate(said(1, edges=False))
    assert edge_of(world)["confidence"] == pytest.approx(0.7)


def test_removed_evidence_that_is_asserted_again_counts_as_before():
    world = World()
    for key, confidence in (("shared:b/1", 0.6), ("shared:b/2", 0.5)):
        world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=confidence, evidence=[key])
    world.remove_evidence("shared:b/1")
    assert (edge_of(world)["confidence"], edge_of(world)["observations"]) == (0.5, 1)
    assert world.upsert_edge("scribe", *TRADE[:2], "trades with", confidence=0.6, evidence=["shared:b/1"])
    assert (edge_of(world)["confidence"], edge_of(world)["observations"]) == (pytest.approx(0.8), 2)


def test_a_merge_moves_what_the_duplicate_had_behind_the_survivors_own():
    world = World()
    world.upsert_node("scribe", "Captain", "J. Rask", aliases=("Rask",), evidence=["shared:m/1"])
    world.upsert_node("scribe", "Captain", "Jon Rask", evidence=["shared:m/2"])
    merge = world.merge("captain:j-rask", "captain:jon-rask")
    assert world.graph().nodes["captain:jon-rask"]["aliases"] == ["Jon Rask", "Rask", "J. Rask"]
    world.unmerge(merge)
    assert set(world.graph()) == {"captain:j-rask", "captain:jon-rask"}


def test_a_self_edge_that_a_merge_makes_is_not_shown_and_comes_back():
    merge = Merge(id=1, duplicate="port:alva", survivor="port:brek")
    assert not fold([said(1)], Assertions(), [merge]).edges
    assert len(fold([said(1)], Assertions(), []).edges) == 1


def test_a_hand_edge_holds_a_node_that_nothing_names_any_more():
    world = World()
    world.incorporate(said(1))
    world.upsert_node("scribe", "Isle", "Ona")
    world.upsert_edge("scribe", "isle:ona", "port:brek", "near")
    world.incorporate_tombstone("shared:t/1")
    assert set(world.graph()) == {"isle:ona", "port:brek"}
    assert world.graph().nodes["port:brek"]["name"] == "brek"


def test_a_record_belongs_to_every_namespace_that_a_contribution_names():
    world = World()
    world.incorporate(said(1, namespace="corpus/north"))
    world.incorporate(said(2, namespace="corpus/south"))
    world.upsert_node("scribe", "Port", "Alva")
    assert world.graph().nodes["port:alva"]["namespaces"] == {"corpus/north", "corpus/south", None}
    assert edge_of(world)["namespaces"] == {"corpus/north", "corpus/south"}


def test_an_edited_fact_makes_a_hand_citation_stale_until_it_is_named_again():
    world = World(etags={"shared:t/1": 1})
    world.upsert_node("scribe", "Port", "Alva", evidence=["shared:t/1"])
    world.etags["shared:t/1"] = 2
    assert world.stale_evidence()[0] == {"port:alva": {"shared:t/1"}}
    world.upsert_node("scribe", "Port", "Alva", evidence=["shared:t/1"])
    assert world.stale_evidence() == ({}, {})


def test_compare_names_what_differs():
    expected, actual = fold([said(1)], Assertions(), []), fold([said(1, confidence=0.6)], Assertions(), [])
    assert compare(expected, actual) == [f"edge {TRADE}: confidence is 0.6, the fold says 0.5"]
