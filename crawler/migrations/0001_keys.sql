-- API keys. Of a key only its SHA-256 is kept; 256 random bits need no salt and no slow hash.
CREATE TABLE {facts}.api_keys (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT api_keys_pkey PRIMARY KEY,
    key_sha256 bytea NOT NULL CONSTRAINT api_keys_sha256_key UNIQUE
        CONSTRAINT api_keys_sha256_length CHECK (octet_length(key_sha256) = 32),
    preview text NOT NULL,
    label text,
    role text NOT NULL CONSTRAINT api_keys_role CHECK (role IN ('agent', 'crawler', 'facts-manager', 'agent-tuner')),
    agent_id text,
    -- none: shared facts only; session: that one; tree: it and everything below it; set: any of these.
    binding text NOT NULL CONSTRAINT api_keys_binding CHECK (binding IN ('none', 'session', 'tree', 'set')),
    session_ids text[] NOT NULL DEFAULT '{{}}',
    granted_prefixes text[] NOT NULL DEFAULT '{{}}',
    more jsonb NOT NULL DEFAULT '{{}}' CONSTRAINT api_keys_more_object CHECK (jsonb_typeof(more) = 'object'),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    CONSTRAINT api_keys_sessions CHECK (
        CASE binding WHEN 'none' THEN cardinality(session_ids) = 0
                     WHEN 'set' THEN cardinality(session_ids) >= 1
                     ELSE cardinality(session_ids) = 1 END
    ),
    CONSTRAINT api_keys_prefixes CHECK (role = 'crawler' OR cardinality(granted_prefixes) = 0)
);
