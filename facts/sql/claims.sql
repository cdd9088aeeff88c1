-- name: look_ahead
-- Whether any lease ran out, and planning for the rest of the transaction: read the queue's index in its order, since its
-- filters are hard to estimate and a planner that expects few rows sorts all that is pending for every claim. Without
-- expired leases the claim of due facts is next, for which see join_in_order.
SELECT expired, set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_nestloop', CASE WHEN expired THEN 'on' ELSE 'off' END, true)
FROM (
    SELECT EXISTS (
        SELECT FROM {facts}.crawl_leases AS l
        WHERE l.retry_at IS NULL AND NOT l.parked AND l.leased_until <= now()
    ) AS expired
) AS looked;

-- name: join_in_order
-- For the claim of due facts: two CTEs have no statistics, and a nested loop over them compares each row with each. Not for
-- the expired ones, which are found lease by lease.
SELECT set_config('enable_nestloop', 'off', true);

-- name: claim_expired
-- One fact whose last holder neither finished nor failed: it is taken alone, since it may be what killed it.
WITH offered AS MATERIALIZED (
    SELECT f.id, f.scope_key, f.key, f.value, f.etag, f.deleted_at IS NOT NULL AS deleted, f.session_id, f.agent_id,
        f.shared, f.tags
    FROM {facts}.crawl_leases AS l JOIN {facts}.facts AS f ON f.id = l.fact_id
    WHERE l.retry_at IS NULL AND NOT l.parked AND l.leased_until <= now() AND l.etag = f.etag
        AND f.last_crawled_at IS NULL
        AND {> covered}
    ORDER BY f.id
    LIMIT 1
    FOR NO KEY UPDATE OF f SKIP LOCKED
), claimed AS (
    INSERT INTO {facts}.crawl_leases AS l (fact_id, etag, owner, leased_until)
    SELECT id, etag, %(owner)s, clock_timestamp() + %(lease)s * interval '1 second' FROM offered
    ON CONFLICT (fact_id) DO UPDATE
    SET owner = EXCLUDED.owner, leased_until = EXCLUDED.leased_until, attempts = l.attempts + 1
    WHERE l.etag = EXCLUDED.etag AND l.leased_until <= now() AND NOT l.parked AND l.retry_at IS NULL
    RETURNING l.fact_id, l.attempts
)
SELECT o.id, o.scope_key, o.key, o.value, o.etag, o.deleted, o.session_id, o.agent_id, o.shared, o.tags, c.attempts
FROM claimed AS c JOIN offered AS o ON o.id = c.fact_id
ORDER BY o.id;

-- name: claim_due
-- Oldest first. What the SELECT offers is claimed only by the INSERT: SKIP LOCKED re-checks the fact's row, not a lease
-- that another claimer committed after this snapshot.
WITH offered AS MATERIALIZED (
    SELECT f.id, f.scope_key, f.key, f.value, f.etag, f.deleted_at IS NOT NULL AS deleted, f.session_id, f.agent_id,
        f.shared, f.tags
    FROM {facts}.facts AS f LEFT JOIN {facts}.crawl_leases AS l ON l.fact_id = f.id AND l.etag = f.etag
    WHERE f.last_crawled_at IS NULL
        AND (l.fact_id IS NULL OR (l.retry_at <= now() AND NOT l.parked AND l.leased_until <= now()))
        AND {> covered}
    ORDER BY f.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF f SKIP LOCKED
), claimed AS (
    INSERT INTO {facts}.crawl_leases AS l (fact_id, etag, owner, leased_until)
    SELECT id, etag, %(owner)s, clock_timestamp() + %(lease)s * interval '1 second' FROM offered ORDER BY id
    ON CONFLICT (fact_id) DO UPDATE
    SET etag = EXCLUDED.etag, owner = EXCLUDED.owner, leased_until = EXCLUDED.leased_until,
        attempts = CASE WHEN l.etag = EXCLUDED.etag THEN l.attempts + 1 ELSE 1 END,
        retry_at = NULL, parked = false,
        last_error = CASE WHEN l.etag = EXCLUDED.etag THEN l.last_error END
    WHERE l.etag <> EXCLUDED.etag OR (l.leased_until <= now() AND NOT l.parked AND l.retry_at <= now())
    RETURNING l.fact_id, l.attempts
)
SELECT o.id, o.scope_key, o.key, o.value, o.etag, o.deleted, o.session_id, o.agent_id, o.shared, o.tags, c.attempts
FROM claimed AS c JOIN offered AS o ON o.id = c.fact_id
ORDER BY o.id;

-- name: extend
-- The heartbeat: an owner's running leases last longer. It waits for nobody.
WITH held AS MATERIALIZED (
    SELECT l.fact_id FROM {facts}.crawl_leases AS l
    WHERE l.owner = %(owner)s AND l.retry_at IS NULL AND NOT l.parked AND l.leased_until > now() - interval '1 day'
    ORDER BY l.fact_id
    FOR UPDATE SKIP LOCKED
)
UPDATE {facts}.crawl_leases AS l
SET leased_until = clock_timestamp() + %(lease)s * interval '1 second'
FROM held WHERE l.fact_id = held.fact_id;

-- name: fail
-- A failed attempt: back off, or park for good; only while the lease is still the caller's for that version.
WITH failed AS MATERIALIZED (
    SELECT l.fact_id, r.delay, r.parked, r.error
    FROM json_to_recordset(%(failures)s::json)
            AS r (fact_id bigint, etag bigint, delay double precision, parked boolean, error text)
        JOIN {facts}.crawl_leases AS l ON l.fact_id = r.fact_id AND l.etag = r.etag AND l.owner = %(owner)s
    ORDER BY l.fact_id
    FOR UPDATE OF l
)
UPDATE {facts}.crawl_leases AS l
SET leased_until = now(), retry_at = now() + failed.delay * interval '1 second', parked = failed.parked,
    last_error = failed.error
FROM failed WHERE l.fact_id = failed.fact_id;

-- name: release
-- Given back unworked: due at once, and the attempt does not count.
WITH held AS MATERIALIZED (
    SELECT l.fact_id FROM {facts}.crawl_leases AS l
    WHERE l.owner = %(owner)s AND l.retry_at IS NULL AND NOT l.parked
        AND (%(fact_ids)s::bigint[] IS NULL OR l.fact_id = ANY (%(fact_ids)s::bigint[]))
    ORDER BY l.fact_id
    FOR UPDATE
)
UPDATE {facts}.crawl_leases AS l
SET leased_until = now(), retry_at = now(), attempts = greatest(l.attempts - 1, 0)
FROM held WHERE l.fact_id = held.fact_id;
