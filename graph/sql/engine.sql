-- name: merge_epoch
-- How often keys were merged or unmerged so far; a write that sees it move starts again.
SELECT value FROM {registry}.merge_epoch

-- name: hold_merges
-- No key is merged or unmerged until this transaction ends. After the locks of facts, before those of nodes.
SELECT pg_advisory_xact_lock_shared(hashtextextended({registry_name} || ' merges', 0))

-- name: redirects_of
-- Where named keys resolve to, for those that a merge redirects.
SELECT named_key, target_key FROM {registry}.redirect WHERE named_key = ANY (%(keys)s::text[])

-- name: known_nodes
-- Which of these keys are nodes already.
SELECT key FROM {registry}.node WHERE key = ANY (%(keys)s::text[])

-- name: insert_nodes
-- New nodes in key order (the order of every lock), each with its AGE vertex; a key that another writer made is left out.
WITH wanted AS (
    SELECT * FROM unnest(%(keys)s::text[], %(kinds)s::text[], %(names)s::text[], %(aliases)s::text[],
                         %(namespaces)s::text[], %(writers)s::text[], %(properties)s::text[])
               AS w(key, kind, name, aliases, namespaces, writer, properties)
), fresh AS (
    INSERT INTO {registry}.node (key, kind, name, aliases, namespaces, created_by)
    SELECT key, kind, name, aliases::text[], namespaces::text[], writer FROM wanted ORDER BY key COLLATE "C"
    ON CONFLICT (key) DO NOTHING
    RETURNING id, key
), vertices AS (
    INSERT INTO {graph}."GraphNode" (id, properties)
    SELECT ag_catalog._graphid(%(label)s, f.id), (w.properties || times.members)::ag_catalog.agtype
    FROM fresh f JOIN wanted w USING (key),
         (SELECT ',"updated_at":"' || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"}}' AS members) AS times
)
SELECT id, key FROM fresh

-- name: share_nodes
-- Keep nodes from being deleted, in key order; what they show may still change.
SELECT id, key, namespaces FROM {registry}.node
WHERE key = ANY (%(keys)s::text[]) ORDER BY key FOR KEY SHARE

-- name: lock_nodes
-- Lock nodes in one pass in key order: exclusively where this write may take support away, shared elsewhere.
SELECT id, key, namespaces FROM {registry}.lock_nodes(%(keys)s::text[], %(exclusively)s::boolean[])

-- name: delete_mentions
-- Withdraw forms that origins no longer give.
DELETE FROM {registry}.mention m USING unnest(%(origins)s::bigint[], %(poses)s::int[]) AS w(origin, pos)
WHERE m.origin = w.origin AND m.pos = w.pos

-- name: insert_mentions
-- Forms that origins give to nodes. The order of attachment takes one sequence step a statement, not one a row.
INSERT INTO {registry}.mention
    (origin, pos, node_id, named_key, form, spelling, rank, named, kind, namespace, writer, attached)
SELECT w.origin, w.pos, w.node_id, w.named_key, w.form, w.spelling, w.rank, w.named, w.kind, w.namespace, w.writer,
       (step.number << 20) + w.place
FROM (SELECT nextval('{registry}.attachment') AS number OFFSET 0) AS step, unnest(%(origins)s::bigint[], %(poses)s::int[],
    %(nodes)s::bigint[], %(named_keys)s::text[], %(forms)s::text[], %(spellings)s::text[], %(ranks)s::bigint[],
    %(named)s::boolean[], %(kinds)s::text[], %(namespaces)s::text[], %(writers)s::text[]) WITH ORDINALITY
    AS w(origin, pos, node_id, named_key, form, spelling, rank, named, kind, namespace, writer, place)

-- name: restore_mention_order
-- A row that only moved between nodes keeps its place in the order of attachment.
UPDATE {registry}.mention m SET attached = w.attached
FROM unnest(%(origins)s::bigint[], %(poses)s::int[], %(attached)s::bigint[]) AS w(origin, pos, attached)
WHERE m.origin = w.origin AND m.pos = w.pos

-- name: raise_surfaces
-- Forms that become shown, or shown in a spelling of lower rank; a form that is shown already is not touched.
INSERT INTO {registry}.surface AS s (node_id, form, spelling, folded, rank)
SELECT w.* FROM unnest(%(nodes)s::bigint[], %(forms)s::text[], %(spellings)s::text[], %(folded)s::text[],
                       %(ranks)s::bigint[]) AS w(node_id, form, spelling, folded, rank)
LEFT JOIN {registry}.surface known ON known.node_id = w.node_id AND known.form = w.form
WHERE known.rank IS NULL OR known.rank > w.rank
ORDER BY w.node_id, w.form COLLATE "C"
ON CONFLICT (node_id, form) DO UPDATE
    SET spelling = excluded.spelling, folded = excluded.folded, rank = excluded.rank WHERE excluded.rank < s.rank
RETURNING s.node_id

-- name: rejudge_surfaces
-- Forms of which a row was withdrawn: the next lowest rank shows, or none does. One index probe a form. An edited fact may
-- spell a form differently in the same place.
WITH judged AS (
    SELECT w.node_id, w.form, next.spelling, next.rank
    FROM (SELECT DISTINCT * FROM unnest(%(nodes)s::bigint[], %(forms)s::text[]) AS u(node_id, form)) w
    LEFT JOIN LATERAL (
        SELECT m.spelling, m.rank FROM {registry}.mention m
        WHERE m.node_id = w.node_id AND m.form = w.form ORDER BY m.rank LIMIT 1) next ON true
), gone AS (
    DELETE FROM {registry}.surface s USING judged j
    WHERE s.node_id = j.node_id AND s.form = j.form AND j.rank IS NULL
    RETURNING s.node_id
)
SELECT j.node_id, j.form, j.spelling, j.rank FROM judged j
JOIN {registry}.surface s ON s.node_id = j.node_id AND s.form = j.form
WHERE j.rank IS NOT NULL AND (j.rank, j.spelling) IS DISTINCT FROM (s.rank, s.spelling)
UNION ALL SELECT node_id, NULL, NULL, NULL FROM gone

-- name: set_surfaces
-- Show the spellings that were judged.
INSERT INTO {registry}.surface AS s (node_id, form, spelling, folded, rank)
SELECT * FROM unnest(%(nodes)s::bigint[], %(forms)s::text[], %(spellings)s::text[], %(folded)s::text[], %(ranks)s::bigint[])
ON CONFLICT (node_id, form) DO UPDATE
    SET spelling = excluded.spelling, folded = excluded.folded, rank = excluded.rank

-- name: lock_shown
-- Before what nodes show is derived anew: their rows, in key order, so that the last writer sees every form.
SELECT id FROM {registry}.node WHERE id = ANY (%(ids)s::bigint[]) ORDER BY key FOR NO KEY UPDATE

-- name: refresh_nodes
-- Derive what nodes show from their lowest-ranked mention, their surfaces and their namespaces (loose index scans).
WITH shown AS (
    SELECT n.id, first.kind, first.spelling AS name, first.writer,
           coalesce((SELECT array_agg(s.spelling ORDER BY s.rank) FROM {registry}.surface s WHERE s.node_id = n.id), ARRAY[]::text[]) AS aliases,
           {registry}.placed_in(spaces.list) AS namespaces
    FROM {registry}.node n
    CROSS JOIN LATERAL (SELECT {registry}.namespaces_of_node(n.id) AS list) spaces
    CROSS JOIN LATERAL (
        SELECT m.* FROM unnest(spaces.list) AS space(namespace)
        CROSS JOIN LATERAL (SELECT kind, spelling, writer, rank FROM {registry}.mention
                            WHERE node_id = n.id AND named AND namespace = space.namespace ORDER BY rank LIMIT 1) m
        ORDER BY m.rank LIMIT 1) first
    WHERE n.id = ANY (%(ids)s::bigint[])
), changed AS (
    UPDATE {registry}.node n
    SET kind = s.kind, name = s.name, aliases = s.aliases, namespaces = s.namespaces, created_by = s.writer, updated_at = now()
    FROM shown s
    WHERE n.id = s.id
      AND (n.kind, n.name, n.aliases, n.namespaces, n.created_by) IS DISTINCT FROM (s.kind, s.name, s.aliases, s.namespaces, s.writer)
    RETURNING n.*
)
UPDATE {graph}."GraphNode" g SET properties = {registry}.node_properties(row(c.id, c.key, c.kind, c.name, c.aliases, c.namespaces, c.created_by, c.updated_at)::{registry}.node)
FROM changed c WHERE g.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(label)s, c.id)

