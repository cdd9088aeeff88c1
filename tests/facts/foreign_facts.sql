CREATE SCHEMA pilotswarm_facts;
CREATE TABLE pilotswarm_facts.facts (
    id bigserial PRIMARY KEY,
    scope_key text NOT NULL UNIQUE,
    key text NOT NULL,
    value jsonb NOT NULL,
    agent_id text,
    session_id text,
    shared boolean NOT NULL DEFAULT false,
    transient boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    etag bigint NOT NULL DEFAULT 1,
    last_crawled_at timestamptz,
    CHECK (NOT (shared AND transient))
);
CREATE INDEX ps_facts_tags ON pilotswarm_facts.facts USING gin (tags);
CREATE INDEX ps_facts_key ON pilotswarm_facts.facts (key);

CREATE FUNCTION pilotswarm_facts.count_etag() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.etag := 1;
    ELSIF NEW.value IS DISTINCT FROM OLD.value OR NEW.deleted_at IS DISTINCT FROM OLD.deleted_at THEN
        NEW.etag := OLD.etag + 1;
        NEW.last_crawled_at := NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER facts_etag BEFORE INSERT OR UPDATE ON pilotswarm_facts.facts
    FOR EACH ROW EXECUTE FUNCTION pilotswarm_facts.count_etag();
