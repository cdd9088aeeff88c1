-- name: lock_pending
-- The receipts' facts that are still pending in the version named, locked in key order; every acknowledgement begins so.
-- The array keeps the plan to look-ups, whatever the table's size; and "pending" is spelled so that the queue's index does
-- not match: estimates made before a bulk load call the queue small, and a walk through all of it would take their place.
SELECT f.id, f.scope_key, f.etag, f.deleted_at IS NOT NULL, f.owner_session_id
FROM {facts}.facts AS f
    JOIN ROWS FROM (json_array_elements_text(%(scope_keys)s::json), unnest(%(etags)s::bigint[])) AS r (scope_key, etag)
        ON r.scope_key = f.scope_key AND r.etag = f.etag
WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)))
    AND coalesce(f.last_crawled_at, '-infinity') = '-infinity'
ORDER BY f.scope_key COLLATE "C"
FOR NO KEY UPDATE OF f;

-- name: current_versions
-- What has become of the facts of receipts that were not locked.
SELECT f.scope_key, f.etag, f.last_crawled_at IS NOT NULL
FROM {facts}.facts AS f
WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)));

-- name: acknowledge
-- Off the queue; what is alive may now be referred to by the graph. The rows are locked by this transaction already.
WITH {> leases_forgotten}
UPDATE {facts}.facts
SET last_crawled_at = now(), pinned = (deleted_at IS NULL)
WHERE id = ANY (%(fact_ids)s::bigint[]);

-- name: blank_tombstones
-- Acknowledged tombstones give up their value; in a statement of its own, which moves neither etag nor queue.
UPDATE {facts}.facts
SET value = 'null'
WHERE id = ANY (%(fact_ids)s::bigint[]) AND deleted_at IS NOT NULL AND last_crawled_at IS NOT NULL
    AND value <> 'null'::jsonb;

-- name: lock_cited
-- The facts that a hand citation names, locked in key order; those without a row are left out.
SELECT f.id, f.scope_key, f.etag, f.deleted_at IS NOT NULL, f.pinned, f.owner_session_id
FROM {facts}.facts AS f
WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)))
ORDER BY f.scope_key COLLATE "C"
FOR NO KEY UPDATE OF f;

-- name: pin
-- The graph may refer to these from now on. The rows are locked by this transaction already.
UPDATE {facts}.facts SET pinned = true WHERE id = ANY (%(fact_ids)s::bigint[]) AND NOT pinned;

-- name: unpin_tombstones
-- Nothing refers to these tombstones any more, although nobody has acknowledged them yet.
UPDATE {facts}.facts SET pinned = false
WHERE id = ANY (%(fact_ids)s::bigint[]) AND deleted_at IS NOT NULL AND pinned;

-- name: requeue
-- Back on the queue with attempts and parking forgotten; counts what was not already plainly pending.
WITH target AS MATERIALIZED (
    SELECT f.id, f.etag, f.last_crawled_at IS NOT NULL AS crawled
    FROM {facts}.facts AS f
    WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)))
    ORDER BY f.scope_key COLLATE "C"
    FOR NO KEY UPDATE OF f
), held AS MATERIALIZED (
    SELECT l.fact_id
    FROM {facts}.crawl_leases AS l JOIN target ON l.fact_id = target.id AND l.etag = target.etag
    WHERE l.parked OR l.retry_at IS NOT NULL
    ORDER BY l.fact_id
    FOR UPDATE OF l
), cleared AS (
    DELETE FROM {facts}.crawl_leases AS l USING held WHERE l.fact_id = held.fact_id
), queued AS (
    UPDATE {facts}.facts AS f SET last_crawled_at = NULL FROM target
    WHERE f.id = target.id AND target.crawled
)
SELECT count(*) FROM target LEFT JOIN held ON held.fact_id = target.id
WHERE target.crawled OR held.fact_id IS NOT NULL;
