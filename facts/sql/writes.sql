-- name: lock_session
-- Deleting a session and storing into it exclude each other until the transaction ends; registered or not.
SELECT pg_advisory_xact_lock_shared(hashtextextended({facts_name} || ' session ' || %(session_id)s, 0));

-- name: session_deleted
-- Read after the lock, in a statement of its own: a snapshot taken before it might miss the deletion.
SELECT EXISTS (SELECT FROM {facts}.sessions WHERE session_id = %(session_id)s AND deleted_at IS NOT NULL);

-- name: store
-- The whole batch in key order. Rows that would stay as they are in every respect are locked, not written, not returned.
WITH given AS MATERIALIZED (
    SELECT scope_key, key, value, shared, tags
    FROM json_to_recordset(%(batch)s::json) AS r (scope_key text, key text, value jsonb, shared boolean, tags text[])
)
INSERT INTO {facts}.facts AS f (scope_key, key, value, shared, transient, tags, agent_id, session_id)
SELECT scope_key, key, coalesce(value, 'null'), shared, NOT shared, tags, %(agent_id)s, %(session_id)s
FROM given
ORDER BY scope_key COLLATE "C"
ON CONFLICT (scope_key) DO UPDATE
SET value = CASE WHEN f.value = EXCLUDED.value AND f.deleted_at IS NULL THEN f.value ELSE EXCLUDED.value END,
    tags = EXCLUDED.tags,
    agent_id = EXCLUDED.agent_id,
    session_id = EXCLUDED.session_id,
    updated_at = now(),
    deleted_at = NULL
WHERE f.deleted_at IS NOT NULL
    OR f.value IS DISTINCT FROM EXCLUDED.value
    OR f.tags IS DISTINCT FROM EXCLUDED.tags
    OR f.agent_id IS DISTINCT FROM EXCLUDED.agent_id
    OR f.session_id IS DISTINCT FROM EXCLUDED.session_id
RETURNING f.id, f.scope_key, f.key, f.shared, f.etag, f.owner_session_id;

-- name: untouched
-- The rows of a batch that stayed as they were; this transaction holds their locks.
SELECT f.id, f.scope_key, f.key, f.shared, f.etag, f.owner_session_id
FROM {facts}.facts AS f
WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json)));

-- name: notify
-- A hint for whoever waits for intake; sent after the commit, so that no writer fails because of it.
SELECT pg_notify(%(channel)s, id) FROM json_array_elements_text(%(ids)s::json) AS r (id);
