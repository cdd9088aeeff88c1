-- name: create_key
-- A new key; the key itself never comes here, only its SHA-256.
INSERT INTO {facts}.api_keys
    (key_sha256, preview, label, role, agent_id, binding, session_ids, granted_prefixes, more, expires_at)
VALUES (%(digest)s, %(preview)s, %(label)s, %(role)s, %(agent_id)s, %(binding)s, %(session_ids)s, %(granted_prefixes)s,
        %(more)s, %(expires_at)s)
RETURNING id, key_sha256, preview, label, role, agent_id, binding, session_ids, granted_prefixes, more,
          created_at, expires_at, last_used_at, revoked_at;

-- name: find_key
-- The key behind a digest, if it still holds; what is over looks like what never was.
SELECT id, key_sha256, preview, label, role, agent_id, binding, session_ids, granted_prefixes, more,
       created_at, expires_at, last_used_at, revoked_at
FROM {facts}.api_keys
WHERE key_sha256 = %(digest)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());

-- name: find_key_by_id
-- The same for a key that is known by its id, as a signed-in browser's is.
SELECT id, key_sha256, preview, label, role, agent_id, binding, session_ids, granted_prefixes, more,
       created_at, expires_at, last_used_at, revoked_at
FROM {facts}.api_keys
WHERE id = %(id)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());

-- name: list_keys
-- Every key by id, those that are over only when asked for.
SELECT id, key_sha256, preview, label, role, agent_id, binding, session_ids, granted_prefixes, more,
       created_at, expires_at, last_used_at, revoked_at
FROM {facts}.api_keys
WHERE %(include_over)s OR (revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
ORDER BY id;

-- name: note_key_used
-- Coarse: one write in five minutes a key, and none that waits for another.
UPDATE {facts}.api_keys SET last_used_at = now()
WHERE id = (SELECT k.id FROM {facts}.api_keys AS k WHERE k.id = %(id)s FOR NO KEY UPDATE SKIP LOCKED);

-- name: revoke_key
-- From now on; a second time changes nothing.
UPDATE {facts}.api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE id = %(id)s
RETURNING id, key_sha256, preview, label, role, agent_id, binding, session_ids, granted_prefixes, more,
          created_at, expires_at, last_used_at, revoked_at;

-- name: any_keys
-- Whether anybody could come in.
SELECT EXISTS (
    SELECT FROM {facts}.api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
);
