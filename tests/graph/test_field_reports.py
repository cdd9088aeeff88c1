"""What users of comparable systems met, each as a test (the letters are those of the reports).

Told elsewhere: A01 and A06 in `test_incorporate`, C04 in `test_read_plans`, C06 in `test_neighbourhood`, C07 in
`test_doctor` and `test_rebuild`, E03 in `test_incorporate` and `test_hand`, F03 in `test_doctor`, F04 in `test_erasure`.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from facts import DeleteFactInput, open_fact_store
from facts.access import UNRESTRICTED
from facts.errors import InvalidArgument, Unavailable
from facts.sqlfiles import checked_identifier
from graph.cypher import CypherQuery
from graph.model import Author, EdgeMention, Incorporation, NodeMention, NodeRef, Provenance
from graph.store import open_graph_store
from graph.tables import DEFAULT_GRAPH, DEFAULT_REGISTRY, graph_queries

if TYPE_CHECKING:
    from facts.embedded import EmbeddedServer
    from tests.graph.world import World

HOSTILE = (
    "This isn't working",
    "back\\slash",
    'say "no"',
    "two\nlines",
    "a::b",
    "$$ $1 $age$",
    "\U0001f40b",
    "{braces} %s",
)
ANN = Author(agent_id="ann")


@pytest.mark.parametrize("threshold", [0, None])
def test_a02_every_write_and_read_takes_any_text_with_and_without_prepared_statements(
    world: World, threshold: int | None
) -> None:
    with world.facts.db.connect() as conn:
        conn.prepare_threshold = threshold
    for text in HOSTILE:
        key = world.node("Thing", text, f"shared:{text}", aliases=[f"{text} too"], identity="exact")
        world.edge(key, f"is {text}", world.node("Thing", "anchor"), f"shared:{text}")
        (node,) = world.nodes(name_like=text, limit=1).nodes
        assert (node.name, [*node.aliases], [*node.evidence]) == (text, [f"{text} too", text], [f"shared:{text}"])
        assert [edge.predicate for edge in world.edges(from_key=key).edges] == [f"is {text}"]


def test_a05_ids_stay_where_a_browser_does_not_round_them(world: World) -> None:
    """A graphid is (label id << 48) + our id: with the fixed set of labels it stays below 2**53."""
    world.harvest(
        "log", EdgeMention(source=NodeRef(kind="A", name="a"), target=NodeRef(kind="B", name="b"), predicate="p")
    )
    query = CypherQuery(cypher="MATCH (a)-[r:REL]->(b) RETURN a, r, b")
    ((start, edge, end),) = world.graph.query(query, UNRESTRICTED).rows
    assert (edge["start_id"], edge["end_id"]) == (start["id"], end["id"])
    with world.facts.db.transaction() as conn:
        row = conn.execute("SELECT max(id) FROM ag_catalog.ag_label").fetchone()
    assert row is not None
    assert row[0] < 2**53 >> 48


@pytest.mark.parametrize(
    "name", ["tenant-67c880", "67c880", "x'); DROP SCHEMA public CASCADE; --", "a" * 64, "", "Knowledge", "ü"]
)
def test_a07_a_bad_schema_or_graph_name_is_refused_before_any_sql(name: str) -> None:
    with pytest.raises(InvalidArgument, match="schema or graph name") as caught:
        checked_identifier(name, argument="graph_name")
    assert caught.value.argument == "graph_name"
    assert checked_identifier("a" * 63, argument="graph_name") == "a" * 63


def test_b01_one_key_three_times_in_a_batch_is_one_node_and_the_first_spelling_shows(world: World) -> None:
    a, b = NodeRef(kind="Ship", name="Aurora"), NodeRef(kind="Port", name="Bergen")
    spelled = [NodeMention(kind="Ship", name=name) for name in ("Aurora", "AURORA", "aurora!")]
    world.harvest("log", *spelled, EdgeMention(source=a, target=b, predicate="in"))
    world.harvest("log/2", EdgeMention(source=a, target=b, predicate="in"))
    assert [(node.node_key, node.name) for node in world.nodes().nodes] == [
        ("port:bergen", "Bergen"),
        ("ship:aurora", "Aurora"),
    ]
    assert world.triples() == ["ship:aurora in port:bergen"]


def test_b03_six_workers_start_at_once_and_none_makes_a_table(database_url: str, server: EmbeddedServer) -> None:
    began = server.log_path.stat().st_size
    for _ in range(3):
        barrier = Barrier(6)

        def start(barrier: Barrier = barrier) -> int:
            barrier.wait()
            with open_fact_store(database_url) as facts, open_graph_store(facts=facts) as graph:
                return graph.stats(access=UNRESTRICTED).totals.nodes

        with ThreadPoolExecutor(6) as pool:
            assert [each.result() for each in [pool.submit(start) for _ in range(6)]] == [0] * 6
    with server.log_path.open(encoding="utf-8", errors="replace") as log:
        log.seek(began)
        assert "ERROR" not in log.read()


def test_b03_an_unmigrated_database_is_refused_with_the_command_to_run(empty_database_url: str) -> None:
    with pytest.raises(Unavailable, match="harvester migrate"), open_fact_store(empty_database_url) as facts:
        open_graph_store(facts=facts)


def test_b03_writing_needs_no_right_to_create(world: World, database_url: str) -> None:
    role = sql.Identifier("plain_" + re.sub(r"\W", "_", database_url.rsplit("/", 1)[-1].partition("?")[0]))
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        for schema in ("knowledge", "knowledge_registry", "pilotswarm_facts", "ag_catalog"):
            name = sql.Identifier(schema)
            owner.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(name, role))
            owner.execute(sql.SQL("GRANT ALL ON ALL TABLES IN SCHEMA {} TO {}").format(name, role))
            owner.execute(sql.SQL("GRANT ALL ON ALL SEQUENCES IN SCHEMA {} TO {}").format(name, role))
        try:
            owner.execute(sql.SQL("SET ROLE {}").format(role))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute("CREATE TABLE knowledge.more (id int)")
        finally:
            owner.execute("RESET ROLE")
        plain = psycopg.conninfo.make_conninfo(database_url, user=role.as_string(None).strip('"'))
        with open_fact_store(plain) as facts, open_graph_store(facts=facts) as graph:
            other = type(world)(facts, graph)
            other.harvest("log", NodeMention(kind="Ship", name="A"))
            other.edge(other.node("Ship", "B", "shared:log"), "tows", "ship:a", "shared:log")
            graph.merge_nodes("ship:b", "ship:a", "one ship", ANN)
            assert graph.delete_node("ship:a")
        owner.execute(sql.SQL("DROP OWNED BY {}").format(role))
        owner.execute(sql.SQL("DROP ROLE {}").format(role))


def test_b06_no_statement_on_the_write_path_is_cypher() -> None:
    """AGE's clauses do not see each other's writes; ours are ordinary SQL, one effect after another."""
    for file, queries in graph_queries(DEFAULT_GRAPH, DEFAULT_REGISTRY).items():
        for name in queries:
            if (file, name) == ("checks", "read_probe"):
                continue
            text = getattr(queries, name).as_string(None)
            assert not re.search(r"\bcypher\s*\(", text), f"{file}.{name}"
            assert not re.search(r"\bMERGE\s+INTO\b", text), f"{file}.{name}"


def test_c01_the_first_cypher_after_all_backends_were_cut_works(world: World, database_url: str) -> None:
    world.node("Ship", "A")
    query = CypherQuery(cypher="MATCH (n:GraphNode) RETURN n.node_key")
    assert world.graph.query(query, UNRESTRICTED).rows == (("ship:a",),)
    with psycopg.connect(database_url, autocommit=True) as killer:
        killer.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert world.graph.query(query, UNRESTRICTED).rows == (("ship:a",),)


def test_c03_label_tables_have_exactly_the_columns_of_age(world: World) -> None:
    with world.facts.db.transaction() as conn:
        rows = conn.execute(
            """SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum), bool_or(c.relrowsecurity)
               FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
               WHERE c.relnamespace = 'knowledge'::regnamespace AND c.relkind = 'r' GROUP BY 1"""
        ).fetchall()
    vertex, edge = ["id", "properties"], ["id", "start_id", "end_id", "properties"]
    assert {name: columns for name, columns, _ in rows} == {
        "_ag_label_vertex": vertex, "GraphNode": vertex, "Fact": vertex,
        "_ag_label_edge": edge, "REL": edge, "EVIDENCED_BY": edge,
    }  # fmt: skip
    assert not any(secured for *_, secured in rows)


def test_e01_one_name_of_two_kinds_is_two_nodes_and_a_suggestion(world: World) -> None:
    world.harvest("log/1", NodeMention(kind="Person", name="Thalie"))
    world.harvest("log/2", NodeMention(kind="Creature", name="THALIE"))
    world.edge("person:thalie", "meets", world.node("Place", "Weir"), "shared:log/1")
    assert world.keys(name_like="thalie") == ["creature:thalie", "person:thalie"]
    suggested = world.graph.merge_suggestions(access=UNRESTRICTED).suggestions
    assert {frozenset((each.from_key, each.into_key)) for each in suggested} == {
        frozenset(("creature:thalie", "person:thalie"))
    }
    before = (world.nodes().nodes, world.edges().edges)
    merged = world.graph.merge_nodes("person:thalie", "creature:thalie", "one being", ANN)
    assert world.triples() == ["creature:thalie meet place:weir"]
    world.graph.unmerge_nodes(merged.merge_id, ANN)
    assert json.dumps([before], default=_seen) == json.dumps(
        [(world.nodes().nodes, world.edges().edges)], default=_seen
    )


def _seen(item: object) -> object:
    """A record without its times."""
    names = getattr(item, "__dataclass_fields__", None) or getattr(item, "_fields", ())
    return {name: getattr(item, name) for name in names if "seen" not in name and not name.endswith("_at")}


def test_f01_a_run_of_deletions_only_empties_the_graph(world: World) -> None:
    world.harvest("log", NodeMention(kind="Ship", name="Lone"))
    world.facts.delete(DeleteFactInput(key="log", shared=True))
    tombstone = world.facts.inspect("shared:log")
    assert tombstone is not None
    (done,) = world.graph.incorporate(
        [Incorporation(scope_key="shared:log", etag=tombstone.etag)], Provenance(writer="triples")
    )
    assert (done.outcome, world.keys()) == ("acked", [])
    assert world.facts.purge().purged == 1
