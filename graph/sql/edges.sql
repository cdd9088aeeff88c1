-- name: insert_edges
-- New edges with their final sums, in the order of every edge lock; one that exists already is left out.
INSERT INTO {registry}.edge (source_id, target_id, predicate_key, predicate, shown_rank, model, confidence, observations,
                             certain, weight, hand, writers, namespaces, evidence)
SELECT source_id, target_id, predicate_key, predicate, shown_rank, model, confidence, observations, certain, weight, hand,
       writers::jsonb, namespaces::jsonb, evidence::bigint[]
FROM unnest(%(sources)s::bigint[], %(targets)s::bigint[], %(predicate_keys)s::text[], %(predicates)s::text[],
            %(ranks)s::bigint[], %(models)s::text[], %(confidences)s::float8[], %(observations)s::int[], %(certain)s::int[],
            %(weights)s::numeric[], %(hand)s::int[], %(writers)s::text[], %(namespaces)s::text[], %(evidence)s::text[])
    AS w(source_id, target_id, predicate_key, predicate, shown_rank, model, confidence, observations, certain, weight, hand,
         writers, namespaces, evidence)
ORDER BY source_id, target_id, predicate_key COLLATE "C"
ON CONFLICT (source_id, target_id, predicate_key) DO NOTHING
RETURNING id, source_id, target_id, predicate_key

-- name: lock_edges
-- Edges that this write changes, locked in their order, with the state that the change starts from.
SELECT e.id, e.source_id, e.target_id, e.predicate_key, e.predicate, e.shown_rank, e.model, e.observations, e.certain,
       e.weight::text, e.hand, e.writers, e.namespaces, e.evidence
FROM {registry}.edge e
JOIN unnest(%(sources)s::bigint[], %(targets)s::bigint[], %(predicate_keys)s::text[]) AS w(source_id, target_id, predicate_key)
  USING (source_id, target_id, predicate_key)
ORDER BY e.source_id, e.target_id, e.predicate_key FOR UPDATE OF e

-- name: update_edges
-- What edges add up to after this write.
UPDATE {registry}.edge e
SET predicate = w.predicate, shown_rank = w.shown_rank, model = w.model, confidence = w.confidence,
    observations = w.observations, certain = w.certain, weight = w.weight, hand = w.hand, writers = w.writers::jsonb,
    namespaces = w.namespaces::jsonb, evidence = w.evidence::bigint[], last_seen = now()
FROM unnest(%(ids)s::bigint[], %(predicates)s::text[], %(ranks)s::bigint[], %(models)s::text[], %(confidences)s::float8[],
            %(observations)s::int[], %(certain)s::int[], %(weights)s::numeric[], %(hand)s::int[], %(writers)s::text[],
            %(namespaces)s::text[], %(evidence)s::text[])
    AS w(id, predicate, shown_rank, model, confidence, observations, certain, weight, hand, writers, namespaces, evidence)
WHERE e.id = w.id

-- name: delete_observations
-- Withdraw statements that origins no longer make.
DELETE FROM {registry}.observation o USING unnest(%(origins)s::bigint[], %(poses)s::int[]) AS w(origin, pos)
WHERE o.origin = w.origin AND o.pos = w.pos

-- name: insert_observations
-- Statements that origins make; those between a node and itself belong to no edge.
INSERT INTO {registry}.observation (origin, pos, edge_id, source_id, target_id, from_key, to_key, predicate_key, predicate,
                                    namespace, confidence, writer, model, rank, attached)
SELECT w.origin, w.pos, w.edge_id, w.source_id, w.target_id, w.from_key, w.to_key, w.predicate_key, w.predicate, w.namespace,
       w.confidence, w.writer, w.model, w.rank, (step.number << 20) + w.place
FROM (SELECT nextval('{registry}.attachment') AS number OFFSET 0) AS step, unnest(%(origins)s::bigint[], %(poses)s::int[],
    %(edges)s::bigint[], %(sources)s::bigint[], %(targets)s::bigint[], %(from_keys)s::text[], %(to_keys)s::text[],
    %(predicate_keys)s::text[], %(predicates)s::text[], %(namespaces)s::text[], %(confidences)s::float8[],
    %(writers)s::text[], %(models)s::text[], %(ranks)s::bigint[]) WITH ORDINALITY
    AS w(origin, pos, edge_id, source_id, target_id, from_key, to_key, predicate_key, predicate, namespace, confidence,
         writer, model, rank, place)

