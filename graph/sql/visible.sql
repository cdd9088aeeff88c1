-- name: visible_ids
-- Which of these nodes anything visible names.
SELECT w.id FROM unnest(%(ids)s::bigint[]) AS w(id)
WHERE EXISTS (SELECT FROM {registry}.mention m WHERE m.node_id = w.id AND m.named AND {> origin_visible})

-- name: visible_by_key
-- Nodes in key order, as far as something visible names them; in a namespace when something visible places them there.
SELECT n.id, n.key, 0 AS place
FROM {registry}.node n
WHERE (%(ids)s::bigint[] IS NULL OR n.id = ANY (%(ids)s::bigint[]))
  AND (%(kind)s::text IS NULL OR (n.key >= %(kind)s || ':' AND n.key < %(kind)s || ';'))
  AND (%(after_key)s::text IS NULL OR n.key > %(after_key)s)
  AND EXISTS (SELECT FROM {registry}.mention m WHERE m.node_id = n.id AND m.named AND {> origin_visible})
  AND (%(space)s::text IS NULL OR {registry}.lies_in({registry}.placed_in(ARRAY(
           SELECT DISTINCT m.namespace FROM {registry}.mention m WHERE m.node_id = n.id AND m.named AND {> origin_visible}
       )), %(space)s))
ORDER BY n.key LIMIT %(limit)s

-- name: visible_by_name
-- Nodes of which a visible name or alias holds a text: exact matches, then prefixes, then the others, each in key order.
WITH matched AS (
    SELECT m.node_id, min(CASE WHEN folded.name = %(name)s THEN 0 WHEN folded.name ^@ %(name)s THEN 1 ELSE 2 END) AS place
    FROM {registry}.mention m
    CROSS JOIN LATERAL (SELECT lower(m.spelling COLLATE "pg_unicode_fast") COLLATE "C" AS name) folded
    WHERE folded.name LIKE %(like)s AND {> origin_visible}
    GROUP BY m.node_id
)
SELECT n.id, n.key, t.place
FROM matched t JOIN {registry}.node n ON n.id = t.node_id
WHERE (%(ids)s::bigint[] IS NULL OR n.id = ANY (%(ids)s::bigint[]))
  AND (%(kind)s::text IS NULL OR (n.key >= %(kind)s || ':' AND n.key < %(kind)s || ';'))
  AND (%(after_key)s::text IS NULL OR (t.place, n.key) > (%(after_place)s, %(after_key)s))
  AND (%(space)s::text IS NULL OR {registry}.lies_in({registry}.placed_in(ARRAY(
           SELECT DISTINCT m.namespace FROM {registry}.mention m WHERE m.node_id = n.id AND m.named AND {> origin_visible}
       )), %(space)s))
ORDER BY t.place, n.key LIMIT %(limit)s

-- name: visible_forms
-- What is visibly said of some nodes: the lowest-ranked row for each form and namespace.
SELECT DISTINCT ON (n.id, m.form, m.namespace, m.named) n.id, n.key, m.rank, m.named, m.form, m.spelling, m.kind, m.namespace
FROM unnest(%(ids)s::bigint[]) AS w(id) JOIN {registry}.node n ON n.id = w.id JOIN {registry}.mention m ON m.node_id = n.id
WHERE {> origin_visible}
ORDER BY n.id, m.form, m.namespace, m.named, m.rank

-- name: edges_of_nodes
-- Candidates of a hop: edges that touch some nodes, the way the walk goes.
SELECT e.id, e.source_id, e.target_id FROM {registry}.edge e
WHERE e.confidence >= %(lowest)s
  AND ((%(direction)s <> 'in' AND e.source_id = ANY (%(ids)s::bigint[]))
       OR (%(direction)s <> 'out' AND e.target_id = ANY (%(ids)s::bigint[])))
LIMIT %(limit)s

-- name: edges_between
-- Candidates of a listing: edges from some nodes to others.
SELECT e.id, e.source_id, e.target_id FROM {registry}.edge e
WHERE e.confidence >= %(lowest)s AND e.source_id = ANY (%(sources)s::bigint[]) AND e.target_id = ANY (%(targets)s::bigint[])
LIMIT %(limit)s

-- name: edge_candidates
-- Candidates of an edge search in the order of their keys; namespaces are judged by what is visible of each.
SELECT e.id, s.key, e.predicate_key, t.key, e.source_id, e.target_id
FROM {registry}.edge e JOIN {registry}.node s ON s.id = e.source_id JOIN {registry}.node t ON t.id = e.target_id
WHERE (%(source)s::bigint IS NULL OR e.source_id = %(source)s)
  AND (%(target)s::bigint IS NULL OR e.target_id = %(target)s)
  AND (%(predicate_key)s::text IS NULL OR e.predicate_key = %(predicate_key)s)
  AND e.confidence >= %(lowest)s
  AND (%(after_from)s::text IS NULL OR (s.key >= %(after_from)s
       AND (s.key, e.predicate_key, t.key) > (%(after_from)s, %(after_predicate)s, %(after_to)s)))
  AND EXISTS (SELECT FROM {registry}.observation m WHERE m.edge_id = e.id AND {> origin_visible})
