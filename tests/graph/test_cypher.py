from __future__ import annotations

import psycopg
import pytest

from facts.access import UNRESTRICTED
from facts.errors import Busy, InvalidArgument, NotPermitted
from graph import cypher as cypher_module
from graph.cypher import CypherQuery, as_models, called_functions
from tests.graph.world import reader


def ask(world, text, access=UNRESTRICTED, **more):
    return world.graph.query(CypherQuery(cypher=text, **more), access)


@pytest.fixture
def isles(world):
    ona, rost = world.node("Isle", 'O"na\n'), world.node("Isle", "Rost")
    world.edge(ona, "bridge", rost, confidence=0.5)
    return world


def test_rows_come_as_json_with_escapes_resolved(isles):
    found = ask(isles, "MATCH (n:GraphNode) RETURN n.node_key, n.name ORDER BY n.node_key", columns=["key", "name"])
    assert found.columns == ("key", "name")
    assert found.rows == (("isle:o-na", 'O"na'), ("isle:rost", "Rost"))
    assert not found.truncated


def test_every_kind_of_value_survives(isles):
    found = ask(isles, "RETURN 1, 2.5, true, null, 'a\"b', [1, {k: 'v'}], 9223372036854775807, 1.5::numeric")
    assert found.rows == ((1, 2.5, True, None, 'a"b', [1, {"k": "v"}], 9223372036854775807, 1.5),)
    assert found.columns == tuple(f"column{number}" for number in range(1, 9))


def test_parameters_are_values_and_never_text(isles):
    text = "MATCH (n:GraphNode) WHERE n.name = $name RETURN n.node_key"
    assert ask(isles, text, params={"name": "Rost"}).rows == (("isle:rost",),)
    assert ask(isles, text, params={"name": "x' OR true //"}).rows == ()
    assert ask(isles, "RETURN $list, $map", params={"list": [1, "%s"], "map": {"a": None}}).rows == (
        ([1, "%s"], {"a": None}),
    )


@pytest.mark.parametrize(
    "text", ["'$$'", "'$t$ ) AS (a agtype); DROP TABLE x; --'", "'100%'", "'%(params)s'", "'{graph}'"]
)
def test_nothing_in_the_text_ends_its_quotes(isles, text):
    assert ask(isles, f"RETURN {text}").rows == ((text[1:-1],),)


def test_rows_beyond_the_limit_are_cut_and_told(isles):
    found = ask(isles, "UNWIND range(1, 50) AS n RETURN n", limit=3)
    assert (found.rows, found.truncated) == (((1,), (2,), (3,)), True)
    assert ask(isles, "RETURN 1", limit=5_000).cut == ("limit",)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (n:GraphNode {node_key: 'evil'}) RETURN n", "MATCH (n:GraphNode) SET n.name = 'x' RETURN n",
        "MATCH (n:GraphNode) DETACH DELETE n", "MERGE (n:GraphNode {node_key: 'evil'}) RETURN n",
        "CREATE (n:Fresh {a: 1})", "MATCH (n:GraphNode) REMOVE n.name RETURN n",
    ],
)  # fmt: skip
def test_cypher_that_writes_is_refused_and_leaves_nothing(isles, text):
    before = isles.nodes()
    with pytest.raises(NotPermitted):
        ask(isles, text)
    assert isles.nodes() == before
    with isles.graph.db.transaction() as conn:
        labels = conn.execute("SELECT count(*) FROM ag_catalog.ag_label WHERE name = 'Fresh'").fetchone()
        assert labels == (0,)
        keys = conn.execute(
            """SELECT count(*) FROM knowledge."GraphNode" WHERE properties::json ->> 'node_key' = 'evil'"""
        )
        assert keys.fetchone() == (0,)


@pytest.mark.parametrize(
    "text",
    [
        "RETURN pg_reload_conf()", "RETURN pg_catalog.pg_reload_conf()", "RETURN `pg_reload_conf`()",
        "RETURN pg_catalog . version ( )", "MATCH (n) WHERE version() = 'a' RETURN n", "RETURN nosuch(1)",
        "RETURN /* ' */ pg_reload_conf() /* ' */",
    ],
)  # fmt: skip
def test_only_cyphers_own_functions_may_be_called(isles, text):
    with pytest.raises(InvalidArgument, match="no function of Cypher"):
        ask(isles, text)


def test_names_in_texts_and_comments_are_no_calls():
    assert called_functions("RETURN 'pg_sleep(1)' // version()\n, toUpper(\"x(\")") == {"toupper"}
    assert called_functions("MATCH (a)-[:R]->(b) WHERE (a.x IN (1)) RETURN count(*), collect (b)") == {"collect"}
    assert called_functions("RETURN a.b(1), `odd name`(2)") == {".b", "`odd name`"}


def test_cypher_functions_may_be_called(isles):
    assert ask(isles, "MATCH (n:GraphNode) RETURN count(*), toUpper('a'), size(collect(n.name))").rows == ((2, "A", 2),)


def test_cypher_is_for_unrestricted_callers_only(isles):
    for access in (reader(), reader("s1")):
        with pytest.raises(NotPermitted):
            ask(isles, "RETURN 1", access)


def test_a_fault_in_the_text_is_told_in_one_line(isles):
    for text, words in (("MATCH (n RETURN n", "syntax error"), ("RETURN 1 / 0", "division by zero")):
        with pytest.raises(InvalidArgument, match=words) as caught:
            ask(isles, text)
        assert "\n" not in caught.value.message
    with pytest.raises(InvalidArgument, match="as many columns") as caught:
        ask(isles, "RETURN 1, 2", columns=["one"])
    assert caught.value.argument == "columns"
    assert ask(isles, "RETURN 1").rows == ((1,),)


