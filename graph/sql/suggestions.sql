-- name: taken_back
-- Pairs that somebody merged and somebody unmerged: no policy merges them again.
SELECT from_key, into_key FROM {registry}.merge WHERE undone_at IS NOT NULL

-- name: shared_forms
-- Forms that several nodes have, those of one kind first; of a form that many have, the first nodes.
SELECT s.form, (array_agg(n.id ORDER BY n.key))[:%(most)s], (array_agg(n.key ORDER BY n.key))[:%(most)s]
FROM {registry}.surface s JOIN {registry}.node n ON n.id = s.node_id
WHERE %(space)s::text IS NULL OR {registry}.lies_in(n.namespaces, %(space)s)
GROUP BY s.form
HAVING count(*) > 1 AND (%(kind)s::text IS NULL OR bool_or(split_part(n.key, ':', 1) = %(kind)s))
ORDER BY count(*) > count(DISTINCT split_part(n.key, ':', 1)) DESC, s.form LIMIT %(groups)s

-- name: visible_shared_forms
-- The same as far as visible mentions give the forms and place the nodes.
WITH said AS (
    SELECT DISTINCT m.node_id, m.form FROM {registry}.mention m WHERE {> origin_visible}
), placed AS (
    SELECT n.id, n.key FROM {registry}.node n
    WHERE EXISTS (SELECT FROM {registry}.mention m WHERE m.node_id = n.id AND m.named AND {> origin_visible})
      AND (%(space)s::text IS NULL OR {registry}.lies_in({registry}.placed_in(ARRAY(
               SELECT DISTINCT m.namespace FROM {registry}.mention m WHERE m.node_id = n.id AND m.named AND {> origin_visible}
           )), %(space)s))
)
SELECT s.form, (array_agg(p.id ORDER BY p.key))[:%(most)s], (array_agg(p.key ORDER BY p.key))[:%(most)s]
FROM said s JOIN placed p ON p.id = s.node_id
GROUP BY s.form
HAVING count(*) > 1 AND (%(kind)s::text IS NULL OR bool_or(split_part(p.key, ':', 1) = %(kind)s))
ORDER BY count(*) > count(DISTINCT split_part(p.key, ':', 1)) DESC, s.form LIMIT %(groups)s

-- name: keys_in_order
-- Nodes to compare by spelling and by neighbours, in key order.
SELECT n.id, n.key FROM {registry}.node n
WHERE (%(kind)s::text IS NULL OR (n.key >= %(kind)s || ':' AND n.key < %(kind)s || ';'))
  AND (%(space)s::text IS NULL OR {registry}.lies_in(n.namespaces, %(space)s))
ORDER BY n.key LIMIT %(limit)s

-- name: edges_among
-- Edges of nodes that are compared by their neighbours, as far as they go.
SELECT e.id, e.source_id, e.target_id, e.predicate_key FROM {registry}.edge e
WHERE e.source_id = ANY (%(ids)s::bigint[]) OR e.target_id = ANY (%(ids)s::bigint[])
ORDER BY e.id LIMIT %(limit)s
