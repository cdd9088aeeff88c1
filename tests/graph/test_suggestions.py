"""Which nodes may be one: exact forms first, then kinds, spelling and neighbours; nothing that was merged, nothing hidden."""

from __future__ import annotations

import pytest

from facts import open_fact_store
from facts.access import UNRESTRICTED
from facts.errors import InvalidArgument
from graph.likeness import WINDOW, alike_in_neighbours, alike_in_spelling
from graph.merge_policy import merge_exact_aliases
from graph.model import Author
from graph.store import open_graph_store
from graph.suggestions import Suggestion, SuggestionQuery
from tests.graph.upkeep_world import edge, isle, shown
from tests.graph.world import World, reader

AGENT = Author(agent_id="mender")


def suggested(world: World, access=UNRESTRICTED, **asked) -> list[tuple[str, str, float]]:
    page = world.graph.merge_suggestions(SuggestionQuery(**asked), access)
    return [(each.from_key, each.into_key, each.score) for each in page.suggestions]


def test_a_form_of_one_node_that_is_the_key_of_another_is_certain(world: World) -> None:
    world.node("Person", "Anna K", aliases=["Anna Karenina"])
    world.node("Person", "Anna Karenina")
    page = world.graph.merge_suggestions(access=UNRESTRICTED)
    assert page.suggestions[0] == Suggestion(
        from_key="person:anna-karenina", into_key="person:anna-k", score=1.0,
        reasons=("person:anna-karenina is an alias of person:anna-k",),
    )  # fmt: skip


def test_an_alias_that_two_nodes_of_a_kind_share_is_certain(world: World) -> None:
    world.harvest("a", isle("Ona", "The Isle"), isle("Rost", "the isle"))
    assert suggested(world) == [("isle:rost", "isle:ona", 1.0)]


def test_one_name_under_two_kinds_is_proposed_merged_and_unmerged_exactly(world: World) -> None:
    world.harvest("a", *(isle("Ona"), edge("Ona", "near", "Rost")))
    world.node("Person", "Thalie", "shared:x")
    world.node("Creature", "THALIE", "shared:y")
    world.edge("person:thalie", "knows", "isle:ona", "shared:x", confidence=0.5)
    world.edge("creature:thalie", "knows", "isle:ona", "shared:y", confidence=0.5)
    assert world.keys(name_like="thalie") == ["creature:thalie", "person:thalie"]
    assert suggested(world, min_score=0.85) == [("person:thalie", "creature:thalie", 0.9)]
    before = shown(world)
    merged = world.graph.merge_nodes("person:thalie", "creature:thalie", "one of them", AGENT)
    assert [found.confidence for found in world.edges(predicate="knows").edges] == [0.75]
    assert suggested(world, min_score=0.85) == []
    world.graph.unmerge_nodes(merged.merge_id, AGENT)
    assert shown(world) == before


def test_spelling_and_neighbours_propose_with_lower_scores_and_reasons(world: World) -> None:
    for name in ("Sea Bridge", "Sea Brigde"):
        world.node("Thing", name)
    places = [world.node(kind, "A") for kind in ("Isle", "Town", "Ship")]
    for name in ("Marlow", "Quint"):
        who = world.node("Person", name)
        for key in places:
            world.edge(who, "visited", key)
    page = world.graph.merge_suggestions(SuggestionQuery(kind="thing"), UNRESTRICTED)
    people = world.graph.merge_suggestions(SuggestionQuery(kind="person"), UNRESTRICTED)
    assert [(each.into_key, each.reasons) for each in (*page.suggestions, *people.suggestions)] == [
        ("thing:sea-bridge", ("spelled alike",)),
        ("person:marlow", ("3 of 3 neighbours in common",)),
    ]
    scores = [each.score for each in (*page.suggestions, *people.suggestions)]
    assert all(0.7 < score < 0.9 for score in scores)


