-- name: totals
-- Nodes, edges, and pairs of a node and a fact behind it.
SELECT (SELECT count(*) FROM {registry}.node), (SELECT count(*) FROM {registry}.edge), (SELECT count(*) FROM {graph}."EVIDENCED_BY")

-- name: totals_in
-- The same of one namespace and below; an edge is in when it, or one of its ends, is.
WITH inside AS MATERIALIZED (SELECT n.id FROM {registry}.node n WHERE n.namespaces::text LIKE %(space_hint)s AND {registry}.lies_in(n.namespaces, %(space)s))
SELECT (SELECT count(*) FROM inside),
       (SELECT count(*) FROM {registry}.edge e
        WHERE e.source_id IN (SELECT id FROM inside) OR e.target_id IN (SELECT id FROM inside)
           OR (e.namespaces::text LIKE %(space_hint)s
               AND {registry}.lies_in(ARRAY(SELECT jsonb_object_keys(e.namespaces)), %(space)s))),
       (SELECT count(*) FROM inside i JOIN {graph}."EVIDENCED_BY" b
            ON b.start_id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(label)s, i.id))

-- name: by_namespace
-- Nodes by namespace ('' is the default partition); a node counts in each of its namespaces.
SELECT s.namespace, count(*) FROM {registry}.node n CROSS JOIN LATERAL unnest(n.namespaces) AS s (namespace)
WHERE %(space)s::text IS NULL OR {registry}.lies_in(ARRAY[s.namespace], %(space)s)
GROUP BY 1

-- name: by_kind
-- Nodes by kind, as keys spell it.
SELECT split_part(n.key, ':', 1), count(*) FROM {registry}.node n
WHERE %(space)s::text IS NULL OR (n.namespaces::text LIKE %(space_hint)s AND {registry}.lies_in(n.namespaces, %(space)s))
GROUP BY 1

-- name: by_predicate
-- Edges by predicate key.
WITH inside AS MATERIALIZED (
    SELECT n.id FROM {registry}.node n
    WHERE %(space)s::text IS NOT NULL AND n.namespaces::text LIKE %(space_hint)s AND {registry}.lies_in(n.namespaces, %(space)s)
)
SELECT e.predicate_key, count(*) FROM {registry}.edge e
WHERE %(space)s::text IS NULL OR e.source_id IN (SELECT id FROM inside) OR e.target_id IN (SELECT id FROM inside)
   OR (e.namespaces::text LIKE %(space_hint)s AND {registry}.lies_in(ARRAY(SELECT jsonb_object_keys(e.namespaces)), %(space)s))
GROUP BY 1
