-- name: merge_alone
-- Wait for every write under way, and keep others from starting: what they resolved would stand at the wrong node.
SELECT pg_advisory_xact_lock(hashtextextended({registry_name} || ' merges', 0))

-- name: bump_merge_epoch
-- Merges and unmerges come one after the other; whoever resolved keys before this one starts again.
UPDATE {registry}.merge_epoch SET value = value + 1 RETURNING value

-- name: record_merge
-- A decision that two keys are one.
INSERT INTO {registry}.merge (from_key, into_key, reason, agent_id) VALUES (%(from_key)s, %(into_key)s, %(reason)s, %(agent)s)
RETURNING id, from_key, into_key, reason, agent_id, merged_at, undone_at

-- name: merge_by_id
-- One recorded merge.
SELECT id, from_key, into_key, reason, agent_id, merged_at, undone_at FROM {registry}.merge WHERE id = %(id)s FOR UPDATE

-- name: undo_merge
-- A decision taken back; its record stays.
UPDATE {registry}.merge SET undone_at = now() WHERE id = %(id)s
RETURNING id, from_key, into_key, reason, agent_id, merged_at, undone_at

-- name: standing_merges
-- Every decision that stands.
SELECT from_key, into_key FROM {registry}.merge WHERE undone_at IS NULL

-- name: clear_redirects
-- Before the closure is written anew: redirects that changed or went.
DELETE FROM {registry}.redirect WHERE named_key = ANY (%(keys)s::text[])

-- name: write_redirects
-- Where named keys resolve to after the standing merges.
INSERT INTO {registry}.redirect (named_key, target_key)
SELECT * FROM unnest(%(named_keys)s::text[], %(target_keys)s::text[])
ON CONFLICT (named_key) DO UPDATE SET target_key = excluded.target_key

-- name: all_redirects
-- The closure as it stands.
SELECT named_key, target_key FROM {registry}.redirect

-- name: scope_keys_of
-- Scope keys of sources.
SELECT id, scope_key FROM {registry}.source WHERE id = ANY (%(ids)s::bigint[])
