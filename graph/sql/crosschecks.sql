-- name: unpinned
-- Facts behind the graph that a purge could take.
SELECT f.scope_key, count(*) OVER () FROM {facts}.facts f JOIN {registry}.source s USING (scope_key)
WHERE NOT f.pinned ORDER BY 1 LIMIT %(shown)s

-- name: pin
-- Facts behind the graph stay until it lets go of them.
WITH held AS MATERIALIZED (
    SELECT f.id FROM {facts}.facts f JOIN {registry}.source s USING (scope_key)
    WHERE NOT f.pinned ORDER BY f.scope_key COLLATE "C" FOR NO KEY UPDATE OF f
)
UPDATE {facts}.facts f SET pinned = true FROM held WHERE f.id = held.id

-- name: ledger_without_fact
-- Ledger rows of facts that are not there, or that are deleted although nothing waits for the harvester.
SELECT s.scope_key, count(*) OVER () FROM {registry}.source s LEFT JOIN {facts}.facts f USING (scope_key)
WHERE s.extraction IS NOT NULL AND (f.id IS NULL OR (f.deleted_at IS NOT NULL AND f.last_crawled_at IS NOT NULL))
ORDER BY 1 LIMIT %(shown)s

-- name: other_versions
-- Facts that somebody acknowledged by hand in another version than the graph has.
SELECT s.scope_key, count(*) OVER () FROM {registry}.source s JOIN {facts}.facts f USING (scope_key)
WHERE s.extraction IS NOT NULL AND f.last_crawled_at IS NOT NULL AND f.deleted_at IS NULL AND f.etag <> s.etag
ORDER BY 1 LIMIT %(shown)s

-- name: cited_unknown
-- Keys that hand assertions cite and that no fact has.
SELECT s.scope_key, count(*) OVER () FROM {registry}.source s LEFT JOIN {facts}.facts f USING (scope_key)
WHERE f.id IS NULL AND EXISTS (SELECT FROM {registry}.citation c WHERE c.source_id = s.id)
ORDER BY 1 LIMIT %(shown)s

-- name: leases_without_fact
-- Leases on facts that are gone.
SELECT l.fact_id::text, count(*) OVER () FROM {facts}.crawl_leases l
WHERE NOT EXISTS (SELECT FROM {facts}.facts f WHERE f.id = l.fact_id) ORDER BY 1 LIMIT %(shown)s

-- name: drop_leases
-- Leases on facts that are gone.
DELETE FROM {facts}.crawl_leases l WHERE NOT EXISTS (SELECT FROM {facts}.facts f WHERE f.id = l.fact_id)

-- name: miscounted
-- The queue's length as it is kept, where it is not the one that is counted: somebody wrote past the triggers.
SELECT format('%%s pending and %%s of them deleted are kept, %%s and %%s are there', kept.pending, kept.dead, found.pending, found.dead),
    count(*) OVER ()
FROM (SELECT coalesce(sum(t.pending), 0) AS pending, coalesce(sum(t.tombstones), 0) AS dead FROM {facts}.queue_tally t) kept,
    (SELECT count(*) AS pending, count(f.deleted_at) AS dead FROM {facts}.facts f WHERE f.last_crawled_at IS NULL) found
WHERE (kept.pending, kept.dead) <> (found.pending, found.dead) LIMIT %(shown)s

-- name: hold_queue
-- Nobody changes a fact until the transaction ends.
LOCK TABLE {facts}.facts IN SHARE ROW EXCLUSIVE MODE

-- name: recount
-- The queue's length by counting; after hold_queue.
WITH gone AS (DELETE FROM {facts}.queue_tally)
INSERT INTO {facts}.queue_tally (pending, tombstones)
SELECT count(*), count(f.deleted_at) FROM {facts}.facts f WHERE f.last_crawled_at IS NULL

-- name: parked
-- Facts that kept failing.
SELECT f.scope_key || coalesce(': ' || l.last_error, ''), count(*) OVER ()
FROM {facts}.crawl_leases l JOIN {facts}.facts f ON f.id = l.fact_id AND f.etag = l.etag
WHERE l.parked AND f.last_crawled_at IS NULL ORDER BY 1 LIMIT %(shown)s

-- name: waiting_long
-- Facts that have waited for a day.
SELECT f.scope_key, count(*) OVER () FROM {facts}.facts f
WHERE f.last_crawled_at IS NULL AND f.updated_at < now() - interval '1 day' ORDER BY f.updated_at LIMIT %(shown)s
