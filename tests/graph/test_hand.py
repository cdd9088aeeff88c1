"""What agents assert, remove and merge by hand."""

import pytest

from facts import DeleteFactInput
from facts.errors import Conflict, InvalidArgument, NotFound
from graph.model import Author, EdgeMention, EdgeUpsert, NodeMention, NodeRef, NodeUpsert
from tests.graph.world import World

SCRIBE = Author(agent_id="tester")


def edge(world: World, confidence: float, *evidence: str) -> tuple[float, int, bool]:
    asked = EdgeUpsert(
        from_key="port:alva", to_key="port:brek", predicate="trades with", confidence=confidence, evidence=evidence
    )
    done = world.graph.upsert_edge(asked, SCRIBE)
    return done.confidence, done.observations, done.reinforced


@pytest.fixture
def ports(world: World) -> World:
    for name in ("Alva", "Brek"):
        world.node("Port", name)
    return world


def test_new_evidence_reinforces_and_known_evidence_is_a_no_op(ports: World) -> None:
    assert edge(ports, 0.6, "shared:t/1") == (0.6, 1, False)
    assert edge(ports, 0.45, "shared:t/2") == (0.78, 2, True)
    assert edge(ports, 0.99, "shared:t/1") == (0.78, 2, False)
    assert edge(ports, 0.99) == (0.78, 2, False)


def test_a_stronger_statement_takes_over_every_key_of_an_older_one(ports: World) -> None:
    edge(ports, 0.6, "shared:a")
    assert edge(ports, 0.9, "shared:a", "shared:b") == (0.9, 1, True)


def test_repetition_without_evidence_never_reinforces(ports: World) -> None:
    assert edge(ports, 0.5) == (0.5, 1, False)
    assert edge(ports, 0.5) == (0.5, 1, False)


def test_sixty_observations_read_certain_and_removing_one_leaves_fifty_nine(ports: World) -> None:
    for number in range(60):
        confidence, observations, _ = edge(ports, 0.5, f"shared:t/{number}")
    assert (confidence, observations) == (1.0, 60)
    ports.graph.remove_evidence("shared:t/7")
    (left,) = ports.edges().edges
    assert left.observations == 59


def test_an_edge_needs_both_of_its_nodes(ports: World) -> None:
    asked = EdgeUpsert(from_key="port:alva", to_key="port:nowhere", predicate="x")
    with pytest.raises(NotFound) as refused:
        ports.graph.upsert_edge(asked, SCRIBE)
    assert refused.value.argument == "toKey"
    assert ports.triples() == []


def test_a_self_edge_is_refused(ports: World) -> None:
    with pytest.raises(InvalidArgument):
        ports.graph.upsert_edge(EdgeUpsert(from_key="port:alva", to_key="port:alva", predicate="x"), SCRIBE)


def test_a_deleted_fact_cannot_be_cited(ports: World) -> None:
    ports.store("t/1")
    ports.facts.delete(DeleteFactInput(key="t/1", shared=True))
    with pytest.raises(Conflict, match="shared:t/1"):
        edge(ports, 0.5, "shared:t/1")
    assert ports.triples() == []


def test_a_cited_fact_that_was_edited_reads_as_stale_until_it_is_named_again(ports: World) -> None:
    ports.store("t/1", "old")
    edge(ports, 0.5, "shared:t/1")
    ports.store("t/1", "new")
    (seen,) = ports.edges().edges
    assert (list(seen.evidence), list(seen.stale_evidence or ())) == (["shared:t/1"], ["shared:t/1"])
    edge(ports, 0.9, "shared:t/1")
    (seen,) = ports.edges().edges
    assert (seen.confidence, list(seen.stale_evidence or ())) == (0.5, [])


def test_removing_evidence_in_any_order_leaves_no_orphan(world: World) -> None:
    world.node("Buoy", "One", "shared:b/1")
    world.node("Buoy", "Two", "shared:b/2")
    world.edge("buoy:one", "marks", "buoy:two", "shared:b/2")
    world.graph.remove_evidence("shared:b/1")
    assert world.keys() == ["buoy:one", "buoy:two"]
    removal = world.graph.remove_evidence("shared:b/2")
    assert (removal.nodes_deleted, removal.edges_deleted, world.keys()) == (2, 1, [])
    counts = world.graph.db.run(
        lambda conn: [conn.execute(f"SELECT count(*) FROM knowledge_registry.{table}").fetchone() for table in
                      ("node", "edge", "mention", "surface", "observation", "assertion", "citation", "source")]
    )  # fmt: skip
    assert counts == [(0,)] * 8