-- name: attach_evidence
-- EVIDENCED_BY rows (and the Fact anchors they end in) for pairs that are not there yet.
WITH wanted AS (
    SELECT DISTINCT ag_catalog._graphid(%(node_label)s, node_id) AS node, ag_catalog._graphid(%(fact_label)s, source_id) AS fact,
           scope_key
    FROM unnest(%(nodes)s::bigint[], %(sources)s::bigint[], %(scope_keys)s::text[]) AS w(node_id, source_id, scope_key)
), anchors AS (
    INSERT INTO {graph}."Fact" (id, properties)
    SELECT DISTINCT fact, json_build_object('scope_key', scope_key)::text::ag_catalog.agtype FROM wanted
    ON CONFLICT (id) DO NOTHING
)
INSERT INTO {graph}."EVIDENCED_BY" (start_id, end_id)
SELECT node, fact FROM wanted w
WHERE NOT EXISTS (SELECT FROM {graph}."EVIDENCED_BY" e
                  WHERE e.end_id OPERATOR(ag_catalog.=) w.fact AND e.start_id OPERATOR(ag_catalog.=) w.node)

-- name: attach_first_evidence
-- The same for facts that the graph has never heard of: nothing to look up.
WITH wanted AS (
    SELECT ag_catalog._graphid(%(node_label)s, node_id) AS node, ag_catalog._graphid(%(fact_label)s, source_id) AS fact
    FROM unnest(%(nodes)s::bigint[], %(sources)s::bigint[]) AS w(node_id, source_id)
), anchors AS (
    INSERT INTO {graph}."Fact" (id, properties)
    SELECT ag_catalog._graphid(%(fact_label)s, id), json_build_object('scope_key', scope_key)::text::ag_catalog.agtype
    FROM unnest(%(anchors)s::bigint[], %(scope_keys)s::text[]) AS w(id, scope_key)
)
INSERT INTO {graph}."EVIDENCED_BY" (start_id, end_id) SELECT node, fact FROM wanted

