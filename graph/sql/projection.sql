-- name: graph_exists
-- Whether AGE knows a graph of this name.
SELECT EXISTS (SELECT FROM ag_catalog.ag_graph g WHERE g.name = %(graph)s)

-- name: see_age
-- AGE's own functions look their types up in the search path.
SET LOCAL search_path TO pg_catalog, ag_catalog

-- name: create_graph
-- The graph's schema and its entry in AGE's catalogue.
SELECT ag_catalog.create_graph({graph_name})

-- name: create_vertex_label
-- One label table of vertices; in the order of the first migration, since AGE counts label ids up.
SELECT ag_catalog.create_vlabel({graph_name}, textout(%(label)s::text))

-- name: create_edge_label
-- One label table of edges.
SELECT ag_catalog.create_elabel({graph_name}, textout(%(label)s::text))

-- name: create_node_index
-- One vertex a node key.
CREATE UNIQUE INDEX "GraphNode_node_key" ON {graph}."GraphNode"
    (ag_catalog.agtype_access_operator(VARIADIC ARRAY[properties, '"node_key"'::ag_catalog.agtype]))

-- name: create_fact_index
-- One anchor a scope key.
CREATE UNIQUE INDEX "Fact_scope_key" ON {graph}."Fact"
    (ag_catalog.agtype_access_operator(VARIADIC ARRAY[properties, '"scope_key"'::ag_catalog.agtype]))

-- name: create_edge_index
-- One AGE edge an edge.
CREATE UNIQUE INDEX "REL_id" ON {graph}."REL" (id)

-- name: drop_graph
-- What is left of a graph that lost a label.
SELECT ag_catalog.drop_graph({graph_name}, true)

-- name: repair_oid
-- A plain dump restores AGE's catalogue with the schema's old oid; entries are moved to the one it has now.
WITH moved AS (
    DELETE FROM ag_catalog.ag_label l USING ag_catalog.ag_graph g
    WHERE g.name = %(graph)s AND g.graphid <> g.namespace::oid AND l.graph = g.graphid
    RETURNING l.name, g.namespace::oid AS graph, l.id, l.kind, l.relation, l.seq_name
), graph AS (
    UPDATE ag_catalog.ag_graph g SET graphid = g.namespace::oid WHERE g.name = %(graph)s AND g.graphid <> g.namespace::oid
    RETURNING g.graphid
)
INSERT INTO ag_catalog.ag_label (name, graph, id, kind, relation, seq_name)
SELECT name, graph, id, kind, relation, seq_name FROM moved WHERE EXISTS (SELECT FROM graph)

-- name: clear_projection
-- AGE's rows go; our tables hold all that they show.
TRUNCATE {graph}."GraphNode", {graph}."Fact", {graph}."REL", {graph}."EVIDENCED_BY"

-- name: project_nodes
-- A vertex for each node.
INSERT INTO {graph}."GraphNode" (id, properties)
SELECT ag_catalog._graphid(%(node_label)s, n.id), {registry}.node_properties(n) FROM {registry}.node n

-- name: project_anchors
-- An anchor for each fact behind a node.
INSERT INTO {graph}."Fact" (id, properties)
SELECT ag_catalog._graphid(%(fact_label)s, s.id), json_build_object('scope_key', s.scope_key)::text::ag_catalog.agtype
FROM {registry}.source s WHERE s.id IN (SELECT p.source_id FROM {> cited_pairs} p)

-- name: project_evidence
-- An edge from each node to each fact behind it.
INSERT INTO {graph}."EVIDENCED_BY" (start_id, end_id)
SELECT ag_catalog._graphid(%(node_label)s, p.node_id), ag_catalog._graphid(%(fact_label)s, p.source_id) FROM {> cited_pairs} p

-- name: project_every_edge
-- An AGE edge for each edge.
INSERT INTO {graph}."REL" (id, start_id, end_id, properties)
SELECT ag_catalog._graphid(%(rel_label)s, e.id), ag_catalog._graphid(%(node_label)s, e.source_id),
       ag_catalog._graphid(%(node_label)s, e.target_id), {> edge_properties}
FROM {registry}.edge e
