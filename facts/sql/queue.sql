-- name: read_uncrawled
-- Pending facts, oldest first, tombstones included; those under a running lease are left out, parked ones are not.
SELECT f.id, f.scope_key, f.key, f.value, f.agent_id, f.session_id, f.shared, f.transient, f.tags, f.created_at,
    f.updated_at, f.deleted_at, f.etag, f.last_crawled_at, f.owner_session_id, f.pinned,
    coalesce(l.parked, false), l.last_error
FROM {facts}.facts AS f LEFT JOIN {facts}.crawl_leases AS l ON l.fact_id = f.id AND l.etag = f.etag
WHERE f.last_crawled_at IS NULL
    AND f.id > %(after_id)s
    AND (l.fact_id IS NULL OR l.parked OR l.leased_until <= now())
    AND (%(likes)s::text[] IS NULL OR f.key LIKE ANY (%(likes)s))
    AND {visible}
ORDER BY f.id
LIMIT %(limit)s;

-- name: lock_marks
-- The facts of a caller's receipts, in key order, as they are once locked.
SELECT f.id, f.scope_key, f.etag, f.last_crawled_at IS NOT NULL, f.deleted_at IS NOT NULL, f.pinned
FROM {facts}.facts AS f
WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)))
    AND {visible}
ORDER BY f.scope_key COLLATE "C"
FOR NO KEY UPDATE OF f;

-- name: lock_failures
-- Which of these facts are parked or backed off in the version they have now.
SELECT l.fact_id
FROM {facts}.crawl_leases AS l JOIN {facts}.facts AS f ON f.id = l.fact_id AND f.etag = l.etag
WHERE l.fact_id = ANY (%(fact_ids)s::bigint[]) AND (l.parked OR l.retry_at IS NOT NULL)
ORDER BY l.fact_id
FOR UPDATE OF l;

-- name: close_marked
-- Acknowledged by hand: the rows are locked by this transaction already; the graph's references are not judged.
WITH {> leases_forgotten}
UPDATE {facts}.facts SET last_crawled_at = now() WHERE id = ANY (%(fact_ids)s::bigint[]);

-- name: reopen_marked
-- Back on the queue; the rows are locked by this transaction already, and their failures with them.
WITH cleared AS (
    DELETE FROM {facts}.crawl_leases WHERE fact_id = ANY (%(failed_ids)s::bigint[])
)
UPDATE {facts}.facts SET last_crawled_at = NULL
WHERE id = ANY (%(fact_ids)s::bigint[]) AND last_crawled_at IS NOT NULL;

-- name: close_below
-- A prefix flush: live facts below the prefix are acknowledged; conditions hold on the rows as locked.
WITH target AS MATERIALIZED (
    SELECT f.id, f.scope_key, f.last_crawled_at IS NOT NULL AS crawled
    FROM {facts}.facts AS f
    WHERE f.key LIKE %(like)s AND f.deleted_at IS NULL AND {visible}
    ORDER BY f.scope_key COLLATE "C"
    FOR NO KEY UPDATE OF f
), held AS MATERIALIZED (
    SELECT l.fact_id FROM {facts}.crawl_leases AS l
    WHERE l.fact_id IN (SELECT id FROM target WHERE NOT crawled)
    ORDER BY l.fact_id
    FOR UPDATE
), cleared AS (
    DELETE FROM {facts}.crawl_leases AS l USING held WHERE l.fact_id = held.fact_id
), closed AS (
    UPDATE {facts}.facts AS f SET last_crawled_at = now() FROM target
    WHERE f.id = target.id AND NOT target.crawled AND f.deleted_at IS NULL
    RETURNING f.id
)
SELECT (SELECT count(*) FROM closed), (SELECT count(*) FROM target),
    ARRAY(SELECT scope_key FROM target WHERE crawled ORDER BY scope_key COLLATE "C" LIMIT %(listed)s);

-- name: reopen_below
-- A prefix requeue, tombstones included; a pending fact counts only when it had failed.
WITH target AS MATERIALIZED (
    SELECT f.id, f.scope_key, f.etag, f.last_crawled_at IS NOT NULL AS crawled
    FROM {facts}.facts AS f
    WHERE f.key LIKE %(like)s AND {visible}
    ORDER BY f.scope_key COLLATE "C"
    FOR NO KEY UPDATE OF f
), held AS MATERIALIZED (
    SELECT l.fact_id FROM {facts}.crawl_leases AS l JOIN target ON l.fact_id = target.id AND l.etag = target.etag
    WHERE l.parked OR l.retry_at IS NOT NULL
    ORDER BY l.fact_id
    FOR UPDATE OF l
), cleared AS (
    DELETE FROM {facts}.crawl_leases AS l USING held WHERE l.fact_id = held.fact_id
), opened AS (
    UPDATE {facts}.facts AS f SET last_crawled_at = NULL FROM target
    WHERE f.id = target.id AND target.crawled
), affected AS MATERIALIZED (
    SELECT id FROM target WHERE crawled OR id IN (SELECT fact_id FROM held)
)
SELECT (SELECT count(*) FROM affected), (SELECT count(*) FROM target),
    ARRAY(
        SELECT scope_key FROM target WHERE id NOT IN (SELECT id FROM affected)
        ORDER BY scope_key COLLATE "C" LIMIT %(listed)s
    );

