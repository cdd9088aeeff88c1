-- The fact store. Written so that a `facts` table which another product of the same lineage made is adopted: what is
-- missing is added, nothing is dropped, no row is rewritten, constraints hold for new writes only (NOT VALID).

CREATE TABLE IF NOT EXISTS {facts}.facts (
    id bigserial PRIMARY KEY,
    scope_key text NOT NULL CONSTRAINT facts_scope_key_key UNIQUE,
    key text NOT NULL,
    value jsonb NOT NULL,
    agent_id text,
    session_id text,
    shared boolean NOT NULL DEFAULT false,
    transient boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{{}}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    etag bigint NOT NULL,
    last_crawled_at timestamptz
);

-- An adopted table may lack any of the younger columns. A constant default does not rewrite rows.
ALTER TABLE {facts}.facts
    ADD COLUMN IF NOT EXISTS tags text[] NOT NULL DEFAULT '{{}}',
    ADD COLUMN IF NOT EXISTS deleted_at timestamptz,
    ADD COLUMN IF NOT EXISTS etag bigint NOT NULL DEFAULT 1,
    ADD COLUMN IF NOT EXISTS last_crawled_at timestamptz,
    ADD COLUMN IF NOT EXISTS owner_session_id text,
    ADD COLUMN IF NOT EXISTS pinned boolean NOT NULL DEFAULT false;

-- Constraints are recognised by what they say, not by their name.
-- One that a row of an adopted table breaks is left out: NOT VALID would still keep that row from being acknowledged.
CREATE FUNCTION pg_temp.add_check(constraint_name text, condition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    broken boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM {facts}.facts WHERE NOT (%s))', condition) INTO broken;
    IF broken THEN
        RETURN;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_constraint
        WHERE conrelid = '{facts}.facts'::regclass AND contype = 'c'
            AND (conname = constraint_name OR pg_get_constraintdef(oid) LIKE 'CHECK (' || condition || ')%')
    ) THEN
        EXECUTE format('ALTER TABLE {facts}.facts ADD CONSTRAINT %I CHECK (%s) NOT VALID', constraint_name, condition);
    END IF;
END $$;
SELECT pg_temp.add_check('facts_shared_not_transient', '(NOT (shared AND transient))');
SELECT pg_temp.add_check('facts_key_length', '((octet_length(key) >= 1) AND (octet_length(key) <= 512))');

-- So are indexes: by everything that follows the table's name in their definition.
CREATE FUNCTION pg_temp.add_index(index_name text, definition text, is_unique boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_index
        WHERE indrelid = '{facts}.facts'::regclass AND indisvalid AND indisunique = is_unique
            AND substring(pg_get_indexdef(indexrelid) FROM ' USING (.*)$') = definition
    ) THEN
        EXECUTE format(
            'CREATE %s INDEX %I ON {facts}.facts USING %s',
            CASE WHEN is_unique THEN 'UNIQUE' ELSE '' END, index_name, definition
        );
    END IF;
END $$;
SELECT pg_temp.add_index('facts_scope_key_key', 'btree (scope_key)', true);
SELECT pg_temp.add_index('facts_id_key', 'btree (id)', true);
-- This operator class serves equality and literal prefixes, whatever the database's collation.
SELECT pg_temp.add_index('facts_key_idx', 'btree (key text_pattern_ops)');
SELECT pg_temp.add_index('facts_tags_idx', 'gin (tags)');
SELECT pg_temp.add_index('facts_agent_id_idx', 'btree (agent_id)');
-- The queue: oldest first is by id.
SELECT pg_temp.add_index('facts_pending_idx', 'btree (id) WHERE (last_crawled_at IS NULL)');
-- When anything was last acknowledged; new entries go to the index's end, which costs an acknowledgement little.
SELECT pg_temp.add_index(
    'facts_last_crawled_idx', 'btree (last_crawled_at) WHERE (last_crawled_at IS NOT NULL)'
);
-- Reads are newest first and live only; each scope has the index that yields its rows in that order.
SELECT pg_temp.add_index('facts_newest_idx', 'btree (updated_at, id) WHERE (deleted_at IS NULL)');
SELECT pg_temp.add_index('facts_shared_idx', 'btree (updated_at, id) WHERE (shared AND (deleted_at IS NULL))');
SELECT pg_temp.add_index('facts_session_id_idx', 'btree (session_id, updated_at, id) WHERE (deleted_at IS NULL)');
SELECT pg_temp.add_index('facts_transient_idx', 'btree (session_id) WHERE (transient AND (deleted_at IS NULL))');
-- Tombstones, for purge and statistics.
SELECT pg_temp.add_index('facts_tombstones_idx', 'btree (deleted_at, id) WHERE (deleted_at IS NOT NULL)');

