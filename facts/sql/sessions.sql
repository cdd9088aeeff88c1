-- name: register
-- A new session, or a known one under another parent; a deleted one is not brought back.
INSERT INTO {facts}.sessions AS s (session_id, parent_session_id, agent_id)
VALUES (%(session_id)s, %(parent_session_id)s, %(agent_id)s)
ON CONFLICT (session_id) DO UPDATE
SET parent_session_id = EXCLUDED.parent_session_id, agent_id = coalesce(EXCLUDED.agent_id, s.agent_id)
WHERE s.deleted_at IS NULL
RETURNING session_id, parent_session_id, agent_id, created_at, deleted_at;

-- name: spawn
-- A session that nobody knows and nobody has stored in; any other is left as it is.
INSERT INTO {facts}.sessions (session_id, parent_session_id, agent_id)
SELECT %(session_id)s, %(parent_session_id)s, %(agent_id)s
WHERE NOT EXISTS (SELECT FROM {facts}.facts AS f WHERE f.session_id = %(session_id)s AND f.transient)
ON CONFLICT (session_id) DO NOTHING;

-- name: reparent
-- A live session under another parent, or under none.
UPDATE {facts}.sessions SET parent_session_id = %(parent_session_id)s
WHERE session_id = %(session_id)s AND deleted_at IS NULL
RETURNING session_id, parent_session_id, agent_id, created_at, deleted_at;

-- name: get
-- One registered session.
SELECT session_id, parent_session_id, agent_id, created_at, deleted_at
FROM {facts}.sessions WHERE session_id = %(session_id)s;

-- name: list
-- Registered sessions by id, deleted ones only when asked for.
SELECT session_id, parent_session_id, agent_id, created_at, deleted_at
FROM {facts}.sessions
WHERE session_id > %(after)s COLLATE "C" AND (%(include_deleted)s OR deleted_at IS NULL)
ORDER BY session_id COLLATE "C"
LIMIT %(limit)s;

-- name: lock_session_for_deletion
-- Waits for stores into this session and keeps new ones out until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended({facts_name} || ' session ' || %(session_id)s, 0));

-- name: mark_deleted
-- Known or not, the sessions are deleted from now on.
INSERT INTO {facts}.sessions AS s (session_id, deleted_at)
SELECT id, now() FROM unnest(%(session_ids)s::text[]) AS given (id) ORDER BY id COLLATE "C"
ON CONFLICT (session_id) DO UPDATE SET deleted_at = coalesce(s.deleted_at, now());

-- name: catalogue
-- The product's own session catalogue, in the shape that a `lineage_query` has.
SELECT session_id, parent_session_id, deleted_at IS NOT NULL AS deleted FROM {facts}.sessions

-- name: private_sessions
-- Sessions that still hold live private facts.
SELECT DISTINCT f.session_id FROM {facts}.facts AS f
WHERE f.transient AND f.deleted_at IS NULL AND f.session_id IS NOT NULL;
