"""Replace by source: what a version of a fact says takes the place of what the last one said."""

from itertools import permutations
from typing import Any

import pytest

from facts import DeleteFactInput
from facts.errors import InvalidArgument
from graph.model import EdgeMention, Incorporation, NodeMention, NodeRef, Outcome, Provenance
from tests.graph.world import World

AURORA, ALVA, BREK = (
    NodeMention(kind="Ship", name="Aurora"),
    NodeMention(kind="Port", name="Alva"),
    NodeMention(kind="Port", name="Brek"),
)


def says(source: NodeMention, predicate: str, target: NodeMention, confidence: float = 0.5) -> EdgeMention:
    ends = [NodeRef(kind=each.kind, name=each.name) for each in (source, target)]
    return EdgeMention(source=ends[0], target=ends[1], predicate=predicate, confidence=confidence)


def incorporate(world: World, key: str, **said: Any) -> Outcome:
    fact = world.facts.inspect(f"shared:{key}")
    assert fact is not None
    item = Incorporation(scope_key=f"shared:{key}", etag=said.pop("etag", fact.etag), **said)
    return world.graph.incorporate([item], Provenance(writer="triples"))[0]


def test_an_edited_fact_withdraws_the_edges_it_no_longer_states(world: World) -> None:
    world.harvest("log/1", AURORA, says(AURORA, "berthed in", ALVA))
    world.harvest("log/1", AURORA, says(AURORA, "berthed in", BREK))
    assert world.triples() == ["ship:aurora berthed_in port:brek"]
    assert world.keys(kind="port") == ["port:brek"]


def test_a_deleted_fact_takes_everything_with_it(world: World) -> None:
    world.harvest("log/1", AURORA, says(AURORA, "berthed in", ALVA))
    world.facts.delete(DeleteFactInput(key="log/1", shared=True))
    outcome = incorporate(world, "log/1")
    assert (outcome.outcome, outcome.withdrawn) == ("acked", 3)
    assert world.keys() == []
    assert world.triples() == []


def test_two_facts_reinforce_and_each_withdrawal_leaves_the_other(world: World) -> None:
    world.harvest("log/1", says(AURORA, "berthed in", ALVA, 0.6))
    world.harvest("log/2", says(AURORA, "Berthed in the", ALVA, 0.5))
    (edge,) = world.edges().edges
    assert (edge.confidence, edge.observations, edge.predicate) == (pytest.approx(0.8), 2, "berthed in")
    world.harvest("log/1", AURORA)
    (edge,) = world.edges().edges
    assert (edge.confidence, edge.observations, edge.predicate) == (pytest.approx(0.5), 1, "Berthed in the")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_all_orders_of_withdrawing_three_facts_leave_the_same_confidence(world: World, order: tuple[int, ...]) -> None:
    for number in range(3):
        world.harvest(f"log/{number}", says(AURORA, "berthed in", ALVA, 0.5))
    left = [0.875, 0.75, 0.5]
    for number, expected in zip(order, left, strict=True):
        (edge,) = world.edges().edges
        assert edge.confidence == pytest.approx(expected, abs=1e-12)
        world.harvest(f"log/{number}")
    assert world.triples() == []


def test_the_lowest_ranked_fact_is_shown_whatever_order_they_were_harvested_in(world: World) -> None:
    keys = [world.store(f"log/{number}") for number in (1, 2)]
    facts = {key: world.facts.inspect(key) for key in keys}
    for key, name in reversed(list(zip(keys, ("Aurora", "AURORA"), strict=True))):
        item = Incorporation(scope_key=key, etag=facts[key].etag, nodes=[NodeMention(kind="Ship", name=name)])
        world.graph.incorporate([item], Provenance(writer="triples"))
    (node,) = world.nodes().nodes
    assert (node.name, list(node.aliases)) == ("Aurora", ["Aurora"])


def test_a_stale_receipt_changes_nothing_and_says_why(world: World) -> None:
    world.store("log/1", "old")
    old = world.facts.inspect("shared:log/1")
    world.store("log/1", "new")
    outcome = incorporate(world, "log/1", etag=old.etag, nodes=[AURORA])
    assert (outcome.outcome, outcome.reason) == ("stale", "changed")
    assert world.keys() == []
    assert incorporate(world, "log/1", nodes=[AURORA]).outcome == "acked"
    again = incorporate(world, "log/1", nodes=[BREK])
    assert (again.outcome, again.reason) == ("stale", "acknowledged")
    assert world.keys() == ["ship:aurora"]


