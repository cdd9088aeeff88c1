-- name: lock_exact
-- The one live fact of a scope key.
SELECT f.id, f.scope_key, f.key, f.shared, f.owner_session_id
FROM {facts}.facts AS f
WHERE f.scope_key = %(scope_key)s AND f.deleted_at IS NULL
FOR NO KEY UPDATE;

-- name: lock_matching
-- The live facts that a pattern delete may take, in key order; conditions hold on the rows as locked.
SELECT f.id, f.scope_key
FROM {facts}.facts AS f
WHERE {> deletable}
ORDER BY f.scope_key COLLATE "C"
FOR NO KEY UPDATE OF f;

-- name: matching
-- What lock_matching would take, for a dry run.
SELECT f.id, f.scope_key
FROM {facts}.facts AS f
WHERE {> deletable}
ORDER BY f.scope_key COLLATE "C";

-- name: lock_session_facts
-- The live private facts of some sessions, in key order.
SELECT f.id, f.scope_key
FROM {facts}.facts AS f
WHERE f.deleted_at IS NULL AND NOT f.shared AND f.session_id = ANY (%(session_ids)s::text[])
ORDER BY f.scope_key COLLATE "C"
FOR NO KEY UPDATE OF f;

-- name: tombstone
-- The rows are locked by this transaction; the trigger gives each a new version and puts it on the queue.
UPDATE {facts}.facts SET deleted_at = now(), updated_at = now() WHERE id = ANY (%(fact_ids)s::bigint[]);
