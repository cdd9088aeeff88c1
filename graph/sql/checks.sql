-- name: snapshot
-- All checks look at one moment.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: versions
-- AGE in the catalogue, and the version of the library files on this server.
SELECT e.extversion, a.default_version FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname
WHERE e.extname = 'age'

-- name: oid_mismatch
-- AGE's catalogue names the schema's oid of the server that a dump was taken from.
SELECT g.name || ': the catalogue says ' || g.graphid || ', the schema is ' || g.namespace::oid, 1
FROM ag_catalog.ag_graph g WHERE g.name = %(graph)s AND g.graphid <> g.namespace::oid

-- name: read_probe
-- One read the way readers of plain Cypher do it.
SELECT count(*) FROM ag_catalog.cypher({graph_name}, $probe$ MATCH (n:GraphNode) RETURN n LIMIT 1 $probe$) AS row (n ag_catalog.agtype)

-- name: altered_labels
-- Label tables with columns, policies or triggers that AGE does not know; they have crashed servers.
SELECT c.relname, count(*) OVER () FROM pg_catalog.pg_class c
WHERE c.relnamespace = {graph_name}::regnamespace AND c.relname IN ('GraphNode', 'Fact', 'REL', 'EVIDENCED_BY')
  AND (c.relrowsecurity OR EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid)
       OR (SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
          <> CASE WHEN c.relname IN ('GraphNode', 'Fact') THEN 2 ELSE 4 END)
ORDER BY 1

-- name: mentions_without_node
-- Mentions that stand at no node.
SELECT m.named_key, count(*) OVER () FROM {registry}.mention m
WHERE NOT EXISTS (SELECT FROM {registry}.node n WHERE n.id = m.node_id) ORDER BY 1 LIMIT %(shown)s

-- name: statements_without_edge
-- Statements whose edge or ends are not there, or not those that the statement is about.
SELECT o.from_key || ' ' || o.predicate_key || ' ' || o.to_key, count(*) OVER () FROM {registry}.observation o
LEFT JOIN {registry}.edge e ON e.id = o.edge_id
LEFT JOIN {registry}.node s ON s.id = o.source_id LEFT JOIN {registry}.node t ON t.id = o.target_id
WHERE s.id IS NULL OR t.id IS NULL
   OR CASE WHEN o.edge_id IS NULL THEN o.source_id <> o.target_id
           ELSE (e.source_id, e.target_id, e.predicate_key) IS DISTINCT FROM (o.source_id, o.target_id, o.predicate_key) END
ORDER BY 1 LIMIT %(shown)s

-- name: dangling_edges
-- Edges of which an end is not there.
SELECT coalesce(s.key, '(no node ' || e.source_id || ')') || ' ' || e.predicate_key || ' ' || coalesce(t.key, '(no node ' || e.target_id || ')'),
       count(*) OVER ()
FROM {registry}.edge e LEFT JOIN {registry}.node s ON s.id = e.source_id LEFT JOIN {registry}.node t ON t.id = e.target_id
WHERE s.id IS NULL OR t.id IS NULL ORDER BY 1 LIMIT %(shown)s

-- name: unstated_edges
-- Edges that nothing states.
SELECT coalesce(s.key, '?') || ' ' || e.predicate_key || ' ' || coalesce(t.key, '?'), count(*) OVER ()
FROM {registry}.edge e LEFT JOIN {registry}.node s ON s.id = e.source_id LEFT JOIN {registry}.node t ON t.id = e.target_id
WHERE NOT EXISTS (SELECT FROM {registry}.observation o WHERE o.edge_id = e.id) ORDER BY 1 LIMIT %(shown)s

-- name: unnamed_nodes
-- Nodes that nothing names.
SELECT n.key, count(*) OVER () FROM {registry}.node n
WHERE NOT EXISTS (SELECT FROM {registry}.mention m WHERE m.node_id = n.id AND m.named) ORDER BY 1 LIMIT %(shown)s