def test_a_merge_joins_and_an_unmerge_restores_exactly(world: World) -> None:
    world.node("Captain", "J. Rask", "shared:m/1", aliases=["Rask"])
    world.node("Captain", "Jon Rask", "shared:m/2")
    world.node("Ship", "Aurora")
    world.edge("captain:j-rask", "commands", "ship:aurora", "shared:m/1", confidence=0.5)
    world.edge("captain:jon-rask", "commands", "ship:aurora", "shared:m/2", confidence=0.6)
    before = (world.nodes(), world.edges())
    record = world.graph.merge_nodes("captain:j-rask", "captain:jon-rask", "same person", SCRIBE)
    (captain,) = world.nodes(kind="captain").nodes
    assert list(captain.aliases) == ["Jon Rask", "Rask", "J. Rask"]
    assert list(captain.evidence) == ["shared:m/2", "shared:m/1"]
    (joined,) = world.edges().edges
    assert (joined.confidence, joined.observations, list(joined.evidence)) == (0.8, 2, ["shared:m/2", "shared:m/1"])
    world.graph.unmerge_nodes(record.merge_id, SCRIBE)
    after = (world.nodes(), world.edges())
    assert [n.node_key for n in after[0].nodes] == [n.node_key for n in before[0].nodes]
    assert [(e.from_key, e.confidence, list(e.evidence)) for e in after[1].edges] == [
        (e.from_key, e.confidence, list(e.evidence)) for e in before[1].edges
    ]


def test_merges_can_be_taken_back_in_any_order(world: World) -> None:
    for name in ("A", "B", "C"):
        world.node("Thing", name, f"shared:{name}")
    first = world.graph.merge_nodes("thing:a", "thing:b", "one", SCRIBE)
    second = world.graph.merge_nodes("thing:b", "thing:c", "one", SCRIBE)
    assert world.keys() == ["thing:c"]
    world.graph.unmerge_nodes(first.merge_id, SCRIBE)
    assert world.keys() == ["thing:a", "thing:c"]
    world.graph.unmerge_nodes(second.merge_id, SCRIBE)
    assert [list(node.evidence) for node in world.nodes().nodes] == [["shared:A"], ["shared:B"], ["shared:C"]]
    with pytest.raises(Conflict):
        world.graph.unmerge_nodes(second.merge_id, SCRIBE)


def test_what_a_fact_says_later_follows_the_recorded_merge(world: World) -> None:
    world.node("Thing", "A")
    world.node("Thing", "B")
    world.graph.merge_nodes("thing:a", "thing:b", "one", SCRIBE)
    world.harvest("log/1", NodeMention(kind="Thing", name="A"), NodeMention(kind="Thing", name="C"),
                  EdgeMention(source="thing:a", target="thing:c", predicate="near"),
                  EdgeMention(source="thing:a", target="thing:b", predicate="near"))  # fmt: skip
    assert world.keys() == ["thing:b", "thing:c"]
    assert world.triples() == ["thing:b near thing:c"]


def test_merging_a_node_with_itself_is_refused_and_changes_nothing(world: World) -> None:
    world.node("Thing", "A")
    with pytest.raises(InvalidArgument):
        world.graph.merge_nodes("thing:a", "thing:a", "why", SCRIBE)
    assert world.keys() == ["thing:a"]


def _berth(world: World) -> str:
    ship, port = NodeRef(kind="Ship", name="Aurora"), NodeRef(kind="Port", name="Alva")
    return world.harvest("log/1", NodeMention(kind="Ship", name="Aurora"), NodeMention(kind="Port", name="Alva"),
                         EdgeMention(source=ship, target=port, predicate="berthed in"))  # fmt: skip


def test_a_deleted_node_comes_back_from_the_facts_put_on_the_queue(world: World) -> None:
    key = _berth(world)
    assert world.graph.delete_node("ship:aurora")
    assert (world.keys(), world.triples()) == (["port:alva"], [])
    fact = world.facts.inspect(key)
    assert fact is not None
    assert not fact.crawled
    _berth(world)
    assert world.triples() == ["ship:aurora berthed_in port:alva"]


def test_a_node_deleted_without_requeue_stays_away_until_its_fact_is_incorporated_again(world: World) -> None:
    key = _berth(world)
    assert world.graph.delete_node("ship:aurora", requeue=False)
    fact = world.facts.inspect(key)
    assert fact is not None
    assert fact.crawled
    assert not world.graph.delete_node("ship:aurora")
    world.harvest("log/9", NodeMention(kind="Ship", name="Aurora", aliases=["Dawn"]))
    (ship,) = world.nodes(kind="ship").nodes
    assert (list(ship.evidence), list(ship.aliases)) == (["shared:log/9"], ["Dawn", "Aurora"])


def test_a_namespace_is_a_guard(world: World) -> None:
    world.node("Ship", "Aurora", namespace="corpus/sea")
    assert not world.graph.delete_node("ship:aurora", namespace="corpus/land")
    assert world.graph.delete_node("ship:aurora", namespace="corpus")


def test_an_agent_that_gives_no_namespace_keeps_the_one_it_gave(world: World) -> None:
    ask = lambda **more: world.graph.upsert_node(NodeUpsert(kind="Doc", name="Root", **more), SCRIBE)  # noqa: E731
    assert ask(namespace="corpus/sea").namespace == "corpus/sea"
    assert ask().namespace == "corpus/sea"
    assert ask(namespace="  ").namespace is None
