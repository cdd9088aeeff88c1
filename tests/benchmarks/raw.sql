-- name: create_labels
-- the labels and indexes that batches of INSERT ... ON CONFLICT load
CREATE EXTENSION IF NOT EXISTS age;
SET LOCAL search_path = public, ag_catalog;
SELECT ag_catalog.create_graph({graph_name});
SELECT ag_catalog.create_vlabel({graph_name}, 'GraphNode');
SELECT ag_catalog.create_vlabel({graph_name}, 'Fact');
SELECT ag_catalog.create_elabel({graph_name}, 'REL');
SELECT ag_catalog.create_elabel({graph_name}, 'EVIDENCED_BY');
CREATE UNIQUE INDEX ON {graph}."GraphNode"
    (ag_catalog.agtype_access_operator(VARIADIC ARRAY[properties, '"node_key"'::ag_catalog.agtype]));
CREATE UNIQUE INDEX ON {graph}."Fact"
    (ag_catalog.agtype_access_operator(VARIADIC ARRAY[properties, '"scope_key"'::ag_catalog.agtype]));
CREATE UNIQUE INDEX ON {graph}."REL" (start_id, end_id,
    (ag_catalog.agtype_access_operator(VARIADIC ARRAY[properties, '"predicate_key"'::ag_catalog.agtype])));
CREATE INDEX ON {graph}."REL" (end_id);
CREATE UNIQUE INDEX ON {graph}."EVIDENCED_BY" (start_id, end_id);
CREATE INDEX ON {graph}."EVIDENCED_BY" (end_id);

-- name: insert_nodes
-- the nodes of a batch, in key order; those that exist stay as they are
INSERT INTO {graph}."GraphNode" (properties)
SELECT properties::ag_catalog.agtype
FROM unnest(%(properties)s::text[]) AS given (properties)
ON CONFLICT DO NOTHING;

-- name: node_ids
-- the ids of the nodes of a batch: one index probe each
SELECT node_key, node.id::text::bigint
FROM unnest(%(node_keys)s::text[]) AS given (node_key)
JOIN {graph}."GraphNode" AS node
    ON ag_catalog.agtype_access_operator(VARIADIC ARRAY[node.properties, '"node_key"'::ag_catalog.agtype])
        OPERATOR(ag_catalog.=) ('"' || node_key || '"')::ag_catalog.agtype;

-- name: insert_facts
-- one Fact vertex a scope key, in key order
INSERT INTO {graph}."Fact" (properties)
SELECT properties::ag_catalog.agtype
FROM unnest(%(properties)s::text[]) AS given (properties)
ON CONFLICT DO NOTHING
RETURNING properties::text, id::text::bigint;

-- name: insert_evidence
-- the facts behind each node
INSERT INTO {graph}."EVIDENCED_BY" (start_id, end_id, properties)
SELECT node_id::text::ag_catalog.graphid, fact_id::text::ag_catalog.graphid, '{{}}'::ag_catalog.agtype
FROM unnest(%(node_ids)s::bigint[], %(fact_ids)s::bigint[]) AS given (node_id, fact_id)
ON CONFLICT DO NOTHING;

-- name: upsert_edges
-- the edges of a batch, in key order: a further statement reinforces, and its facts join the evidence
INSERT INTO {graph}."REL" AS edge (start_id, end_id, properties)
SELECT source_id::text::ag_catalog.graphid, target_id::text::ag_catalog.graphid, properties::ag_catalog.agtype
FROM unnest(%(source_ids)s::bigint[], %(target_ids)s::bigint[], %(properties)s::text[])
    AS given (source_id, target_id, properties)
ON CONFLICT (start_id, end_id,
    (ag_catalog.agtype_access_operator(VARIADIC ARRAY[properties, '"predicate_key"'::ag_catalog.agtype])))
DO UPDATE SET properties = (
    SELECT jsonb_build_object(
        'predicate', old -> 'predicate',
        'predicate_key', old -> 'predicate_key',
        'confidence', 1 - (1 - (old ->> 'confidence')::float8) * (1 - (new ->> 'confidence')::float8),
        'observations', (old ->> 'observations')::integer + (new ->> 'observations')::integer,
        'evidence', (old -> 'evidence') || (new -> 'evidence')
    )::text::ag_catalog.agtype
    FROM (SELECT edge.properties::text::jsonb AS old, excluded.properties::text::jsonb AS new) AS versions
);

-- name: totals
-- what the graph holds, to be checked against the fold
SELECT
    (SELECT count(*) FROM {graph}."GraphNode") AS nodes,
    (SELECT count(*) FROM {graph}."REL") AS edges,
    (SELECT sum((properties::text::jsonb ->> 'observations')::bigint) FROM {graph}."REL") AS observations,
    (SELECT count(*) FROM {graph}."EVIDENCED_BY") AS evidence,
    (SELECT sum((properties::text::jsonb ->> 'confidence')::float8) FROM {graph}."REL") AS confidence;

-- name: create_queue
-- a bare queue of rows, with the partial index that serves it
CREATE TABLE bare_queue (id bigserial PRIMARY KEY, etag bigint NOT NULL, value jsonb, done_at timestamptz);
CREATE INDEX ON bare_queue (id) WHERE done_at IS NULL;

-- name: fill_queue
-- rows like those of the facts that our own queue holds
INSERT INTO bare_queue (etag, value)
SELECT number, value::jsonb
FROM unnest(%(values)s::text[]) WITH ORDINALITY AS given (value, number);

-- name: claim_bare
-- the oldest open rows that nobody else has locked
SELECT id, etag, value FROM bare_queue WHERE done_at IS NULL ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED;

-- name: acknowledge_bare
-- conditional on the version claimed
UPDATE bare_queue SET done_at = now()
FROM unnest(%(ids)s::bigint[], %(etags)s::bigint[]) AS claimed (id, etag)
WHERE bare_queue.id = claimed.id AND bare_queue.etag = claimed.etag AND done_at IS NULL;

-- name: claim_on_facts
-- the same loop on the table of the facts, with its indexes and triggers
SELECT id, etag, value FROM pilotswarm_facts.facts
WHERE last_crawled_at IS NULL ORDER BY id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED;

-- name: acknowledge_on_facts
-- conditional on the version claimed
UPDATE pilotswarm_facts.facts SET last_crawled_at = now()
FROM unnest(%(ids)s::bigint[], %(etags)s::bigint[]) AS claimed (id, etag)
WHERE facts.id = claimed.id AND facts.etag = claimed.etag AND last_crawled_at IS NULL;

-- name: fill_large
-- many facts at rest, the oldest thousand parked, the newest thousand due
INSERT INTO pilotswarm_facts.facts (scope_key, key, value, shared)
SELECT 'shared:c/' || n, 'c/' || n, jsonb_build_object('subject', 'a' || n, 'predicate', 'knows', 'object', 'b' || n), true
FROM generate_series(1, %(size)s) AS n;

-- name: rest_large
-- all but the first and the last thousand are off the queue
UPDATE pilotswarm_facts.facts SET last_crawled_at = now() WHERE id > 1000 AND id <= %(size)s - 1000;

-- name: park_large
-- the first thousand were given up
INSERT INTO pilotswarm_facts.crawl_leases (fact_id, etag, owner, leased_until, attempts, retry_at, parked, last_error)
SELECT id, etag, 'bench', now(), 5, now(), true, 'boom' FROM pilotswarm_facts.facts WHERE id <= 1000;

-- name: settle_large
-- what a server does by itself after a while
VACUUM ANALYZE pilotswarm_facts.facts, pilotswarm_facts.crawl_leases;
