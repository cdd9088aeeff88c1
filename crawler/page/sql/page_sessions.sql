-- name: open_session
-- A browser that signed in with this key; of its token only the SHA-256 is kept.
INSERT INTO {facts}.page_sessions (token_sha256, key_id, expires_at)
VALUES (%(digest)s, %(key_id)s, now() + make_interval(secs => %(seconds)s));

-- name: find_session
-- The key behind a session that is still open. Whether the key itself still holds is the keys' business.
SELECT key_id FROM {facts}.page_sessions WHERE token_sha256 = %(digest)s AND expires_at > now();

-- name: close_session
-- Signing out.
DELETE FROM {facts}.page_sessions WHERE token_sha256 = %(digest)s;

-- name: sweep_sessions
-- Sessions that ended by themselves.
DELETE FROM {facts}.page_sessions WHERE expires_at <= now();
