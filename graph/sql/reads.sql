-- name: bound_time
-- Searches give up after this many milliseconds.
SELECT set_config('statement_timeout', %(milliseconds)s::text, true)

-- name: node_ids
-- Nodes by the keys that callers name, through the redirects of recorded merges; a key probe each.
SELECT w.key, n.id
FROM json_array_elements_text(%(keys)s::json) AS w(key)
LEFT JOIN {registry}.redirect r ON r.named_key = w.key
JOIN {registry}.node n ON n.key = coalesce(r.target_key, w.key)

-- name: nodes_by_form
-- Nodes that a name or alias stands for: one index probe.
SELECT n.id
FROM {registry}.surface s JOIN {registry}.node n ON n.id = s.node_id
WHERE s.form = %(form)s AND (%(kind)s::text IS NULL OR (n.key >= %(kind)s || ':' AND n.key < %(kind)s || ';'))
ORDER BY n.key LIMIT %(limit)s

-- name: nodes_by_key
-- Nodes in key order: of a kind (a range of keys), in a namespace, among some ids.
SELECT n.id, n.key, n.kind, n.name, n.aliases, n.namespaces, 0 AS place
FROM {registry}.node n
WHERE (%(ids)s::bigint[] IS NULL OR n.id = ANY (%(ids)s::bigint[]))
  AND (%(kind)s::text IS NULL OR (n.key >= %(kind)s || ':' AND n.key < %(kind)s || ';'))
  AND (%(after_key)s::text IS NULL OR n.key > %(after_key)s)
  AND (%(space)s::text IS NULL OR (n.namespaces::text LIKE %(space_hint)s AND {registry}.lies_in(n.namespaces, %(space)s)))
ORDER BY n.key LIMIT %(limit)s

-- name: nodes_by_name
-- Nodes of which a name or alias holds a text: exact matches, then prefixes, then the others, each in key order.
WITH held AS (
    SELECT s.node_id, s.folded FROM {registry}.surface s WHERE s.folded LIKE %(like)s
    UNION ALL
    SELECT n.id, lower(n.name COLLATE "pg_unicode_fast") COLLATE "C" FROM {registry}.node n
    WHERE NOT n.name = ANY (n.aliases) AND lower(n.name COLLATE "pg_unicode_fast") COLLATE "C" LIKE %(like)s
), matched AS (
    SELECT node_id, min(CASE WHEN folded = %(name)s THEN 0 WHEN folded ^@ %(name)s THEN 1 ELSE 2 END) AS place
    FROM held GROUP BY node_id
)
SELECT n.id, n.key, n.kind, n.name, n.aliases, n.namespaces, m.place
FROM matched m JOIN {registry}.node n ON n.id = m.node_id
WHERE (%(ids)s::bigint[] IS NULL OR n.id = ANY (%(ids)s::bigint[]))
  AND (%(kind)s::text IS NULL OR (n.key >= %(kind)s || ':' AND n.key < %(kind)s || ';'))
  AND (%(after_key)s::text IS NULL OR (m.place, n.key) > (%(after_place)s, %(after_key)s))
  AND (%(space)s::text IS NULL OR (n.namespaces::text LIKE %(space_hint)s AND {registry}.lies_in(n.namespaces, %(space)s)))
ORDER BY m.place, n.key LIMIT %(limit)s

-- name: degrees
-- How many edges touch each node.
SELECT w.id, (SELECT count(*) FROM {registry}.edge e WHERE e.source_id = w.id)
           + (SELECT count(*) FROM {registry}.edge e WHERE e.target_id = w.id)
FROM unnest(%(ids)s::bigint[]) AS w(id)