-- name: restore_observation_order
-- A statement that only moved between edges keeps its place in the order of attachment.
UPDATE {registry}.observation o SET attached = w.attached
FROM unnest(%(origins)s::bigint[], %(poses)s::int[], %(attached)s::bigint[]) AS w(origin, pos, attached)
WHERE o.origin = w.origin AND o.pos = w.pos

-- name: statements_of_edges
-- Every statement of these edges with the keys it cites; for edges on which hand assertions stand.
SELECT o.edge_id, o.origin, o.rank, o.confidence, o.writer, o.namespace, o.predicate, o.model, o.attached,
       CASE WHEN o.origin > 0 THEN ARRAY[o.origin]
            ELSE coalesce((SELECT array_agg(c.source_id ORDER BY c.attached) FROM {registry}.citation c WHERE c.assertion_id = -o.origin),
                          ARRAY[]::bigint[]) END AS keys
FROM {registry}.observation o WHERE o.edge_id = ANY (%(ids)s::bigint[]) ORDER BY o.edge_id, o.attached

-- name: lowest_statements
-- What edges show after their shown statement was withdrawn: one index probe an edge.
SELECT w.id, o.rank, o.predicate, o.model FROM unnest(%(ids)s::bigint[]) AS w(id)
CROSS JOIN LATERAL (SELECT rank, predicate, model FROM {registry}.observation WHERE edge_id = w.id ORDER BY rank LIMIT 1) o

-- name: newest_evidence
-- The newest evidence keys of edges whose capped copy lost one while more stand behind it.
SELECT w.id, ARRAY(SELECT k FROM (
    SELECT o.origin AS k, o.attached FROM {registry}.observation o WHERE o.edge_id = w.id AND o.origin > 0
    ORDER BY o.attached DESC LIMIT 256) newest ORDER BY attached) AS evidence
FROM unnest(%(ids)s::bigint[]) AS w(id)

-- name: project_new_edges
-- REL rows for edges that were just made; their properties come written, but for the times.
INSERT INTO {graph}."REL" (id, start_id, end_id, properties)
SELECT ag_catalog._graphid(%(label)s, w.id), ag_catalog._graphid(%(node_label)s, w.source_id),
       ag_catalog._graphid(%(node_label)s, w.target_id), (w.properties || times.members)::ag_catalog.agtype
FROM unnest(%(ids)s::bigint[], %(sources)s::bigint[], %(targets)s::bigint[], %(properties)s::text[])
         AS w(id, source_id, target_id, properties),
     (SELECT ',"first_seen":"' || t || '","last_seen":"' || t || '"}}' AS members
      FROM to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS t) AS times

-- name: project_edges
-- REL rows of edges that changed.
UPDATE {graph}."REL" r
SET properties = (w.properties
    || ',"evidence":' || coalesce((SELECT json_agg(s.scope_key ORDER BY k.place)::text
                                   FROM unnest(e.evidence) WITH ORDINALITY AS k(id, place)
                                   JOIN {registry}.source s ON s.id = k.id), '[]')
    || ',"first_seen":"' || to_char(e.first_seen AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    || '","last_seen":"' || to_char(e.last_seen AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"}}')::ag_catalog.agtype
FROM unnest(%(ids)s::bigint[], %(properties)s::text[]) AS w(id, properties)
JOIN {registry}.edge e ON e.id = w.id
WHERE r.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(label)s, w.id)

-- name: delete_edges
-- Take away edges that nothing states any more.
WITH gone AS (DELETE FROM {registry}.edge WHERE id = ANY (%(ids)s::bigint[]) RETURNING id)
DELETE FROM {graph}."REL" r USING gone WHERE r.id OPERATOR(ag_catalog.=) ag_catalog._graphid(%(label)s, gone.id)