ORDER BY s.key, e.predicate_key, t.key LIMIT %(limit)s

-- name: visible_statements
-- What is visibly stated of some edges, in order of attachment, each with the sources that the reader sees.
SELECT m.edge_id, s.key, t.key, m.predicate_key, m.origin, m.rank, m.confidence, m.writer, m.namespace, m.predicate, m.model,
       CASE WHEN m.origin > 0 THEN ARRAY[m.origin]
            ELSE ARRAY(SELECT e.id FROM {registry}.citation c JOIN {registry}.source e ON e.id = c.source_id
                       WHERE c.assertion_id = -m.origin AND {visible_scope_key} ORDER BY c.attached) END,
       CASE WHEN m.origin > 0 THEN (SELECT f.incorporated_at FROM {registry}.source f WHERE f.id = m.origin)
            ELSE (SELECT a.asserted_at FROM {registry}.assertion a WHERE a.id = -m.origin) END
FROM {registry}.observation m
JOIN {registry}.node s ON s.id = m.source_id JOIN {registry}.node t ON t.id = m.target_id
WHERE m.edge_id = ANY (%(ids)s::bigint[]) AND {> origin_visible}
ORDER BY m.edge_id, m.attached

-- name: visible_degrees
-- How many edges that anything visible states touch each node.
SELECT w.id, count(*) FILTER (WHERE EXISTS (
    SELECT FROM {registry}.observation m WHERE m.edge_id = e.id AND {> origin_visible}))
FROM unnest(%(ids)s::bigint[]) AS w(id) JOIN {registry}.edge e ON w.id IN (e.source_id, e.target_id)
GROUP BY w.id

-- name: visible_node_totals
-- Visible nodes by kind and by the namespaces in which something visible places them.
WITH seen AS (
    SELECT m.node_id, {registry}.placed_in(array_agg(DISTINCT m.namespace)) AS namespaces
    FROM {registry}.mention m WHERE m.named AND {> origin_visible} GROUP BY m.node_id
)
SELECT split_part(n.key, ':', 1), s.namespaces, count(*)
FROM seen s JOIN {registry}.node n ON n.id = s.node_id
WHERE %(space)s::text IS NULL OR {registry}.lies_in(s.namespaces, %(space)s)
GROUP BY 1, 2

-- name: visible_edge_totals
-- Visible edges by predicate; in a namespace when something visible places the edge or one of its ends there.
WITH seen AS (
    SELECT m.edge_id, array_agg(DISTINCT m.namespace) AS namespaces
    FROM {registry}.observation m WHERE m.edge_id IS NOT NULL AND {> origin_visible} GROUP BY m.edge_id
)
SELECT e.predicate_key, count(*) FROM seen s JOIN {registry}.edge e ON e.id = s.edge_id
WHERE %(space)s::text IS NULL OR {registry}.lies_in(s.namespaces, %(space)s)
   OR {registry}.lies_in({registry}.placed_in(ARRAY(SELECT DISTINCT m.namespace FROM {registry}.mention m
          WHERE m.node_id = e.source_id AND m.named AND {> origin_visible})), %(space)s)
   OR {registry}.lies_in({registry}.placed_in(ARRAY(SELECT DISTINCT m.namespace FROM {registry}.mention m
          WHERE m.node_id = e.target_id AND m.named AND {> origin_visible})), %(space)s)
GROUP BY 1

-- name: visible_evidence_total
-- Pairs of a node and a visible fact behind it.
SELECT count(*) FROM (
    SELECT m.node_id, e.id FROM {registry}.mention m JOIN {registry}.source e ON e.id = m.origin
    WHERE m.named AND m.namespace <> '/' AND {visible_scope_key}
    UNION
    SELECT m.node_id, e.id FROM {registry}.mention m
    JOIN {registry}.citation c ON c.assertion_id = -m.origin JOIN {registry}.source e ON e.id = c.source_id
    WHERE m.named AND m.namespace <> '/' AND m.origin < 0 AND {visible_scope_key}
) AS pair
WHERE %(space)s::text IS NULL OR {registry}.lies_in({registry}.placed_in(ARRAY(
    SELECT DISTINCT m.namespace FROM {registry}.mention m WHERE m.node_id = pair.node_id AND m.named AND {> origin_visible}
)), %(space)s)