-- name: seeded_nodes
-- Nodes that facts evidence: seeds by scope key, as far as the caller sees these facts.
WITH seed AS (
    SELECT e.id FROM json_array_elements_text(%(scope_keys)s::json) AS w(scope_key)
    JOIN {registry}.source e USING (scope_key) WHERE {visible_scope_key}
)
SELECT m.node_id FROM seed JOIN {registry}.mention m ON m.origin = seed.id WHERE m.named AND m.namespace <> '/'
UNION
SELECT m.node_id FROM seed JOIN {registry}.citation c ON c.source_id = seed.id
JOIN {registry}.mention m ON m.origin = -c.assertion_id WHERE m.named AND m.namespace <> '/'

-- name: walk
-- The bounded breadth-first walk from some nodes: listed ids, their distances, and whether a cap cut it short.
SELECT node_ids, distances, truncated
FROM {registry}.walk(%(anchors)s::bigint[], %(depth)s, %(direction)s, %(lowest)s, %(space)s, %(most_nodes)s, %(most_edges)s,
                     %(seconds)s)

-- name: around
-- A neighbourhood in one round trip: whether the walk was cut short (part 3), nodes (0), edges (1), and those of the sources
-- behind them that the caller may see (2). With direction `out` (`in`) the edges are those that the walk may follow.
WITH walked AS MATERIALIZED (
    SELECT a.id AS anchor, w.* FROM {registry}.node a
    CROSS JOIN LATERAL {registry}.walk(ARRAY[a.id], %(depth)s, %(direction)s, %(lowest)s, %(space)s, %(most_nodes)s,
                                       %(most_edges)s, %(seconds)s) w
    WHERE a.key = coalesce((SELECT r.target_key FROM {registry}.redirect r WHERE r.named_key = %(key)s), %(key)s)
), found AS MATERIALIZED (
    SELECT l.* FROM walked w CROSS JOIN LATERAL {registry}.listed(
        w.anchor || w.node_ids, 0 || w.distances,
        CASE WHEN %(direction)s = 'out' THEN w.near ELSE w.anchor || w.node_ids END,
        CASE WHEN %(direction)s = 'in' THEN w.near ELSE w.anchor || w.node_ids END,
        %(lowest)s, %(listed)s, %(origins)s) l
)
SELECT part, id, key, kind, name, aliases, namespaces, counts, number, flag, origins, source_id, target_id, confidence,
       first_seen, last_seen
FROM found
UNION ALL
SELECT 2, NULL, NULL, NULL, NULL, array_agg(e.scope_key), NULL, NULL, NULL, NULL, array_agg(e.id), NULL, NULL, NULL, NULL, NULL
FROM {registry}.source e
WHERE e.id = ANY (ARRAY(SELECT unnest(origins) FROM found)) AND {visible_scope_key}
UNION ALL
SELECT 3, anchor, NULL, NULL, NULL, NULL, NULL, NULL, looked_at, truncated, NULL, NULL, NULL, NULL, NULL, NULL FROM walked

-- name: edges_at
-- The edges between one node and some others, in the shape of part 1 of a neighbourhood.
SELECT 1, e.id, e.predicate, e.predicate_key, e.model, NULL, NULL,
       '[' || e.writers::text || ',' || e.namespaces::text || ']', e.observations, true, e.evidence[:%(origins)s], e.source_id, e.target_id,
       e.confidence, e.first_seen, e.last_seen
FROM {registry}.edge e
WHERE e.confidence >= %(lowest)s
  AND ((%(direction)s <> 'in' AND e.source_id = %(anchor)s AND e.target_id = ANY (%(around)s::bigint[]))
       OR (%(direction)s <> 'out' AND e.target_id = %(anchor)s AND e.source_id = ANY (%(around)s::bigint[])))
LIMIT %(listed)s