-- name: totals
-- The whole queue without looking through it: its length from the tally, the rest from the leases, which are few.
SELECT tally.pending, held.leased, held.parked, tally.tombstones,
    (SELECT min(f.updated_at) FROM {facts}.facts AS f WHERE f.last_crawled_at IS NULL), held.next_retry_at
FROM (
    SELECT coalesce(sum(t.pending), 0)::bigint AS pending, coalesce(sum(t.tombstones), 0)::bigint AS tombstones
    FROM {facts}.queue_tally AS t
) AS tally CROSS JOIN (
    SELECT count(*) FILTER (WHERE l.leased_until > now() AND NOT l.parked) AS leased,
        count(*) FILTER (WHERE l.parked) AS parked,
        min(l.retry_at) FILTER (WHERE NOT l.parked) AS next_retry_at
    FROM {facts}.crawl_leases AS l JOIN {facts}.facts AS f ON f.id = l.fact_id AND f.etag = l.etag
    WHERE f.last_crawled_at IS NULL
) AS held;

-- name: totals_below
-- The queue of a namespace, by its facts.
SELECT
    count(*),
    count(*) FILTER (WHERE l.leased_until > now() AND NOT l.parked),
    count(*) FILTER (WHERE l.parked),
    count(*) FILTER (WHERE f.deleted_at IS NOT NULL),
    min(f.updated_at),
    min(l.retry_at) FILTER (WHERE NOT l.parked)
FROM {facts}.facts AS f LEFT JOIN {facts}.crawl_leases AS l ON l.fact_id = f.id AND l.etag = f.etag
WHERE f.last_crawled_at IS NULL
    AND f.key LIKE ANY (%(likes)s::text[]);

-- name: count_uncovered
-- Pending facts that no rule covers: they wait for agents. Rules are judged fact by fact.
SELECT count(*) FROM {facts}.facts AS f
WHERE f.last_crawled_at IS NULL
    AND (%(likes)s::text[] IS NULL OR f.key LIKE ANY (%(likes)s))
    AND {> covered} IS NOT TRUE;

-- name: fold_tally
-- Many differences become one; rows that another fold has in hand are left to it.
WITH folded AS (
    DELETE FROM {facts}.queue_tally
    WHERE id IN (SELECT t.id FROM {facts}.queue_tally AS t ORDER BY t.id FOR UPDATE SKIP LOCKED)
    RETURNING pending, tombstones
)
INSERT INTO {facts}.queue_tally (pending, tombstones)
SELECT sum(pending), sum(tombstones) FROM folded
HAVING sum(pending) <> 0 OR sum(tombstones) <> 0;

-- name: last_crawled
-- The newest acknowledgement.
SELECT max(f.last_crawled_at) FROM {facts}.facts AS f
WHERE f.last_crawled_at IS NOT NULL AND (%(likes)s::text[] IS NULL OR f.key LIKE ANY (%(likes)s));

-- name: entries
-- The queue as an operator looks at it, oldest first, with what befell each fact.
SELECT f.id, f.scope_key, f.etag, f.deleted_at IS NOT NULL, f.updated_at, l.owner, l.leased_until, l.attempts,
    l.retry_at, coalesce(l.parked, false), l.last_error
FROM {facts}.facts AS f LEFT JOIN {facts}.crawl_leases AS l ON l.fact_id = f.id AND l.etag = f.etag
WHERE f.last_crawled_at IS NULL
    AND f.id > %(after_id)s
    AND (%(scope_key)s::text IS NULL OR f.scope_key = %(scope_key)s)
    AND (%(likes)s::text[] IS NULL OR f.key LIKE ANY (%(likes)s))
    AND CASE %(state)s
        WHEN 'parked' THEN l.parked
        WHEN 'leased' THEN NOT l.parked AND l.leased_until > now()
        WHEN 'failed' THEN NOT l.parked AND l.retry_at IS NOT NULL
        WHEN 'due' THEN l.fact_id IS NULL OR (NOT l.parked AND l.leased_until <= now() AND coalesce(l.retry_at <= now(), true))
        ELSE true
    END
ORDER BY f.id
LIMIT %(limit)s;

-- name: forgive
-- Parked and backed-off facts are due again with attempts forgotten; all of them, or those named.
WITH held AS MATERIALIZED (
    SELECT l.fact_id FROM {facts}.crawl_leases AS l
    WHERE (l.parked OR (%(backed_off)s AND l.retry_at IS NOT NULL))
        AND (
            %(scope_keys)s::json IS NULL
            OR l.fact_id IN (
                SELECT f.id FROM {facts}.facts AS f
                WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)))
            )
        )
    ORDER BY l.fact_id
    FOR UPDATE
)
DELETE FROM {facts}.crawl_leases AS l USING held WHERE l.fact_id = held.fact_id;
