from __future__ import annotations

from itertools import pairwise

import pytest

from facts.errors import InvalidArgument
from graph.model import Author, NodeMention
from tests.graph.world import reader, walk_pages


def test_kind_is_compared_in_normal_form(world):
    world.node("Cargo Ship", "Aurora")
    world.node("Cargo", "Ship")
    assert world.keys(kind="CARGO  ship") == ["cargo_ship:aurora"]


def test_a_name_is_found_by_any_part_of_it_or_of_an_alias_whatever_its_case(world):
    world.node("Ship", "Aurora", aliases=["The Old LADY"])
    world.node("Ship", "Brek")
    assert world.keys(name_like="old la") == ["ship:aurora"]
    assert world.keys(name_like="URO") == ["ship:aurora"]


def test_wildcards_in_a_name_are_literal(world):
    world.node("Rate", "50% off_season")
    world.node("Rate", "500 offXseason")
    assert world.keys(name_like="0% off_") == ["rate:50-off-season"]
    assert world.keys(name_like="\\") == []


def test_letters_beyond_ascii_fold_as_python_folds_them(world):
    world.node("Stadt", "ÅNGSTRÖM")
    world.node("Πόλη", "ΑΘΗΝΑΣ")
    assert world.keys(name_like="ångstr") == ["stadt:angstrom"]
    assert world.keys(name_like="αθηνας") == ["πόλη:αθηνας"]


def test_a_name_whose_form_is_shown_in_an_alias_spelling_is_found_by_its_own_spelling(world):
    world.node("Ship", "AURORA !!", aliases=["Aurora"])
    assert world.keys(name_like="aurora !") == ["ship:aurora"]


def test_exact_matches_come_first_then_prefixes_then_the_rest_each_in_key_order(world):
    for name in ("Red Lion", "Lion", "Lionheart", "A Lion", "Lion Gate"):
        world.node("Inn", name)
    world.node("Ale", "Lion")
    assert world.keys(name_like="lion") == [
        "ale:lion", "inn:lion", "inn:lion-gate", "inn:lionheart", "inn:a-lion", "inn:red-lion",
    ]  # fmt: skip


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_walk_by_cursor_yields_every_node_once(world, limit):
    for number in range(7):
        world.node("Inn", f"Lion {number}", aliases=["lion"] if number % 2 else [])
    for asked in ({}, {"name_like": "lion"}):
        pages = walk_pages(
            lambda cursor, filters=asked: world.nodes(limit=limit, cursor=cursor, **filters), items="nodes"
        )
        found = [node.node_key for page in pages for node in page]
        assert len(found) == len(set(found)) == 7
        assert found == world.keys(**asked)


def test_a_cursor_of_another_walk_is_refused(world):
    for number in range(3):
        world.node("Inn", f"Lion {number}")
    cursor = world.nodes(limit=1).cursor
    with pytest.raises(InvalidArgument, match="not from this walk"):
        world.edges(cursor=cursor)
    with pytest.raises(InvalidArgument, match="not from this walk"):
        world.nodes(cursor="{}")


def test_a_namespace_covers_itself_and_what_lies_below_it(world):
    world.node("Doc", "Root", namespace="corpus/sea")
    world.node("Doc", "Leaf", namespace="corpus/sea/deep")
    world.node("Doc", "Sibling", namespace="corpus/seaside")
    world.node("Doc", "Loose")
    assert world.keys(namespace=" corpus/sea/ ") == ["doc:leaf", "doc:root"]
    assert world.keys(namespace="default") == ["doc:loose"]
    (root,) = world.nodes(name_like="root").nodes
    (loose,) = world.nodes(name_like="loose").nodes
    assert (root.namespace, root.namespaces) == ("corpus/sea", ("corpus/sea",))
    assert (loose.namespace, loose.namespaces) == (None, ("default",))


@pytest.mark.parametrize(
    "space", ['corpus/"sea"', "corpus\\sea", "corpus/50%_", "corpus/\u00e4\u200b", "a,b", "{x}", "NULL"]
)
def test_a_namespace_of_odd_characters_filters_like_any_other(world, space):
    here = world.node("Doc", "Here", namespace=space)
    below = world.node("Doc", "Below", namespace=f"{space}/deep")
    there = world.node("Doc", "There", namespace=f"{space}x")
    world.edge(there, "cites", world.node("Doc", "Loose"), namespace=space)
    assert world.keys(namespace=space) == [below, here]
    assert world.triples(namespace=space) == [f"{there} cite doc:loose"]
    counted = world.graph.stats(space).totals
    assert (counted.nodes, counted.edges, counted.by_predicate) == (2, 1, {"cite": 1})


