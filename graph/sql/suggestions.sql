-- name: taken_back
-- Pairs that somebody merged and somebody unmerged: no policy merges them again.
SELECT from_key, into_key FROM {registry}.merge WHERE undone_at IS NOT NULL