-- Versions come from one sequence, above everything that any other writer ever counted, and are never reused.
CREATE SEQUENCE {facts}.etag_seq AS bigint;
SELECT setval('{facts}.etag_seq', greatest((SELECT max(etag) FROM {facts}.facts), 0) + 1, false);
ALTER TABLE {facts}.facts ALTER COLUMN etag SET DEFAULT 0;

CREATE FUNCTION {facts}.harvester_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.etag := nextval('{facts}.etag_seq');
        NEW.last_crawled_at := NULL;
        NEW.owner_session_id := NEW.session_id;
    ELSIF OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NOT NULL THEN
        -- A tombstone that stays one says nothing new, even when its value is taken away.
        NEW.etag := OLD.etag;
        NEW.last_crawled_at := OLD.last_crawled_at;
    ELSIF NEW.value IS DISTINCT FROM OLD.value OR NEW.key IS DISTINCT FROM OLD.key
        OR (NEW.deleted_at IS NULL) <> (OLD.deleted_at IS NULL) THEN
        NEW.etag := nextval('{facts}.etag_seq');
        NEW.last_crawled_at := NULL;
        IF OLD.deleted_at IS NOT NULL THEN
            NEW.owner_session_id := NEW.session_id;
        END IF;
    ELSE
        -- Foreign triggers count every statement; content decides here.
        NEW.etag := OLD.etag;
        NEW.last_crawled_at := OLD.last_crawled_at;
    END IF;
    RETURN NEW;
END $$;

-- Triggers fire in the order of their names: this one is last and decides.
CREATE TRIGGER zz_harvester_version BEFORE INSERT OR UPDATE OF key, value, deleted_at ON {facts}.facts
    FOR EACH ROW EXECUTE FUNCTION {facts}.harvester_version();

-- Who is working on which version until when. A row exists only for facts that are being worked on or that failed.
-- No foreign key: its check costs as much as the claim itself, ids are never reused, and purge sweeps what is left.
CREATE TABLE {facts}.crawl_leases (
    fact_id bigint PRIMARY KEY,
    etag bigint NOT NULL,
    owner text NOT NULL,
    leased_until timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 1,
    retry_at timestamptz,
    parked boolean NOT NULL DEFAULT false,
    last_error text
);
CREATE INDEX crawl_leases_parked_idx ON {facts}.crawl_leases (fact_id) WHERE parked;
-- Leases that neither failed nor ended: what a claim looks through for expired ones.
CREATE INDEX crawl_leases_held_idx ON {facts}.crawl_leases (leased_until) WHERE retry_at IS NULL AND NOT parked;

CREATE TABLE {facts}.sessions (
    session_id text PRIMARY KEY
        CONSTRAINT sessions_session_id_valid CHECK (
            octet_length(session_id) BETWEEN 1 AND 128 AND position(':' IN session_id) = 0
        ),
    parent_session_id text CONSTRAINT sessions_not_own_parent CHECK (parent_session_id <> session_id),
    agent_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);
CREATE INDEX sessions_parent_idx ON {facts}.sessions (parent_session_id);

-- Microseconds since 1970, as cursors carry them, and back; exact, which to_timestamp(double) is not.
CREATE FUNCTION {facts}.moment(microseconds bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN timestamptz 'epoch' + microseconds * interval '1 microsecond';
