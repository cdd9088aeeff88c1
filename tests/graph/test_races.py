"""Writers that meet: overlap is made with barriers and two connections, never with a sleep."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from facts import DeleteFactInput, open_fact_store
from facts.embedded import EmbeddedServer
from graph.model import Author, EdgeMention, EdgeUpsert, Incorporation, NodeMention, NodeRef, NodeUpsert, Provenance
from graph.store import GraphStore, open_graph_store
from tests.graph.world import World

WRITERS, NAMES, ROUNDS = 8, 20, 25


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Run acts in threads that all start at one moment."""
    barrier = Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        barrier.wait()
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result() for future in [pool.submit(run, act) for act in acts]]


@pytest.fixture
def stores(database_url: str) -> Any:
    """One graph store a writer, each with its own connections."""
    facts = [open_fact_store(database_url) for _ in range(WRITERS)]
    yield [open_graph_store(facts=each) for each in facts]
    for each in facts:
        each.close()


def test_eight_writers_on_the_same_nodes_and_edges_leave_each_once_with_every_evidence(
    stores: list[GraphStore], server: EmbeddedServer
) -> None:
    began = server.log_path.stat().st_size

    def write(number: int) -> Callable[[], None]:
        author = Author(agent_id=f"writer-{number}")

        def act() -> None:
            order = range(NAMES) if number % 2 else range(NAMES - 1, -1, -1)
            for turn in range(ROUNDS):
                for name in order:
                    key = f"shared:w{number}/{turn}/{name}"
                    stores[number].upsert_node(NodeUpsert(kind="Buoy", name=f"N{name}", evidence=[key]), author)
                    if turn:
                        stores[number].upsert_edge(
                            EdgeUpsert(from_key=f"buoy:n{name}", to_key=f"buoy:n{(name + 1) % NAMES}", predicate="next",
                                       confidence=0.001, evidence=[key]), author)  # fmt: skip

        return act

    rounds = ROUNDS
    together(*(write(number) for number in range(WRITERS)))
    graph = stores[0]
    expected = 1 - (1 - 0.001) ** (WRITERS * (rounds - 1))
    rows = graph.db.run(
        lambda conn: conn.execute("SELECT observations, confidence FROM knowledge_registry.edge").fetchall()
    )
    assert [count for count, _ in rows] == [WRITERS * (rounds - 1)] * NAMES
    assert [confidence for _, confidence in rows] == [pytest.approx(expected, abs=1e-9)] * NAMES
    labels = graph.db.run(
        lambda conn: [
            conn.execute(f'SELECT count(*) FROM knowledge."{label}"').fetchone()[0]
            for label in ("GraphNode", "REL", "EVIDENCED_BY")
        ]
    )
    assert labels == [NAMES, NAMES, NAMES * WRITERS * rounds]
    assert "deadlock detected" not in log_since(server.log_path, began)


def log_since(path: Path, size: int) -> str:
    with path.open(encoding="utf-8", errors="replace") as log:
        log.seek(size)
        return log.read()


def harvest_as(
    store: GraphStore, key: str, *nodes: NodeMention, edges: tuple[EdgeMention, ...] = ()
) -> Callable[[], str]:
    def act() -> str:
        fact = store.facts.inspect(f"shared:{key}")
        assert fact is not None
        item = Incorporation(scope_key=f"shared:{key}", etag=fact.etag, nodes=nodes, edges=edges)
        return store.incorporate([item], Provenance(writer="triples"))[0].outcome

    return act


def test_two_harvesters_of_one_fact_give_one_acknowledgement(stores: list[GraphStore]) -> None:
    world = World(stores[0].facts, stores[0])
    for turn in range(20):
        world.store("log/1", turn)
        act = [harvest_as(store, "log/1", NodeMention(kind="Ship", name=f"S{turn}")) for store in stores[:2]]
        assert sorted(together(*act)) == ["acked", "stale"]
    assert world.keys() == ["ship:s19"]


def test_the_last_support_going_while_another_comes_leaves_no_dangling_edge(stores: list[GraphStore]) -> None:
    world = World(stores[0].facts, stores[0])
    ship, port = NodeRef(kind="Ship", name="A"), NodeRef(kind="Port", name="B")
    edge = EdgeMention(source=ship, target=port, predicate="in")
    for turn in range(30):
        world.store("gone", turn)
        harvest_as(stores[0], "gone", NodeMention(kind="Ship", name="A"))()
        world.facts.delete(DeleteFactInput(key="gone", shared=True))
        world.store("comes", turn)
        done = together(harvest_as(stores[0], "gone"), harvest_as(stores[1], "comes", edges=(edge,)))
        assert done == ["acked", "acked"]
        assert dangling(stores[0]) == 0
        assert world.triples() == ["ship:a in port:b"]
        world.store("comes", [turn, "empty"])
        harvest_as(stores[1], "comes")()
        assert world.keys() == []


def dangling(store: GraphStore) -> int:
    row = store.db.run(
        lambda conn: conn.execute(
            """SELECT count(*) FROM knowledge."REL" r WHERE NOT EXISTS
               (SELECT FROM knowledge."GraphNode" n WHERE n.id OPERATOR(ag_catalog.=) r.start_id) OR NOT EXISTS
               (SELECT FROM knowledge."GraphNode" n WHERE n.id OPERATOR(ag_catalog.=) r.end_id)"""
        ).fetchone()
    )
    return int(row[0]) if row else -1


def test_a_merge_that_meets_writers_of_both_nodes_loses_nothing(stores: list[GraphStore]) -> None:
    world = World(stores[0].facts, stores[0])
    scribe = Author(agent_id="scribe")
    for turn in range(15):
        for name in ("A", "B"):
            world.node("Thing", name, f"shared:{turn}/{name}")
        for key in ("one", "two"):
            world.store(key, [turn, key])
        record, *outcomes = together(
            lambda: stores[0].merge_nodes("thing:a", "thing:b", "one", scribe),
            harvest_as(stores[1], "one", NodeMention(kind="Thing", name="A", aliases=[f"x{turn}"])),
            harvest_as(stores[2], "two", NodeMention(kind="Thing", name="B")),
        )
        assert outcomes == ["acked", "acked"]
        (node,) = world.nodes(kind="thing").nodes
        assert {"shared:one", "shared:two"} <= set(node.evidence)
        stores[0].unmerge_nodes(record.merge_id, scribe)
        assert {n.node_key: "shared:one" in n.evidence for n in world.nodes(kind="thing").nodes} == {
            "thing:a": True,
            "thing:b": False,
        }


def test_evidence_attached_while_its_fact_is_deleted_never_stays_on_a_reconciled_tombstone(
    stores: list[GraphStore],
) -> None:
    world = World(stores[0].facts, stores[0])
    for turn in range(20):
        key = world.store("cited", turn)

        def cite(key: str = key) -> str:
            try:
                stores[0].upsert_node(NodeUpsert(kind="Thing", name="X", evidence=[key]), Author(agent_id="a"))
            except Exception as error:  # noqa: BLE001 - the race decides; what matters is the state after it
                return type(error).__name__
            return "cited"

        def bury() -> str:
            stores[1].facts.delete(DeleteFactInput(key="cited", shared=True))
            return harvest_as(stores[1], "cited")()

        together(cite, bury)
        assert world.keys() == []
