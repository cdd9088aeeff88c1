-- Browsers that are signed in. Of the token in the cookie only the SHA-256 is kept; a session goes with its key's row, and
-- a key that is revoked or expired is refused wherever its sessions are looked up.
CREATE TABLE {facts}.page_sessions (
    token_sha256 bytea CONSTRAINT page_sessions_pkey PRIMARY KEY
        CONSTRAINT page_sessions_sha256_length CHECK (octet_length(token_sha256) = 32),
    key_id bigint NOT NULL CONSTRAINT page_sessions_key REFERENCES {facts}.api_keys (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX page_sessions_key_id ON {facts}.page_sessions (key_id);
CREATE INDEX page_sessions_expires_at ON {facts}.page_sessions (expires_at);