-- name: detach_evidence
-- EVIDENCED_BY rows of pairs that no mention and no citation justifies any more. The ends of a hand edge ('/') carry none.
WITH lost AS (
    SELECT w.node_id, w.source_id FROM unnest(%(nodes)s::bigint[], %(sources)s::bigint[]) AS w(node_id, source_id)
    WHERE NOT EXISTS (SELECT FROM {registry}.mention m WHERE m.origin = w.source_id AND m.node_id = w.node_id)
      AND NOT EXISTS (SELECT FROM {registry}.citation c JOIN {registry}.mention m ON m.origin = -c.assertion_id
                      WHERE c.source_id = w.source_id AND m.node_id = w.node_id AND m.namespace <> '/')
)
DELETE FROM {graph}."EVIDENCED_BY" e USING lost
WHERE e.end_id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(fact_label)s, lost.source_id)
  AND e.start_id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(node_label)s, lost.node_id)

-- name: drop_anchors
-- Fact anchors in which no EVIDENCED_BY ends any more.
DELETE FROM {graph}."Fact" f USING unnest(%(sources)s::bigint[]) AS w(id)
WHERE f.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(fact_label)s, w.id)
  AND NOT EXISTS (SELECT FROM {graph}."EVIDENCED_BY" e WHERE e.end_id OPERATOR(ag_catalog.=) f.id)

-- name: empty_nodes
-- Of nodes that lost support: those that nothing names any more (judged after the locks, in a statement of its own).
SELECT n.id FROM {registry}.node n
WHERE n.id = ANY (%(ids)s::bigint[])
  AND NOT EXISTS (SELECT FROM {registry}.mention m WHERE m.node_id = n.id AND m.named)

-- name: delete_nodes
-- Take away nodes that nothing names.
WITH gone AS (DELETE FROM {registry}.node WHERE id = ANY (%(ids)s::bigint[]) RETURNING id),
     unshown AS (DELETE FROM {registry}.surface s USING gone WHERE s.node_id = gone.id)
DELETE FROM {graph}."GraphNode" g USING gone WHERE g.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(label)s, gone.id)
