"""Each lock and each order has its race: with the rule the outcome is right, without it the fault appears.

The pairs run in a chosen interleaving, so both halves are certain, not likely.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from facts import DeleteFactInput, open_fact_store
from graph import engine
from graph.model import Author, EdgeMention, EdgeUpsert, Incorporation, NodeMention, NodeRef, NodeUpsert, Provenance
from graph.store import GraphStore, open_graph_store
from tests.graph.interleaving import Met, meet, taken_out
from tests.graph.world import World

KEPT, OUT = "kept", "taken out"
ANN = Author(agent_id="ann")
SHIP = NodeMention(kind="Ship", name="A")
SHARED_ONLY = """SELECT id, key, namespaces FROM knowledge_registry.node
    WHERE key = ANY (%(keys)s::text[]) AND %(exclusively)s::boolean[] IS NOT NULL ORDER BY key FOR KEY SHARE"""

rules = pytest.mark.parametrize("rule", [KEPT, OUT])


class Two:
    """Two writers on one database, each with connections of its own."""

    def __init__(self, url: str, one: GraphStore, two: GraphStore) -> None:
        self.url, self.one, self.two = url, one, two
        self.world = World(one.facts, one)

    def without(self, place: str, rule: str, instead: str = "") -> None:
        for store in (self.one, self.two):
            taken_out(store, place, rule, instead)

    def without_query(self, place: str, instead: str) -> None:
        file, name = place.split(".")
        self.without(place, getattr(getattr(self.one.tables, file), name).as_string(None), instead)

    def meet(self, first: Callable[[], Any], second: Callable[[], Any], *, before: str) -> Met:
        file, name = before.rsplit(".", 1)
        tables: Any = self.one.tables
        if file.startswith("facts."):
            tables, file = self.one.facts.tables, file.removeprefix("facts.")
        return meet(first, second, before=getattr(getattr(tables, file), name), watch=self.url)


@pytest.fixture
def two(database_url: str) -> Iterator[Two]:
    with open_fact_store(database_url) as one, open_fact_store(database_url) as other:
        yield Two(database_url, open_graph_store(facts=one), open_graph_store(facts=other))


def says(store: GraphStore, key: str, *nodes: NodeMention, edges: tuple[EdgeMention, ...] = ()) -> Callable[[], str]:
    """Incorporate a fact in the version it has now."""
    fact = store.facts.inspect(f"shared:{key}")
    assert fact is not None
    item = Incorporation(scope_key=f"shared:{key}", etag=fact.etag, nodes=nodes, edges=edges)
    return lambda: store.incorporate([item], Provenance(writer="triples"))[0].outcome


def asserts_edge(store: GraphStore, *evidence: str) -> Callable[[], object]:
    asked = EdgeUpsert(from_key="ship:a", to_key="ship:b", predicate="tows", confidence=0.5, evidence=evidence)
    return lambda: store.upsert_edge(asked, ANN)


@rules
def test_an_edge_is_locked_before_its_sum_is_made(two: Two, rule: str) -> None:
    for name in ("A", "B"):
        two.world.node("Ship", name)
    asserts_edge(two.one, "shared:1")()
    if rule == OUT:
        two.without("edges.lock_edges", "FOR UPDATE OF e")
    met = two.meet(asserts_edge(two.one, "shared:2"), asserts_edge(two.two, "shared:3"), before="edges.update_edges")
    (edge,) = two.world.edges().edges
    expected = (3, 0.875) if rule == KEPT else (2, 0.75)
    assert (met.overtaken, edge.observations, edge.confidence) == (rule == OUT, expected[0], pytest.approx(expected[1]))


@rules
def test_a_node_that_may_lose_its_last_support_is_locked_against_those_who_attach(two: Two, rule: str) -> None:
    two.world.harvest("gone", SHIP)
    two.world.store("gone", "empty")
    two.world.store("comes", "a ship")
    if rule == OUT:
        two.without_query("engine.lock_nodes", SHARED_ONLY)
    met = two.meet(says(two.one, "gone"), says(two.two, "comes", SHIP), before="engine.delete_nodes")
    assert met.overtaken is (rule == OUT)
    assert met.second == "acked"
    assert two.world.keys() == (["ship:a"] if rule == KEPT else [])


@rules
def test_whether_a_node_is_empty_is_judged_once_nobody_else_attaches(two: Two, rule: str) -> None:
    two.world.harvest("gone", SHIP)
    two.world.store("gone", "empty")
    two.world.store("comes", "a ship")
    if rule == OUT:
        two.without_query("engine.lock_nodes", SHARED_ONLY)
    met = two.meet(says(two.one, "comes", SHIP), says(two.two, "gone"), before="facts.receipts.acknowledge")
    assert (met.first, met.overtaken) == ("acked", False), "the one waits for the lock, the other only at its delete"
    assert two.world.keys() == (["ship:a"] if rule == KEPT else [])


def test_of_two_who_both_let_go_the_later_one_sees_that_nothing_is_left(two: Two) -> None:
    for key in ("one", "two"):
        two.world.harvest(key, SHIP)
        two.world.store(key, "empty")
    met = two.meet(says(two.one, "one"), says(two.two, "two"), before="facts.receipts.acknowledge")
    assert (met.first, met.second, met.overtaken) == ("acked", "acked", False)
    assert two.world.keys() == []


def test_nodes_are_locked_in_one_pass_at_their_final_strength(two: Two) -> None:
    """Whoever held a node shared and then wanted it exclusively would meet another one who does the same."""
    two.world.harvest("log", SHIP, NodeMention(kind="Ship", name="B"))
    two.world.store("log", "edited")
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def noted(self: "psycopg.Cursor[Any]", query: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(query.as_string(None) if isinstance(query, sql.Composable) else str(query))
        return execute(self, query, *args, **kwargs)

    with patch.object(psycopg.Cursor, "execute", noted):
        says(two.one, "log", SHIP, NodeMention(kind="Ship", name="C"))()
    locking = [getattr(two.one.tables.engine, name).as_string(None) for name in ("lock_nodes", "share_nodes")]
    assert [text in locking for text in sent].count(True) == 1


@rules
def test_a_cited_fact_is_locked_against_its_deletion(two: Two, rule: str) -> None:
    two.world.harvest("cited", NodeMention(kind="Port", name="P"))
    if rule == OUT:
        two.without("facts.receipts.lock_cited", "FOR NO KEY UPDATE OF f")

    def cite() -> object:
        return two.one.upsert_node(NodeUpsert(kind="Ship", name="A", evidence=["shared:cited"]), ANN)

    def bury() -> str:
        two.two.facts.delete(DeleteFactInput(key="cited", shared=True))
        return says(two.two, "cited")()

    met = two.meet(cite, bury, before="hand.make_assertion")
    assert (met.second, met.overtaken) == ("acked", rule == OUT)
    assert two.world.keys() == ([] if rule == KEPT else ["ship:a"])


@rules
def test_the_version_is_tested_under_the_lock_before_anything_is_written(two: Two, rule: str) -> None:
    two.world.store("log", "old")
    late = says(two.one, "log", NodeMention(kind="Ship", name="Old"))
    if rule == OUT:
        two.without("facts.receipts.lock_pending", "AND r.etag = f.etag")
        two.without("facts.receipts.lock_pending", "AND coalesce(f.last_crawled_at, '-infinity') = '-infinity'")

    def edit() -> str:
        two.world.store("log", "new")
        return says(two.two, "log", NodeMention(kind="Ship", name="New"))()

    met = two.meet(late, edit, before="facts.receipts.lock_pending")
    assert (met.first, met.overtaken) == ("stale" if rule == KEPT else "acked", True)
    assert two.world.keys() == (["ship:new"] if rule == KEPT else ["ship:old"])


@rules
def test_a_node_that_went_between_look_up_and_lock_is_made_anew(two: Two, rule: str) -> None:
    two.world.node("Ship", "A")
    two.world.store("comes", "a ship")
    gone = partial(two.two.delete_node, "ship:a")
    unseen = patch.object(engine, "_explain_missing", lambda *_: None) if rule == OUT else nullcontext()
    with unseen:
        met = two.meet(says(two.one, "comes", SHIP), gone, before="engine.share_nodes")
    assert (met.second, met.overtaken) == (True, True)
    assert (met.first, two.world.keys()) == ("acked", ["ship:a"]) if rule == KEPT else isinstance(met.first, KeyError)


@rules
def test_two_who_make_one_node_both_have_it(two: Two, rule: str) -> None:
    for key in ("one", "two"):
        two.world.store(key, "a ship")
    if rule == OUT:
        two.without("engine.insert_nodes", "ON CONFLICT (key) DO NOTHING")
    met = two.meet(says(two.one, "one", SHIP), says(two.two, "two", SHIP), before="engine.share_nodes")
    assert (met.first, met.overtaken) == ("acked", False)
    if rule == OUT:
        assert isinstance(met.second, Exception)
        assert isinstance(met.second.__cause__ or met.second, pg.UniqueViolation)
        return
    (node,) = two.world.nodes().nodes
    assert (met.second, sorted(node.evidence)) == ("acked", ["shared:one", "shared:two"])


def merges_loose(two: Two) -> None:
    """Writers and merges no longer exclude each other."""
    two.without("engine.hold_merges", "pg_advisory_xact_lock_shared", "abs")
    two.without("merging.merge_alone", "pg_advisory_xact_lock", "abs")


@rules
def test_no_key_is_merged_while_a_write_that_resolved_it_is_under_way(two: Two, rule: str) -> None:
    for name in ("A", "B"):
        two.world.node("Ship", name)
    two.world.store("comes", "a ship")
    if rule == OUT:
        merges_loose(two)
        two.without_query("engine.merge_epoch", "SELECT 0")
    merge = partial(two.two.merge_nodes, "ship:a", "ship:b", "one ship", ANN)
    port = NodeRef(kind="Port", name="P")
    said = EdgeMention(source=NodeRef(kind="Ship", name="A"), target=port, predicate="in")
    met = two.meet(says(two.one, "comes", edges=(said,)), merge, before="engine.known_nodes")
    assert (met.first, met.overtaken) == ("acked", rule == OUT)
    assert two.world.triples() == (["ship:b in port:p"] if rule == KEPT else ["ship:a in port:p"])


@rules
def test_a_survivor_is_not_deleted_while_keys_are_merged_into_it(two: Two, rule: str) -> None:
    for name in ("A", "B"):
        two.world.node("Ship", name)
    if rule == OUT:
        merges_loose(two)
    merge = partial(two.one.merge_nodes, "ship:a", "ship:b", "one ship", ANN)
    met = two.meet(merge, partial(two.two.delete_node, "ship:b"), before="engine.known_nodes")
    assert met.overtaken is (rule == OUT)
    assert two.world.keys() == ([] if rule == KEPT else ["ship:b"]), "merged, then deleted: nothing is left"