-- name: misplaced_mentions
-- Mentions that stand at another node than the recorded merges say.
SELECT m.named_key || ' at ' || n.key, count(*) OVER () FROM {registry}.mention m JOIN {registry}.node n ON n.id = m.node_id
LEFT JOIN {registry}.redirect r ON r.named_key = m.named_key
WHERE n.key <> coalesce(r.target_key, m.named_key) ORDER BY 1 LIMIT %(shown)s

-- name: misplaced_statements
-- Statements between other nodes than the recorded merges say.
SELECT o.from_key || ' ' || o.predicate_key || ' ' || o.to_key, count(*) OVER () FROM {registry}.observation o
JOIN {registry}.node s ON s.id = o.source_id JOIN {registry}.node t ON t.id = o.target_id
LEFT JOIN {registry}.redirect rs ON rs.named_key = o.from_key LEFT JOIN {registry}.redirect rt ON rt.named_key = o.to_key
WHERE s.key <> coalesce(rs.target_key, o.from_key) OR t.key <> coalesce(rt.target_key, o.to_key) ORDER BY 1 LIMIT %(shown)s

-- name: wrong_surfaces
-- Spellings shown that are not those of the lowest-ranked mention of their form, or of no node at all.
WITH lowest AS (
    SELECT DISTINCT ON (m.node_id, m.form) m.node_id, m.form, m.spelling, m.rank FROM {registry}.mention m
    ORDER BY m.node_id, m.form, m.rank
)
SELECT coalesce(n.key, '(no node ' || coalesce(s.node_id, l.node_id) || ')') || ' ' || coalesce(s.spelling, l.spelling), count(*) OVER ()
FROM lowest l FULL JOIN {registry}.surface s USING (node_id, form)
LEFT JOIN {registry}.node n ON n.id = coalesce(s.node_id, l.node_id)
WHERE n.id IS NULL OR l.rank IS DISTINCT FROM s.rank OR l.spelling IS DISTINCT FROM s.spelling
ORDER BY 1 LIMIT %(shown)s

-- name: wrong_nodes
-- Nodes that show something else than their mentions say.
SELECT n.key, count(*) OVER () FROM {registry}.node n
CROSS JOIN LATERAL (SELECT {registry}.namespaces_of_node(n.id) AS list) spaces
LEFT JOIN LATERAL (SELECT m.kind, m.spelling, m.writer FROM {registry}.mention m WHERE m.node_id = n.id AND m.named
                   ORDER BY m.rank LIMIT 1) first ON true
WHERE (n.kind, n.name, n.created_by, n.namespaces, n.aliases) IS DISTINCT FROM
      (first.kind, first.spelling, first.writer, {registry}.placed_in(spaces.list),
       (SELECT array_agg(s.spelling ORDER BY s.rank) FROM {registry}.surface s WHERE s.node_id = n.id))
ORDER BY 1 LIMIT %(shown)s

-- name: unfounded_rows
-- Rows of facts that the ledger does not hold, and of assertions that are gone.
SELECT r.what || ' ' || r.key, count(*) OVER () FROM (
    SELECT 'mention of' AS what, named_key AS key, origin FROM {registry}.mention
    UNION ALL SELECT 'statement about', from_key, origin FROM {registry}.observation
) AS r
WHERE NOT CASE WHEN r.origin > 0 THEN EXISTS (SELECT FROM {registry}.source s WHERE s.id = r.origin AND s.extraction IS NOT NULL)
               ELSE EXISTS (SELECT FROM {registry}.assertion a WHERE a.id = -r.origin) END
ORDER BY 1 LIMIT %(shown)s

-- name: unused_sources
-- Sources that neither the ledger nor a citation needs.
SELECT s.scope_key, count(*) OVER () FROM {registry}.source s
WHERE s.extraction IS NULL AND NOT EXISTS (SELECT FROM {registry}.citation c WHERE c.source_id = s.id)
ORDER BY 1 LIMIT %(shown)s

-- name: empty_assertions
-- Hand assertions that assert nothing.
SELECT a.id::text || ' by ' || a.agent_id, count(*) OVER () FROM {registry}.assertion a
WHERE NOT EXISTS (SELECT FROM {registry}.mention m WHERE m.origin = -a.id)
  AND NOT EXISTS (SELECT FROM {registry}.observation o WHERE o.origin = -a.id)