@pytest.mark.parametrize(
    ("keys", "pairs"),
    [
        (["part:valve-12", "part:valve-13"], 0),
        (["a:walter", "b:walter"], 0),
        (["a:abc", "a:abd"], 0),
        (["a:river-of-stone", "a:stone-of-river"], 1),
        (["a:hamilton", "a:hamiltom", "a:other"], 1),
        (["a:\u0442\u043e\u043b\u0441\u0442\u043e\u0439", "a:\u0442\u043e\u043b\u0441\u0442\u043e\u0438"], 1),
    ],
)
def test_spelling_knows_typos_and_word_order_from_other_things(keys: list[str], pairs: int) -> None:
    assert len(list(alike_in_spelling(keys))) == pairs


def test_work_grows_with_the_names_not_with_their_pairs() -> None:
    names = [f"a:{'x' * (number % 7)}name{number:05d}" for number in range(2_000)]
    assert len(list(alike_in_spelling(names))) <= 3 * WINDOW * len(names)
    crowd = {f"a:{number}": {("hub", "p", True), ("hub", "q", True)} for number in range(200)}
    assert list(alike_in_neighbours(crowd)) == []


def test_filters_narrow_and_the_limit_is_capped(world: World) -> None:
    world.harvest("a", isle("Ona", "One", namespace="corpus/n"), isle("One", namespace="corpus/n"))
    world.node("Ship", "Bark", aliases=["Barque"])
    world.node("Ship", "Barque")
    assert len(suggested(world)) == 2
    assert suggested(world, kind="ships") == []
    assert [each[0] for each in suggested(world, kind="SHIP")] == ["ship:barque"]
    assert [each[0] for each in suggested(world, namespace="corpus")] == ["isle:one"]
    assert suggested(world, namespace="corpus2") == []
    assert len(suggested(world, limit=1)) == 1
    assert world.graph.merge_suggestions(SuggestionQuery(limit=9_999)).cut == ("limit",)
    with pytest.raises(InvalidArgument, match="minScore"):
        suggested(world, min_score=1.5)
    with pytest.raises(InvalidArgument, match="limit"):
        suggested(world, limit=0)


def test_what_a_caller_may_not_see_suggests_nothing_to_it(world: World) -> None:
    hidden = world.harvest("h", isle("Ona", "Canary"), isle("Canary"), edge("Ona", "near", "Canary"), session="s2")
    assert hidden.startswith("session:s2:")
    with open_fact_store(world.facts.db.url) as facts, open_graph_store(facts=facts, topology="visible") as graph:
        sighted = World(facts, graph)
        assert suggested(sighted, reader("s1")) == []
        assert suggested(sighted, reader("s2")) == [("isle:canary", "isle:ona", 1.0)]
        assert suggested(sighted, UNRESTRICTED) == suggested(world)
        world.node("Isle", "Canary", "shared:p")
        assert suggested(sighted, reader("s1")) == []


def test_the_policy_merges_what_is_certain_and_leaves_apart_what_somebody_took_apart(world: World) -> None:
    world.harvest(
        "a", isle("Ona", "One", "First"), isle("One"), isle("First"), isle("Onna"), isle("Rost", "Roest"), isle("Roest")
    )
    before = shown(world)
    done = merge_exact_aliases(world.graph)
    assert sorted((each.from_key, each.into_key) for each in done) == [
        ("isle:first", "isle:ona"), ("isle:one", "isle:ona"), ("isle:roest", "isle:rost"),
    ]  # fmt: skip
    assert world.keys() == ["isle:ona", "isle:onna", "isle:rost"]
    for record in done:
        world.graph.unmerge_nodes(record.merge_id, AGENT)
    assert shown(world) == before
    assert merge_exact_aliases(world.graph) == ()


def test_a_form_that_many_nodes_have_is_bounded_and_says_so(world: World) -> None:
    world.harvest("a", *(isle(f"Isle {number:03d}", "The Isle") for number in range(60)))
    page = world.graph.merge_suggestions(SuggestionQuery(min_score=1.0, limit=500), UNRESTRICTED)
    assert len(page.suggestions) == 190
    assert page.truncated