def test_a_node_in_several_namespaces_shows_the_smallest_and_lists_all(world):
    world.node("Doc", "Root", namespace="b/x", agent="one")
    world.node("Doc", "Root", namespace="a/y", agent="two")
    world.node("Doc", "Root", agent="three", aliases=["Origin"])
    (root,) = world.nodes().nodes
    assert (root.namespace, root.namespaces) == ("a/y", ("a/y", "b/x", "default"))


def test_seeds_are_tried_as_scope_keys_and_as_node_keys(world):
    stops = [world.node("Stop", name, f"shared:stop/{name.lower()}") for name in "ABCDEFGH"]
    for here, there in pairwise(stops):
        world.edge(here, "next stop", there)
    assert world.keys(reader(), seeds=["shared:stop/c"]) == ["stop:b", "stop:c", "stop:d"]
    assert world.keys(reader(), seeds=["stop:a"], depth=99) == [f"stop:{name}" for name in "abcdef"]
    assert world.keys(seeds=["shared:stop/zz", "stop:zz"]) == []
    assert world.keys(seeds=["stop:a"], kind="stop", name_like="b") == ["stop:b"]


def test_a_kind_named_session_can_be_a_seed(world):
    review = world.node("Session", "Q3 review")
    world.edge(review, "covers", world.node("Ship", "Aurora"))
    assert world.keys(seeds=["session:q3-review"]) == ["session:q3-review", "ship:aurora"]


def test_an_inaccessible_fact_seed_is_as_unknown_as_one_that_does_not_exist(world):
    world.node("Topic", "Storm", "session:s2:w/3")
    assert world.nodes(reader("s1"), seeds=["session:s2:w/3"]) == world.nodes(reader("s1"), seeds=["session:s2:no"])
    assert world.keys(reader("s2"), seeds=["session:s2:w/3"]) == ["topic:storm"]


def test_a_seed_that_was_merged_away_leads_to_the_survivor(world):
    world.node("Captain", "J. Rask")
    world.node("Captain", "Jon Rask")
    world.graph.merge_nodes("captain:j-rask", "captain:jon-rask", "same person", Author(agent_id="tester"))
    assert world.keys(seeds=["captain:j-rask"]) == ["captain:jon-rask"]


def test_evidence_is_what_the_caller_may_read_in_the_order_of_its_attachment(world):
    world.node("Topic", "Storm", "shared:w/1", "session:s1:w/2", "session:s2:w/3")
    assert [n.evidence for n in world.nodes(reader("s1")).nodes] == [("shared:w/1", "session:s1:w/2")]
    assert [n.evidence for n in world.nodes(reader()).nodes] == [("shared:w/1",)]
    assert [n.evidence for n in world.nodes(reader("s1", "s2")).nodes] == [
        ("shared:w/1", "session:s1:w/2", "session:s2:w/3")
    ]


def test_evidence_is_filtered_before_it_is_capped(world):
    world.node("Topic", "Storm", *(f"session:s2:w/{n}" for n in range(240)))
    world.node("Topic", "Storm", *(f"shared:w/{n}" for n in range(101)))
    (seen,) = world.nodes(reader("s1")).nodes
    assert seen.evidence == tuple(f"shared:w/{n}" for n in range(100))
    assert seen.evidence_truncated
    (owner,) = world.nodes(reader("s2")).nodes
    assert len(owner.evidence) == 100
    world.node("Topic", "Calm", *(f"shared:w/{n}" for n in range(100)))
    assert not world.nodes(reader("s1"), name_like="calm").nodes[0].evidence_truncated


def test_reserved_prefixes_stay_out_of_evidence(world):
    world.store("intake/storm/s9")
    world.node("Topic", "Storm", "shared:intake/storm/s9")
    assert [n.evidence for n in world.nodes(reader("s1")).nodes] == [()]
    assert [n.evidence for n in world.nodes().nodes] == [("shared:intake/storm/s9",)]


def test_the_survivors_own_evidence_comes_before_what_a_merge_moved_in(world):
    world.node("Captain", "J. Rask", "shared:m/1", aliases=["Rask"])
    world.node("Captain", "Jon Rask", "shared:m/2")
    ship = world.node("Ship", "Aurora")
    world.edge("captain:j-rask", "commands", ship, "shared:m/1", confidence=0.5)
    world.edge("captain:jon-rask", "commands", ship, "shared:m/2", confidence=0.6)
    world.graph.merge_nodes("captain:j-rask", "captain:jon-rask", "same person", Author(agent_id="tester"))
    (node,) = world.nodes(name_like="rask").nodes
    assert (node.aliases, node.evidence) == (("Jon Rask", "Rask", "J. Rask"), ("shared:m/2", "shared:m/1"))
    (edge,) = world.edges(from_key="captain:j-rask").edges
    assert (edge.from_key, edge.confidence, edge.observations) == ("captain:jon-rask", 0.8, 2)
    assert edge.evidence == ("shared:m/2", "shared:m/1")