ORDER BY 1 LIMIT %(shown)s

-- name: drop_empty_assertions
-- They hold nothing up.
DELETE FROM {registry}.assertion a
WHERE NOT EXISTS (SELECT FROM {registry}.mention m WHERE m.origin = -a.id)
  AND NOT EXISTS (SELECT FROM {registry}.observation o WHERE o.origin = -a.id)

-- name: edge_page
-- Edges with what they add up to, in the order of their ids.
SELECT e.id, coalesce(s.key, '?') || ' ' || e.predicate_key || ' ' || coalesce(t.key, '?'), e.predicate, e.shown_rank, e.model, e.confidence,
       e.observations, e.certain, e.weight::text, e.hand, e.writers, e.namespaces, e.evidence
FROM {registry}.edge e LEFT JOIN {registry}.node s ON s.id = e.source_id LEFT JOIN {registry}.node t ON t.id = e.target_id
WHERE e.id > %(after)s ORDER BY e.id LIMIT %(limit)s

-- name: ledger_page
-- Facts that the ledger holds, in the order of their source ids.
SELECT s.id, s.scope_key FROM {registry}.source s WHERE s.id > %(after)s AND s.extraction IS NOT NULL ORDER BY s.id LIMIT %(limit)s

-- name: wrong_vertices
-- GraphNode rows that are missing, are of no node, or show something else than the node.
SELECT coalesce(n.key, g.properties::text), count(*) OVER ()
FROM {registry}.node n
FULL JOIN {graph}."GraphNode" g ON g.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(node_label)s, n.id)
WHERE n.id IS NULL OR g.id IS NULL OR g.properties::text <> {registry}.node_properties(n)::text
ORDER BY 1 LIMIT %(shown)s

-- name: wrong_age_edges
-- REL rows that are missing, are of no edge, run between other nodes, or show something else than the edge.
SELECT coalesce(e.predicate_key || ' of edge ' || e.id, r.properties::text), count(*) OVER ()
FROM {registry}.edge e
FULL JOIN {graph}."REL" r ON r.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(rel_label)s, e.id)
WHERE e.id IS NULL OR r.id IS NULL
   OR r.start_id OPERATOR(ag_catalog.<>) ag_catalog._graphid(%(node_label)s, e.source_id)
   OR r.end_id OPERATOR(ag_catalog.<>) ag_catalog._graphid(%(node_label)s, e.target_id)
   OR r.properties::text <> ({> edge_properties})::text
ORDER BY 1 LIMIT %(shown)s

-- name: wrong_anchors
-- Fact rows that are missing, justify nothing, or name another fact.
SELECT coalesce(s.scope_key, f.properties::text), count(*) OVER ()
FROM (SELECT s.* FROM {registry}.source s WHERE s.id IN (SELECT p.source_id FROM {> cited_pairs} p)) s
FULL JOIN {graph}."Fact" f ON f.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(fact_label)s, s.id)
WHERE s.id IS NULL OR f.id IS NULL
   OR f.properties::text <> (json_build_object('scope_key', s.scope_key)::text::ag_catalog.agtype)::text
ORDER BY 1 LIMIT %(shown)s

-- name: wrong_evidence
-- EVIDENCED_BY rows that are missing, doubled, or justified by nothing.
SELECT coalesce(n.key, b.start_id::text) || ' by ' || coalesce(s.scope_key, b.end_id::text), count(*) OVER ()
FROM {> cited_pairs} p
FULL JOIN (SELECT start_id, end_id, count(*) AS times FROM {graph}."EVIDENCED_BY" GROUP BY 1, 2) b
    ON b.start_id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(node_label)s, p.node_id)
   AND b.end_id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(fact_label)s, p.source_id)
LEFT JOIN {registry}.node n ON n.id = p.node_id LEFT JOIN {registry}.source s ON s.id = p.source_id
WHERE p.node_id IS NULL OR b.start_id IS NULL OR b.times > 1
ORDER BY 1 LIMIT %(shown)s
