-- name: lock_erased
-- The facts to erase, dead or alive, in key order.
SELECT f.id, f.scope_key, f.pinned
FROM {facts}.facts AS f
WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)))
ORDER BY f.scope_key COLLATE "C"
FOR UPDATE OF f;

-- name: lock_dead
-- Tombstones that still hold something, below a prefix or all.
SELECT f.id, f.scope_key, f.pinned
FROM {facts}.facts AS f
WHERE f.deleted_at IS NOT NULL AND (%(like)s::text IS NULL OR f.key LIKE %(like)s)
ORDER BY f.scope_key COLLATE "C"
LIMIT %(limit)s
FOR UPDATE OF f;

-- name: erase
-- Nothing of what the fact said is left in the row; one that was alive becomes a tombstone on the queue.
WITH held AS MATERIALIZED (
    SELECT l.fact_id FROM {facts}.crawl_leases AS l
    WHERE l.fact_id = ANY (%(fact_ids)s::bigint[])
    ORDER BY l.fact_id
    FOR UPDATE
), cleared AS (
    UPDATE {facts}.crawl_leases AS l SET last_error = NULL FROM held
    WHERE l.fact_id = held.fact_id AND l.last_error IS NOT NULL
)
UPDATE {facts}.facts
SET value = 'null', tags = '{{}}', agent_id = NULL, deleted_at = coalesce(deleted_at, now()), updated_at = now()
WHERE id = ANY (%(fact_ids)s::bigint[]);