-- name: search_edges
-- Edges by endpoints, predicate, namespace (their own or an endpoint's) and confidence, in the order of their keys.
WITH inside AS MATERIALIZED (
    SELECT n.id FROM {registry}.node n
    WHERE %(space)s::text IS NOT NULL AND n.namespaces::text LIKE %(space_hint)s AND {registry}.lies_in(n.namespaces, %(space)s)
)
SELECT e.id, s.key, t.key, e.predicate, e.predicate_key, e.confidence, e.observations,
       ARRAY(SELECT jsonb_object_keys(e.writers)), ARRAY(SELECT jsonb_object_keys(e.namespaces)), e.model, e.first_seen, e.last_seen
FROM {registry}.edge e JOIN {registry}.node s ON s.id = e.source_id JOIN {registry}.node t ON t.id = e.target_id
WHERE (%(source)s::bigint IS NULL OR e.source_id = %(source)s)
  AND (%(target)s::bigint IS NULL OR e.target_id = %(target)s)
  AND (%(predicate_key)s::text IS NULL OR e.predicate_key = %(predicate_key)s)
  AND e.confidence >= %(lowest)s
  AND (%(space)s::text IS NULL OR e.source_id IN (SELECT id FROM inside) OR e.target_id IN (SELECT id FROM inside)
       OR (e.namespaces::text LIKE %(space_hint)s
           AND {registry}.lies_in(ARRAY(SELECT jsonb_object_keys(e.namespaces)), %(space)s)))
  AND (%(after_from)s::text IS NULL OR (s.key >= %(after_from)s
       AND (s.key, e.predicate_key, t.key) > (%(after_from)s, %(after_predicate)s, %(after_to)s)))
ORDER BY s.key, e.predicate_key, t.key LIMIT %(limit)s

-- name: node_evidence
-- Readable evidence of some nodes, the survivor's own before what a merge moved in, each in order of attachment. Of a node
-- with more than is shown, the contributions of lowest rank, in index order: the cost follows what is shown.
SELECT w.id, f.scope_key, f.etag
FROM unnest(%(ids)s::bigint[]) AS w(id) JOIN {registry}.node n ON n.id = w.id
CROSS JOIN LATERAL (
    SELECT e.scope_key, e.etag, m.named_key <> n.key AS moved, m.attached, e.attached AS cited
    FROM {registry}.mention m
    CROSS JOIN LATERAL (
        SELECT s.scope_key, s.owner_session_id, NULL::bigint AS etag, 0::bigint AS attached
        FROM {registry}.source s WHERE m.origin > 0 AND s.id = m.origin
        UNION ALL
        SELECT s.scope_key, s.owner_session_id, c.etag, c.attached
        FROM {registry}.citation c JOIN {registry}.source s ON s.id = c.source_id
        WHERE m.origin < 0 AND c.assertion_id = -m.origin
    ) e
    WHERE m.node_id = n.id AND m.named AND m.namespace <> '/' AND {visible_scope_key}
    ORDER BY m.namespace, m.rank LIMIT %(most)s
) f
ORDER BY w.id, f.moved, f.attached, f.cited

-- name: edge_evidence
-- Readable evidence of some edges, likewise.
SELECT w.id, f.scope_key, f.etag
FROM unnest(%(ids)s::bigint[]) AS w(id) JOIN {registry}.edge d ON d.id = w.id
JOIN {registry}.node a ON a.id = d.source_id JOIN {registry}.node b ON b.id = d.target_id
CROSS JOIN LATERAL (
    SELECT e.scope_key, e.etag, o.from_key <> a.key OR o.to_key <> b.key AS moved, o.attached, e.attached AS cited
    FROM {registry}.observation o
    CROSS JOIN LATERAL (
        SELECT s.scope_key, s.owner_session_id, NULL::bigint AS etag, 0::bigint AS attached
        FROM {registry}.source s WHERE o.origin > 0 AND s.id = o.origin
        UNION ALL
        SELECT s.scope_key, s.owner_session_id, c.etag, c.attached
        FROM {registry}.citation c JOIN {registry}.source s ON s.id = c.source_id
        WHERE o.origin < 0 AND c.assertion_id = -o.origin
    ) e
    WHERE o.edge_id = w.id AND {visible_scope_key}
    ORDER BY o.rank LIMIT %(most)s
) f
ORDER BY w.id, f.moved, f.attached, f.cited