def test_a_citation_of_an_older_version_is_listed_as_stale_until_it_is_renewed(world):
    key = world.store("note/1", "first")
    world.node("Topic", "Storm", key)
    world.edge("topic:storm", "precedes", world.node("Topic", "Calm"), key)
    assert world.nodes(name_like="storm").nodes[0].stale_evidence == ()
    world.store("note/1", "second")
    (node,), (edge,) = world.nodes(name_like="storm").nodes, world.edges().edges
    assert (node.evidence, node.stale_evidence) == ((key,), (key,))
    assert (edge.evidence, edge.stale_evidence) == ((key,), (key,))
    world.node("Topic", "Storm", key)
    assert world.nodes(name_like="storm").nodes[0].stale_evidence == ()


def test_degree_counts_the_edges_that_touch_a_node(world):
    ring = world.ring(3)
    world.edge(ring[0], "opposes", ring[1])
    assert {node.node_key: node.degree for node in world.nodes().nodes} == {
        "bead:000": 3, "bead:001": 3, "bead:002": 2,
    }  # fmt: skip


def test_edges_are_found_by_any_spelling_of_their_predicate(world):
    a, b, c = (world.node("Port", name) for name in ("Alva", "Brek", "Cael"))
    world.edge(a, "depends on", b, confidence=0.4)
    world.edge(b, "depends on", c, confidence=0.9)
    world.edge(a, "depends upon", c, confidence=0.7)
    assert world.triples(predicate="DEPENDS_ON the") == [f"{a} depend_on {b}", f"{b} depend_on {c}"]
    assert world.triples(predicate_key="depend_on", min_confidence=0.5) == [f"{b} depend_on {c}"]
    assert world.triples(predicate="to the") == []
    assert world.triples(from_key=a) == [f"{a} depend_on {b}", f"{a} depend_upon {c}"]
    assert world.triples(to_key=c, from_key=b) == [f"{b} depend_on {c}"]
    assert world.triples(from_key="port:nowhere") == []


def test_an_edge_is_in_its_own_namespace_and_in_those_of_its_ends(world):
    root = world.node("Doc", "Root", namespace="corpus/sea")
    loose = world.node("Doc", "Loose")
    other = world.node("Doc", "Sibling", namespace="corpus/seaside")
    world.edge(root, "cites", loose, namespace="corpus/other")
    world.edge(loose, "cites", other)
    assert len(world.triples(namespace="corpus/sea")) == 1
    assert len(world.triples(namespace="corpus/other")) == 1
    assert len(world.triples(namespace="default")) == 2


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_walk_by_cursor_yields_every_edge_once_in_the_order_of_its_keys(world, limit):
    ring = world.ring(5)
    for key in ring[1:]:
        world.edge(ring[0], "beats", key)
    pages = walk_pages(lambda cursor: world.edges(limit=limit, cursor=cursor), items="edges")
    found = [(edge.from_key, edge.predicate_key, edge.to_key) for page in pages for edge in page]
    assert len(found) == 9
    assert found == sorted(set(found))


def test_counts_above_their_cap_are_cut_and_the_reply_says_so(world):
    world.node("Inn", "Lion")
    assert world.nodes(limit=10_000, depth=9, seeds=["inn:lion"]).cut == ("limit", "depth")
    assert world.edges(limit=501).cut == ("limit",)
    assert world.nodes(limit=500).cut == ()


@pytest.mark.parametrize(
    ("asked", "argument"),
    [
        ({"limit": 0}, "limit"), ({"limit": 1.5}, "limit"), ({"limit": "9"}, "limit"), ({"limit": True}, "limit"),
        ({"depth": 0, "seeds": ["a:b"]}, "depth"), ({"min_confidence": 1.5}, "minConfidence"),
        ({"min_confidence": float("nan")}, "minConfidence"), ({"name_like": "a\0b"}, "nameLike"),
        ({"kind": "!!"}, "kind"), ({"seeds": "a:b"}, "seeds"), ({"seeds": ["x"] * 257}, "seeds"),
    ],
)  # fmt: skip
def test_a_bad_argument_of_a_node_search_is_named(world, asked, argument):
    with pytest.raises(InvalidArgument) as caught:
        world.nodes(**asked)
    assert caught.value.argument == argument


def test_an_edited_fact_no_longer_evidences_what_it_dropped(world):
    first = world.harvest("f/1", NodeMention(kind="Ship", name="Aurora"), NodeMention(kind="Ship", name="Brek"))
    world.harvest("f/2", NodeMention(kind="Ship", name="Aurora"))
    world.harvest("f/1", NodeMention(kind="Ship", name="Brek"))
    assert {n.node_key: n.evidence for n in world.nodes().nodes} == {
        "ship:aurora": ("shared:f/2",),
        "ship:brek": (first,),
    }
