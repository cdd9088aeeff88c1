"""A graph in which everything happens that the tables can hold, and everything that is shown of it, ids and times apart."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from facts.access import UNRESTRICTED
from graph.export import edges_of, nodes_of
from graph.model import Author, EdgeMention, NodeMention, NodeRef

if TYPE_CHECKING:
    import psycopg

    from tests.graph.world import World

AGENT = Author(agent_id="mender")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d+(\+00(:00)?|Z)?")


def edge(source: str, predicate: str, target: str, confidence: float = 0.5, **more: Any) -> EdgeMention:
    return EdgeMention(
        source=NodeRef(kind="Isle", name=source), target=NodeRef(kind="Isle", name=target), predicate=predicate,
        confidence=confidence, **more,
    )  # fmt: skip


def isle(name: str, *aliases: str, **more: Any) -> NodeMention:
    return NodeMention(kind="Isle", name=name, aliases=aliases, **more)


def tell(world: World) -> None:
    """Harvests, edits, hand assertions, merges that overlap, one taken back, a self-edge, a struck item, a tombstone."""
    world.harvest(
        "a", isle("Ona", 'First "isle"', "Öna"), isle("Rost", namespace="corpus/n"), edge("Ona", "bridge to", "Rost")
    )
    world.harvest(
        "b", isle("ONA", "The Ona\\"), edge("Ona", "bridges to", "Rost", 0.75, namespace="corpus"), writer="other"
    )
    world.harvest("c", isle("Vega"), edge("Vega", "ferry", "Ona", 1.0), edge("Vega", "ferry", "Rost"), session="s2")
    world.harvest(
        "d", edge("Rost", "near", "Roest"), EdgeMention(source="isle:roest", target="reef:x\u00e9", predicate="near")
    )
    file = NodeMention(kind="File", name="/Tmp/A", identity="exact")
    world.harvest("e", isle("Struck"), edge("Struck", "near", "Vega"), file)
    world.harvest("e", isle("Struck"), edge("Struck", "near", "Vega", 0.25), file)
    roest = world.node("Isle", "Röst", "shared:a", "shared:b", aliases=["Rest"], namespace="corpus/hand")
    world.node("Isle", "Lone", session="s9")
    world.edge("isle:ona", "bridge to", "isle:rost", "shared:a", "shared:d", confidence=0.9)
    world.edge("isle:ona", "sees", "isle:lone", agent="second", confidence=0.3, model="m1")
    world.edge("isle:ona", "sees", "isle:lone", "shared:never-stored", agent="second", confidence=0.4)
    kept = world.graph.merge_nodes("isle:roest", "isle:rost", "one place", AGENT)
    world.graph.merge_nodes(roest, "isle:rost", "one place", AGENT) if roest != "isle:rost" else None
    world.graph.merge_nodes("isle:rost", "isle:vega", "and the same again", AGENT)
    world.graph.unmerge_nodes(kept.merge_id, AGENT)
    world.graph.merge_nodes("isle:roest", "isle:vega", "after all", AGENT)
    world.graph.delete_edge("isle:struck", "isle:vega", "near", requeue=False)


def plain(value: Any) -> Any:
    """Without times, and without the order of what has none."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return _MOMENT.sub("T", str(value)) if isinstance(value, str) else value


def shown(world: World) -> dict[str, Any]:
    """All that reads show."""
    with world.graph.db.transaction() as conn:
        reading = world.graph._reading(conn, UNRESTRICTED)
        skipped = ("evidence", "first_seen", "last_seen")
        nodes = {node.node_key: _fields(node, skipped) for node in nodes_of(reading)}
        edges = {f"{e.from_key} {e.predicate_key} {e.to_key}": _fields(e, skipped) for e in edges_of(reading)}
    return {"nodes": nodes, "edges": edges}


def _fields(view: Any, skipped: tuple[str, ...]) -> dict[str, Any]:
    found = {name: getattr(view, name) for name in view.__slots__ if name not in skipped}
    return {**plain(found), "evidence": sorted(view.evidence)}


QUERIES = {
    "GraphNode": 'SELECT properties::text FROM knowledge."GraphNode"',
    "REL": """SELECT s.properties::text, r.properties::text, t.properties::text FROM knowledge."REL" r
              JOIN knowledge."GraphNode" s ON s.id OPERATOR(ag_catalog.=) r.start_id
              JOIN knowledge."GraphNode" t ON t.id OPERATOR(ag_catalog.=) r.end_id""",
    "EVIDENCED_BY": """SELECT s.properties::text, t.properties::text FROM knowledge."EVIDENCED_BY" r
              JOIN knowledge."GraphNode" s ON s.id OPERATOR(ag_catalog.=) r.start_id
              JOIN knowledge."Fact" t ON t.id OPERATOR(ag_catalog.=) r.end_id""",
    "Fact": 'SELECT properties::text FROM knowledge."Fact"',
    "mention": """SELECT s.scope_key, m.origin < 0, m.pos, n.key, m.named_key, m.form, m.spelling, m.rank, m.named, m.kind,
                         m.namespace, m.writer, m.attached
                  FROM knowledge_registry.mention m JOIN knowledge_registry.node n ON n.id = m.node_id
                  LEFT JOIN knowledge_registry.source s ON s.id = m.origin""",
    "surface": """SELECT n.key, s.form, s.spelling, s.folded, s.rank FROM knowledge_registry.surface s
                  JOIN knowledge_registry.node n ON n.id = s.node_id""",
    "observation": """SELECT f.scope_key, o.origin < 0, o.pos, o.edge_id IS NULL, s.key, t.key, o.from_key, o.to_key,
                             o.predicate_key,
                             o.predicate, o.namespace, o.confidence, o.writer, o.model, o.rank, o.attached
                      FROM knowledge_registry.observation o JOIN knowledge_registry.node s ON s.id = o.source_id
                      JOIN knowledge_registry.node t ON t.id = o.target_id
                      LEFT JOIN knowledge_registry.source f ON f.id = o.origin""",
    "edge": """SELECT s.key, t.key, e.predicate_key, e.predicate, e.shown_rank, e.model, e.confidence, e.observations, e.certain,
                      e.weight, e.hand, e.writers, e.namespaces,
                      ARRAY(SELECT f.scope_key FROM knowledge_registry.source f WHERE f.id = ANY (e.evidence) ORDER BY 1)
               FROM knowledge_registry.edge e JOIN knowledge_registry.node s ON s.id = e.source_id
               JOIN knowledge_registry.node t ON t.id = e.target_id""",
    "redirect": "SELECT named_key, target_key FROM knowledge_registry.redirect",
    "citation": """SELECT c.assertion_id, s.scope_key, c.etag FROM knowledge_registry.citation c
                   JOIN knowledge_registry.source s ON s.id = c.source_id""",
}


def stored(world: World) -> dict[str, list[Any]]:
    """Every row of every table, ids and times apart, AGE's included."""
    with world.graph.db.transaction() as conn:
        return {name: rows_of(conn, query) for name, query in QUERIES.items()}


def rows_of(conn: psycopg.Connection, query: str) -> list[Any]:
    return sorted((_row(row) for row in conn.execute(query.encode())), key=str)


def _row(row: tuple[Any, ...]) -> list[Any]:
    return [_sorted_evidence(plain(each)) for each in row]


def _sorted_evidence(value: Any) -> Any:
    """AGE's properties with their list of evidence in one order."""
    if not isinstance(value, str) or not value.startswith('{"'):
        return value
    members = json.loads(value)
    return json.dumps({**members, "evidence": sorted(members.get("evidence", []))})
