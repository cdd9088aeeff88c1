-- name: node_by_key
-- A node and the namespaces that place it.
SELECT id, namespaces FROM {registry}.node WHERE key = %(key)s

-- name: edge_by_place
-- An edge and the namespaces that name it.
SELECT e.id, ARRAY(SELECT jsonb_object_keys(e.namespaces)) FROM {registry}.edge e
JOIN {registry}.node s ON s.id = e.source_id JOIN {registry}.node t ON t.id = e.target_id
WHERE s.key = %(from_key)s AND t.key = %(to_key)s AND e.predicate_key = %(predicate_key)s

-- name: origins_at_nodes
-- All that name these nodes or state an edge that touches them.
SELECT origin FROM {registry}.mention WHERE node_id = ANY (%(ids)s::bigint[])
UNION SELECT o.origin FROM {registry}.observation o JOIN {registry}.edge e ON e.id = o.edge_id
      WHERE e.source_id = ANY (%(ids)s::bigint[]) OR e.target_id = ANY (%(ids)s::bigint[])
UNION SELECT origin FROM {registry}.observation WHERE edge_id IS NULL AND source_id = ANY (%(ids)s::bigint[])

-- name: origins_at_edges
-- All that state these edges.
SELECT DISTINCT origin FROM {registry}.observation WHERE edge_id = ANY (%(ids)s::bigint[])

-- name: origins_in_namespace
-- All that name a node or state an edge in exactly this namespace.
SELECT origin FROM {registry}.mention WHERE namespace = %(namespace)s
UNION SELECT origin FROM {registry}.observation WHERE namespace = %(namespace)s

-- name: nodes_placed_by_others
-- Of these nodes, those that a mention by another origin places (ends of hand edges do not).
SELECT n.key FROM {registry}.node n
WHERE n.key = ANY (%(keys)s::text[])
  AND EXISTS (SELECT FROM {registry}.mention m WHERE m.node_id = n.id AND m.named AND m.namespace <> '/'
                 AND m.origin <> ALL (%(origins)s::bigint[]))

-- name: node_ids
-- Ids of nodes.
SELECT id FROM {registry}.node WHERE key = ANY (%(keys)s::text[])

-- name: keys_of_origins
-- The scope keys behind origins: a fact's own, an assertion's citations.
SELECT s.scope_key FROM {registry}.source s WHERE s.id = ANY (%(origins)s::bigint[])
UNION SELECT s.scope_key FROM {registry}.citation c JOIN {registry}.source s ON s.id = c.source_id
      WHERE -c.assertion_id = ANY (%(origins)s::bigint[])

-- name: ledger_rows
-- What the ledger records of these sources.
SELECT id, scope_key, etag, fact_id, writer, model, extraction FROM {registry}.source
WHERE id = ANY (%(ids)s::bigint[]) AND extraction IS NOT NULL

-- name: rewrite_ledger
-- Extractions from which items were struck by hand.
UPDATE {registry}.source s SET extraction = w.extraction::json
FROM unnest(%(ids)s::bigint[], %(extractions)s::text[]) AS w(id, extraction) WHERE s.id = w.id

-- name: sources_of_assertions
-- What hand assertions cite, before they go.
SELECT DISTINCT source_id FROM {registry}.citation WHERE assertion_id = ANY (%(ids)s::bigint[])

-- name: delete_unused_sources
-- Of these sources, those that neither the ledger nor a citation needs.
DELETE FROM {registry}.source s WHERE s.id = ANY (%(ids)s::bigint[]) AND s.extraction IS NULL
  AND NOT EXISTS (SELECT FROM {registry}.citation c WHERE c.source_id = s.id)

-- name: source_of_key
-- The source of a scope key.
SELECT id FROM {registry}.source WHERE scope_key = %(scope_key)s

-- name: withdraw_citations
-- Hand assertions that no longer cite these sources.
DELETE FROM {registry}.citation c USING unnest(%(assertions)s::bigint[], %(sources)s::bigint[]) AS w(assertion_id, source_id)
WHERE c.assertion_id = w.assertion_id AND c.source_id = w.source_id
