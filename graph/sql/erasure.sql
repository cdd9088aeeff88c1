-- name: keys_named_by
-- The node keys that these facts name, and those of hand assertions that cite them, before they are erased.
WITH erased AS MATERIALIZED (
    SELECT s.id FROM {registry}.source AS s
    WHERE s.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)))
)
SELECT m.named_key FROM erased JOIN {registry}.mention AS m ON m.origin = erased.id
UNION
SELECT m.named_key
FROM erased JOIN {registry}.citation AS c ON c.source_id = erased.id
    JOIN {registry}.mention AS m ON m.origin = -c.assertion_id;

-- name: merges_of_unnamed
-- Merge records, standing or not, about keys of these that nothing names any more.
WITH unnamed AS (
    SELECT k.key FROM json_array_elements_text(%(keys)s::json) AS k (key)
    WHERE NOT EXISTS (SELECT FROM {registry}.mention AS m WHERE m.named_key = k.key)
)
SELECT g.id, g.undone_at IS NULL FROM {registry}.merge AS g
WHERE g.from_key IN (SELECT key FROM unnamed) OR g.into_key IN (SELECT key FROM unnamed)
ORDER BY g.id;

-- name: drop_merges
-- The records themselves, with their reasons; standing ones have been taken back before.
DELETE FROM {registry}.merge WHERE id = ANY (%(ids)s::bigint[]) AND undone_at IS NOT NULL;
