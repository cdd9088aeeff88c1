"""The usual graph store on AGE: look the thing up, decide in Python, write it with Cypher; one item at a time.

The statements are those that such stores send: properties in the pattern's map, one round trip a question. Run on a
slice of facts against a graph that is already of the size in question.
"""

import json
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import psycopg
from psycopg import sql

from tests.benchmarks.steps import Run
from tests.benchmarks.workload import CONFIDENCE, Fact, Node


def load(connection: psycopg.Connection, facts: Sequence[Fact], *, size: int) -> Run:
    """The facts one after the other, one transaction each."""
    connection.execute("LOAD 'age'")
    connection.execute("SET search_path = ag_catalog, public")
    connection.commit()
    began = perf_counter()
    for fact in facts:
        store(connection, fact)
        connection.commit()
    return Run(system="look-up-then-write Cypher", size=size, facts=len(facts), seconds=perf_counter() - began)


def store(connection: psycopg.Connection, fact: Fact) -> None:
    """One fact: its two nodes with their evidence, and its edge."""
    for node in (fact.source, fact.target):
        store_node(connection, node)
        store_evidence(connection, node, fact)
    store_edge(connection, fact)


def store_node(connection: psycopg.Connection, node: Node) -> None:
    """Look up, then create what is missing."""
    key, name, kind = quoted(node.key), quoted(node.name), quoted(node.kind)
    if not run(connection, f"MATCH (r:GraphNode {{node_key: {key}}}) RETURN r"):
        run(connection, f"CREATE (r:GraphNode {{node_key: {key}, kind: {kind}, name: {name}}}) RETURN r")


def store_evidence(connection: psycopg.Connection, node: Node, fact: Fact) -> None:
    """The anchor, and the row between node and anchor."""
    key, scope_key = quoted(node.key), quoted(fact.scope_key)
    run(
        connection,
        f"MATCH (n:GraphNode {{node_key: {key}}}) MERGE (f:Fact {{scope_key: {scope_key}}}) "
        "MERGE (n)-[r:EVIDENCED_BY]->(f) RETURN r",
    )


def store_edge(connection: psycopg.Connection, fact: Fact) -> None:
    """Look up, combine in Python, then create or set."""
    source, target, scope_key = quoted(fact.source.key), quoted(fact.target.key), quoted(fact.scope_key)
    predicate, predicate_key = quoted(fact.predicate), quoted(fact.predicate.replace(" ", "_"))
    ends = f"(a:GraphNode {{node_key: {source}}})-[r:REL {{predicate_key: {predicate_key}}}]->"
    pattern = f"{ends}(b:GraphNode {{node_key: {target}}})"
    found = run(connection, f"MATCH {pattern} RETURN r")
    if not found:
        run(
            connection,
            f"MATCH (a:GraphNode {{node_key: {source}}}), (b:GraphNode {{node_key: {target}}}) "
            f"CREATE (a)-[r:REL {{predicate: {predicate}, predicate_key: {predicate_key}, "
            f"confidence: {CONFIDENCE}, observations: 1, evidence: [{scope_key}]}}]->(b) RETURN r",
        )
        return
    edge = json.loads(found[0].removesuffix("::edge"))["properties"]
    confidence = 1 - (1 - edge["confidence"]) * (1 - CONFIDENCE)
    evidence = json.dumps([*edge["evidence"], fact.scope_key])
    run(
        connection,
        f"MATCH {pattern} SET r.confidence = {confidence}, r.observations = {edge['observations'] + 1}, "
        f"r.evidence = {evidence} RETURN r",
    )


def run(connection: psycopg.Connection, query: str) -> list[str]:
    """One Cypher statement; its rows as text."""
    statement = sql.SQL("SELECT r FROM cypher('raw', {}) AS (r agtype)").format(sql.SQL(f"$body${query}$body$"))
    rows: list[Any] = connection.execute(statement).fetchall()
    return [row[0] for row in rows]


def quoted(text: str) -> str:
    """A Cypher string; names of the workload hold nothing that needs more."""
    return json.dumps(text)
