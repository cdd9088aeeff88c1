"""What the write path is measured against: our own batches of INSERT ... ON CONFLICT on AGE label tables.

No queue, no ledger, no withdrawal, no validation: nodes, Fact anchors, evidence rows, and edges that reinforce. Keys
are ready beforehand; what is timed is what any such loader has to do, folding a batch included (ON CONFLICT cannot
touch a row twice in one statement).
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from time import perf_counter

import psycopg

from facts.sqlfiles import Queries, load_queries
from tests.benchmarks.steps import Run, Steps
from tests.benchmarks.workload import CONFIDENCE, Fact, Node, Totals

BATCH = 1_000


GRAPH = "raw"


def queries(graph: str = GRAPH) -> Queries:
    """The statements of `raw.sql`, over one graph."""
    return load_queries("tests.benchmarks", "raw", graph=graph)


def create_labels(connection: psycopg.Connection) -> None:
    """An empty graph."""
    connection.execute(queries().create_labels)
    connection.commit()


def load(connection: psycopg.Connection, facts: Sequence[Fact]) -> Run:
    """All facts in batches, one transaction each."""
    steps, began = Steps(), perf_counter()
    for start in range(0, len(facts), BATCH):
        load_batch(connection, facts[start : start + BATCH], steps)
        with steps.timed("commit"):
            connection.commit()
    return Run(
        system="raw on conflict",
        size=len(facts),
        facts=len(facts),
        seconds=perf_counter() - began,
        shares=steps.shares(),
    )


def load_batch(connection: psycopg.Connection, facts: Sequence[Fact], steps: Steps) -> None:
    """One batch: nodes, their ids, anchors, evidence, edges."""
    sql = queries()
    with steps.timed("fold the batch"):
        nodes, edges = folded(facts)
        keys = sorted(nodes)
        node_rows = [node_properties(nodes[key]) for key in keys]
        triples = sorted(edges)
        edge_rows = [edge_properties(triple, edges[triple]) for triple in triples]
        fact_rows = [json.dumps({"scope_key": fact.scope_key}) for fact in facts]
    with steps.timed("nodes"):
        connection.execute(sql.insert_nodes, {"properties": node_rows})
    with steps.timed("node ids"):
        ids: dict[str, int] = dict(connection.execute(sql.node_ids, {"node_keys": keys}).fetchall())
    with steps.timed("anchors"):
        made = connection.execute(sql.insert_facts, {"properties": fact_rows}).fetchall()
        anchors = {json.loads(properties)["scope_key"]: anchor for properties, anchor in made}
    with steps.timed("evidence"):
        pairs = sorted(
            {(ids[end.key], anchors[fact.scope_key]) for fact in facts for end in (fact.source, fact.target)}
        )
        connection.execute(
            sql.insert_evidence, {"node_ids": [node for node, _ in pairs], "fact_ids": [fact for _, fact in pairs]}
        )
    with steps.timed("edges"):
        connection.execute(
            sql.upsert_edges,
            {
                "source_ids": [ids[source] for source, _, _ in triples],
                "target_ids": [ids[target] for _, target, _ in triples],
                "properties": edge_rows,
            },
        )


Triple = tuple[str, str, str]


def folded(facts: Sequence[Fact]) -> tuple[dict[str, Node], dict[Triple, list[str]]]:
    """The distinct nodes of a batch, and the facts of each distinct edge."""
    nodes: dict[str, Node] = {}
    edges: dict[Triple, list[str]] = defaultdict(list)
    for fact in facts:
        nodes[fact.source.key] = fact.source
        nodes[fact.target.key] = fact.target
        edges[fact.triple].append(fact.scope_key)
    return nodes, edges


def node_properties(node: Node) -> str:
    """A GraphNode row as agtype text."""
    return json.dumps({"node_key": node.key, "kind": node.kind, "name": node.name, "aliases": [node.name]})


def edge_properties(triple: Triple, evidence: list[str]) -> str:
    """A REL row as agtype text."""
    return json.dumps(
        {
            "predicate": triple[2],
            "predicate_key": triple[2].replace(" ", "_"),
            "confidence": 1 - (1 - CONFIDENCE) ** len(evidence),
            "observations": len(evidence),
            "evidence": evidence,
        }
    )


def totals(connection: psycopg.Connection, graph: str = GRAPH) -> Totals:
    """What a graph of these labels and properties holds now, ours as well."""
    row = connection.execute(queries(graph).totals).fetchone()
    if row is None:
        raise AssertionError("an aggregate without rows")
    nodes, edges, observations, evidence, confidence = row
    return Totals(
        nodes=nodes, edges=edges, observations=int(observations), evidence=evidence, confidence=float(confidence)
    )
