-- name: known_sources
-- What the ledger holds of these facts.
SELECT s.scope_key, s.id, s.writer, s.model, s.extraction::text
FROM json_array_elements_text(%(scope_keys)s::json) AS w(scope_key) JOIN {registry}.source s USING (scope_key)

-- name: reserve_sources
-- Blocks of 1,000 ids for sources to come.
SELECT nextval('{registry}.source_block') * 1000 FROM generate_series(1, %(blocks)s)

-- name: insert_sources
-- Ledger rows of facts that the graph hears of for the first time.
INSERT INTO {registry}.source (id, scope_key, owner_session_id, fact_id, etag, writer, model, extractor, version, extraction, incorporated_at)
SELECT w.id, w.scope_key, w.owner, w.fact_id, w.etag, %(writer)s, %(model)s, %(extractor)s, %(version)s, w.extraction::json, now()
FROM unnest(%(ids)s::bigint[], %(scope_keys)s::text[], %(owners)s::text[], %(fact_ids)s::bigint[], %(etags)s::bigint[],
            %(extractions)s::text[]) AS w(id, scope_key, owner, fact_id, etag, extraction)
ON CONFLICT (scope_key) DO NOTHING
RETURNING id

-- name: update_sources
-- Ledger rows of facts that say something new, or the same in a new version.
UPDATE {registry}.source s
SET owner_session_id = w.owner, fact_id = w.fact_id, etag = w.etag, writer = %(writer)s, model = %(model)s,
    extractor = %(extractor)s, version = %(version)s, extraction = w.extraction::json, incorporated_at = now()
FROM unnest(%(ids)s::bigint[], %(owners)s::text[], %(fact_ids)s::bigint[], %(etags)s::bigint[], %(extractions)s::text[])
     AS w(id, owner, fact_id, etag, extraction)
WHERE s.id = w.id

-- name: touch_sources
-- Ledger rows of facts that say the same as before, by the same writer: only the version moves on.
UPDATE {registry}.source s SET etag = w.etag, extractor = %(extractor)s, version = %(version)s, incorporated_at = now()
FROM unnest(%(ids)s::bigint[], %(etags)s::bigint[]) AS w(id, etag) WHERE s.id = w.id

-- name: cite_sources
-- Sources for cited keys, made when the graph hears of them for the first time.
INSERT INTO {registry}.source (scope_key, owner_session_id)
SELECT w.scope_key, w.owner FROM unnest(%(scope_keys)s::text[], %(owners)s::text[]) AS w(scope_key, owner)
ORDER BY w.scope_key COLLATE "C"
ON CONFLICT (scope_key) DO NOTHING

-- name: strike_ledger
-- A fact that is gone leaves the ledger.
UPDATE {registry}.source SET extraction = NULL WHERE id = ANY (%(ids)s::bigint[])

-- name: mentions_of_origins
-- All that these origins name, with the node that each row stands at.
SELECT m.origin, m.pos, m.rank, m.named_key, m.form, m.spelling, m.named, m.kind, m.namespace, m.writer, n.key, m.attached
FROM {registry}.mention m JOIN {registry}.node n ON n.id = m.node_id
WHERE m.origin = ANY (%(origins)s::bigint[]) ORDER BY m.origin, m.pos

-- name: observations_of_origins
-- All that these origins state, with the nodes between which each row stands.
SELECT o.origin, o.pos, o.rank, o.from_key, o.to_key, o.predicate_key, o.predicate, o.namespace, o.confidence, o.writer,
       o.model, s.key, t.key, o.attached
FROM {registry}.observation o
JOIN {registry}.node s ON s.id = o.source_id JOIN {registry}.node t ON t.id = o.target_id
WHERE o.origin = ANY (%(origins)s::bigint[]) ORDER BY o.origin, o.pos

-- name: citations_of_assertions
-- What these hand assertions cite, in order of attachment.
SELECT c.assertion_id, c.source_id, s.scope_key FROM {registry}.citation c JOIN {registry}.source s ON s.id = c.source_id
WHERE c.assertion_id = ANY (%(ids)s::bigint[]) ORDER BY c.assertion_id, c.attached

-- name: assertions_citing
-- Hand assertions that cite these sources.
SELECT DISTINCT assertion_id FROM {registry}.citation WHERE source_id = ANY (%(ids)s::bigint[]) ORDER BY assertion_id

-- name: delete_assertions
-- Hand assertions that fall.
DELETE FROM {registry}.assertion WHERE id = ANY (%(ids)s::bigint[])
