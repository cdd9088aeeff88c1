-- name: lock_purgeable
-- Tombstones that nobody needs: reconciled ones of any age first, then unreconciled ones past the TTL that the graph
-- never referred to. Rows in use are passed over; `pinned` is judged on the row as locked.
SELECT f.id FROM {facts}.facts AS f
WHERE f.deleted_at IS NOT NULL AND NOT f.pinned
    AND (f.last_crawled_at IS NOT NULL OR f.deleted_at < now() - %(ttl)s * interval '1 second')
ORDER BY f.last_crawled_at IS NULL, f.deleted_at, f.id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: lock_forced
-- Tombstones up to a cutoff, whatever the TTL; what the graph refers to stays even so.
SELECT f.id FROM {facts}.facts AS f
WHERE f.deleted_at IS NOT NULL AND NOT f.pinned
    AND f.deleted_at <= coalesce(%(cutoff)s::timestamptz, now())
    AND (NOT %(only_unreconciled)s OR f.last_crawled_at IS NULL)
    AND (%(like)s::text IS NULL OR f.key LIKE %(like)s)
ORDER BY f.last_crawled_at IS NULL, f.deleted_at, f.id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: count_referenced
-- Tombstones up to the cutoff that a forced purge leaves because the graph may refer to them.
SELECT count(*) FROM {facts}.facts AS f
WHERE f.deleted_at IS NOT NULL AND f.pinned
    AND f.deleted_at <= coalesce(%(cutoff)s::timestamptz, now())
    AND (NOT %(only_unreconciled)s OR f.last_crawled_at IS NULL)
    AND (%(like)s::text IS NULL OR f.key LIKE %(like)s);

-- name: remove
-- For good, with their leases; the rows are locked by this transaction already.
WITH {> leases_forgotten}
DELETE FROM {facts}.facts WHERE id = ANY (%(fact_ids)s::bigint[]) AND deleted_at IS NOT NULL;

-- name: sweep_leases
-- Leases of facts that are off the queue or no longer there; those of another writer's acknowledgements, mostly.
DELETE FROM {facts}.crawl_leases AS l
WHERE l.fact_id IN (
    SELECT stale.fact_id FROM {facts}.crawl_leases AS stale
    WHERE stale.leased_until < now()
        AND NOT EXISTS (SELECT FROM {facts}.facts AS f WHERE f.id = stale.fact_id AND f.last_crawled_at IS NULL)
    ORDER BY stale.fact_id
    FOR UPDATE SKIP LOCKED
);

-- name: statistics
-- All tombstones, the pending ones among them, those the TTL still protects, and the oldest one's age in seconds.
SELECT
    count(*),
    count(*) FILTER (WHERE f.last_crawled_at IS NULL),
    count(*) FILTER (WHERE f.last_crawled_at IS NULL AND f.deleted_at >= now() - %(ttl)s * interval '1 second'),
    count(*) FILTER (WHERE f.pinned),
    extract(epoch FROM now() - min(f.deleted_at))::double precision
FROM {facts}.facts AS f
WHERE f.deleted_at IS NOT NULL;