@pytest.mark.parametrize(
    ("asked", "argument"),
    [({"params": {"a": float("nan")}}, "params"), ({"params": {"a": object()}}, "params"), ({"columns": []}, "columns"),
     ({"columns": ["a", "a"]}, "columns"), ({"limit": 0}, "limit"), ({"params": {"a": "\0"}}, "params")],
)  # fmt: skip
def test_a_bad_argument_of_a_query_is_named(isles, asked, argument):
    with pytest.raises(InvalidArgument) as caught:
        ask(isles, "RETURN 1", **asked)
    assert caught.value.argument == argument


def test_a_query_that_takes_too_long_is_stopped(isles, monkeypatch):
    monkeypatch.setattr(cypher_module, "CYPHER_SECONDS", 0.05)
    with pytest.raises(Busy):
        ask(isles, "UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b RETURN count(*)")


def test_vertices_edges_and_paths_come_as_models_too(isles):
    found = ask(isles, "MATCH p = (n:GraphNode)-[r:REL]->(m) RETURN n, r, p, nodes(p), n.name", columns=list("nrpsx"))
    ((vertex, edge, path, nodes, name),) = as_models(found)
    assert (vertex.label, vertex["name"]) == ("GraphNode", 'O"na')
    assert (edge.label, edge["confidence"], edge.start_id) == ("REL", 0.5, vertex.id)
    assert [type(part).__name__ for part in path] == ["Vertex", "Edge", "Vertex"]
    assert ([type(part).__name__ for part in nodes], name) == (["Vertex", "Vertex"], 'O"na')


# --- the quirks of AGE that graph/cypher.py rests on: when one of these fails, AGE has changed ------------------------


def raw(url, *statements):
    with psycopg.connect(url, autocommit=True) as conn:
        for statement in statements[:-1]:
            conn.execute(statement)
        return conn.execute(statements[-1], {"params": "{}"}).fetchall()


CALL = "SELECT {} FROM ag_catalog.cypher('knowledge', $t$ {} $t$, %(params)s{}) AS (a ag_catalog.agtype)"
PATH = "SET search_path TO pg_catalog, ag_catalog"
LOAD = "SELECT ag_catalog._graphid(1, 1)"


def test_age_cypher_needs_its_library_and_any_call_of_age_loads_it(world):
    with pytest.raises(psycopg.errors.InternalError_, match="unhandled cypher"):
        raw(world.graph.db.url, CALL.format("1", "RETURN 1", ""))
    assert raw(world.graph.db.url, LOAD, CALL.format("1", "RETURN 1", "")) == [(1,)]


def test_age_scalars_do_not_cast_to_json_but_lists_of_them_do(world):
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="cannot cast agtype integer to json"):
        raw(world.graph.db.url, LOAD, PATH, CALL.format("a::json", "RETURN 1", ""))
    assert raw(world.graph.db.url, LOAD, PATH, CALL.format("agtype_build_list(a)::json", "RETURN 1", "")) == [([1],)]


def test_age_takes_a_literal_text_only(world):
    with pytest.raises(psycopg.Error, match="dollar-quoted string constant"):
        raw(
            world.graph.db.url,
            LOAD,
            PATH,
            "SELECT 1 FROM ag_catalog.cypher('knowledge', %(params)s) AS (a ag_catalog.agtype)",
        )


def test_age_tells_a_wrong_width_by_these_words(world):
    with pytest.raises(psycopg.errors.DatatypeMismatch, match="column definition list"):
        raw(world.graph.db.url, LOAD, PATH, CALL.format("1", "RETURN 1, 2", ""))


def test_age_refuses_to_write_in_a_read_only_transaction(world):
    for text in ("CREATE (n:GraphNode)", "CREATE (n:Fresh)", "MERGE (n:GraphNode {a: 1})"):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            raw(world.graph.db.url, LOAD, PATH, "SET default_transaction_read_only = on", CALL.format("1", text, ""))


def test_age_operators_are_out_of_sight_without_the_search_path(world):
    world.node("Isle", "Ona")
    where = "MATCH (n:GraphNode) WHERE n.node_key = 'isle:ona' RETURN n.name"
    with pytest.raises(psycopg.Error, match="cannot cast agtype string to type boolean"):
        raw(world.graph.db.url, LOAD, CALL.format("a::text", where, ""))
    assert raw(world.graph.db.url, LOAD, PATH, CALL.format("a::text", where, "")) == [("Ona",)]


def test_age_lets_any_sql_function_be_called_from_cypher(world):
    found = raw(world.graph.db.url, LOAD, PATH, CALL.format("a::text", "RETURN pg_is_in_recovery()", ""))
    assert found == [("false",)]


def test_age_finds_a_node_by_key_through_the_expression_index_in_the_where_form_only(world):
    where = raw_plan(world, "MATCH (n:GraphNode) WHERE n.node_key = 'isle:ona' RETURN n.name")
    inline = raw_plan(world, "MATCH (n:GraphNode {node_key: 'isle:ona'}) RETURN n.name")
    assert "GraphNode_node_key" in where
    assert "GraphNode_node_key" not in inline


def raw_plan(world, text):
    rows = raw(
        world.graph.db.url, LOAD, PATH, "SET enable_seqscan = off", "EXPLAIN " + CALL.format("a::text", text, "")
    )
    return "\n".join(row[0] for row in rows)