def test_a_fact_that_is_not_there_is_gone(world: World) -> None:
    item = Incorporation(scope_key="shared:never", etag=1, nodes=[AURORA])
    assert world.graph.incorporate([item], Provenance(writer="triples"))[0].outcome == "gone"


def test_a_faulty_fact_is_rejected_with_all_its_faults_and_the_rest_of_the_batch_goes_on(world: World) -> None:
    for key in ("log/1", "log/2"):
        world.store(key)
    bad = [NodeMention(kind="!", name="x"), NodeMention(kind="Ship", name=" ")]
    edges = [
        EdgeMention(source="ship:aurora", target="nokey", predicate="x"),
        says(AURORA, "->", ALVA),
        says(AURORA, "x", AURORA),
    ]
    batch = [
        Incorporation(scope_key="shared:log/1", etag=world.facts.inspect("shared:log/1").etag, nodes=bad, edges=edges),
        Incorporation(scope_key="shared:log/2", etag=world.facts.inspect("shared:log/2").etag, nodes=[AURORA]),
    ]
    first, second = world.graph.incorporate(batch, Provenance(writer="triples"))
    assert (first.outcome, second.outcome) == ("rejected", "acked")
    assert [error.split(":")[0] for error in first.errors] == [
        "nodes[0]",
        "nodes[1]",
        "edges[0]",
        "edges[1]",
        "edges[2]",
    ]
    assert not world.facts.inspect("shared:log/1").crawled
    assert world.keys() == ["ship:aurora"]


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -0.1, 1.5, True, "0.5"])
def test_a_confidence_that_is_no_probability_is_refused(world: World, confidence: Any) -> None:
    world.store("log/1")
    outcome = incorporate(world, "log/1", edges=[says(AURORA, "berthed in", ALVA, confidence)])
    assert outcome.outcome == "rejected"
    assert "confidence" in (outcome.reason or "")


def test_one_fact_twice_in_a_batch_is_refused(world: World) -> None:
    item = Incorporation(scope_key="shared:log/1", etag=1)
    with pytest.raises(InvalidArgument):
        world.graph.incorporate([item, item], Provenance(writer="triples"))


def test_values_that_would_break_a_query_come_back_byte_for_byte(world: World) -> None:
    names = [
        "$$",
        "$$$",
        "a $age$ b",
        "$1",
        "$name",
        "it's",
        'a"b',
        "back\\slash",
        "new\nline",
        "x::y",
        "\u0001",
        "\U0001f419",
        "NULL",
    ]
    world.harvest("log/1", *(NodeMention(kind="text", name=name) for name in names))
    assert sorted(node.name for node in world.nodes().nodes) == sorted(names)
    rows = world.graph.db.run(
        lambda conn: conn.execute('SELECT properties::json FROM knowledge."GraphNode"').fetchall()
    )
    assert sorted(row[0]["name"] for row in rows) == sorted(names)


def test_predicates_of_any_spelling_use_the_same_four_labels(world: World) -> None:
    predicates = ["non-compliant", "composed of ...", "由...组成", "für", "1st choice", "match"]
    world.harvest("log/1", *(says(AURORA, predicate, ALVA) for predicate in predicates))
    for predicate in predicates:
        assert [edge.predicate for edge in world.edges(predicate=predicate).edges] == [predicate]
    labels = world.graph.db.run(lambda conn: conn.execute("SELECT count(*) FROM ag_catalog.ag_label").fetchone())
    assert labels == (6,)


def test_an_unchanged_fact_incorporated_again_changes_no_row(world: World) -> None:
    world.harvest("log/1", AURORA, says(AURORA, "berthed in", ALVA))
    before = _rows(world)
    world.graph.db.run(lambda conn: conn.execute("UPDATE pilotswarm_facts.facts SET last_crawled_at = NULL"))
    assert incorporate(world, "log/1", nodes=[AURORA], edges=[says(AURORA, "berthed in", ALVA)]).outcome == "acked"
    assert _rows(world) == before


def _rows(world: World) -> list[Any]:
    tables = ("node", "edge", "mention", "observation", "surface")
    return [
        world.graph.db.run(
            lambda conn, table=table: conn.execute(
                f"SELECT xmin::text, t.* FROM knowledge_registry.{table} t ORDER BY 2, 3"
            ).fetchall()
        )
        for table in tables
    ]
