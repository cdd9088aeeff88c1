-- The queue's length without counting it: each statement that changes it leaves one row of difference, a purge folds them
-- into one. Triggers keep it, since an adopted table has writers that we do not know.

CREATE TABLE {facts}.queue_tally (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT queue_tally_pkey PRIMARY KEY,
    pending bigint NOT NULL,
    tombstones bigint NOT NULL
);

-- The functions run with their owner's rights: a writer of another product needs none on the tally.
CREATE FUNCTION {facts}.tally_inserted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {facts}.queue_tally (pending, tombstones)
    SELECT count(*), count(*) FILTER (WHERE deleted_at IS NOT NULL)
    FROM arrived WHERE last_crawled_at IS NULL
    HAVING count(*) > 0;
    RETURN NULL;
END $$;

CREATE FUNCTION {facts}.tally_updated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {facts}.queue_tally (pending, tombstones)
    SELECT sum(turn), coalesce(sum(turn) FILTER (WHERE dead), 0)
    FROM (
        SELECT 1 AS turn, deleted_at IS NOT NULL AS dead FROM arrived WHERE last_crawled_at IS NULL
        UNION ALL
        SELECT -1, deleted_at IS NOT NULL FROM departed WHERE last_crawled_at IS NULL
    ) AS turned
    HAVING sum(turn) <> 0 OR coalesce(sum(turn) FILTER (WHERE dead), 0) <> 0;
    RETURN NULL;
END $$;

CREATE FUNCTION {facts}.tally_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO {facts}.queue_tally (pending, tombstones)
    SELECT -count(*), -count(*) FILTER (WHERE deleted_at IS NOT NULL)
    FROM departed WHERE last_crawled_at IS NULL
    HAVING count(*) > 0;
    RETURN NULL;
END $$;

CREATE FUNCTION {facts}.tally_emptied() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM {facts}.queue_tally;
    RETURN NULL;
END $$;

-- Nobody writes between the count and the triggers.
LOCK TABLE {facts}.facts IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO {facts}.queue_tally (pending, tombstones)
SELECT count(*), count(*) FILTER (WHERE deleted_at IS NOT NULL)
FROM {facts}.facts WHERE last_crawled_at IS NULL
HAVING count(*) > 0;

CREATE TRIGGER zz_harvester_tally_inserted AFTER INSERT ON {facts}.facts
    REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION {facts}.tally_inserted();
CREATE TRIGGER zz_harvester_tally_updated AFTER UPDATE ON {facts}.facts
    REFERENCING OLD TABLE AS departed NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION {facts}.tally_updated();
CREATE TRIGGER zz_harvester_tally_deleted AFTER DELETE ON {facts}.facts
    REFERENCING OLD TABLE AS departed FOR EACH STATEMENT EXECUTE FUNCTION {facts}.tally_deleted();
CREATE TRIGGER zz_harvester_tally_emptied AFTER TRUNCATE ON {facts}.facts
    FOR EACH STATEMENT EXECUTE FUNCTION {facts}.tally_emptied();

-- How long the oldest pending fact has waited.
CREATE INDEX facts_waiting_idx ON {facts}.facts (updated_at) WHERE last_crawled_at IS NULL;

-- The version trigger runs with the writer's rights, row by row; a writer of another product may draw versions.
GRANT USAGE ON SEQUENCE {facts}.etag_seq TO PUBLIC;

-- An index holds what it can answer for: facts without tags, agent or session need not be in those. Indexes that an adopted
-- table brought along stay as they are.
CREATE FUNCTION pg_temp.narrow_index(index_name text, old_definition text, new_definition text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indrelid = '{facts}.facts'::regclass AND c.relname = index_name
            AND substring(pg_get_indexdef(i.indexrelid) FROM ' USING (.*)$') = old_definition
    ) THEN
        EXECUTE format('DROP INDEX {facts}.%I', index_name);
        EXECUTE format('CREATE INDEX %I ON {facts}.facts USING %s', index_name, new_definition);
    END IF;
END $$;
SELECT pg_temp.narrow_index('facts_tags_idx', 'gin (tags)', 'gin (tags) WHERE (tags <> ''{{}}''::text[])');
SELECT pg_temp.narrow_index(
    'facts_agent_id_idx', 'btree (agent_id)', 'btree (agent_id) WHERE ((agent_id IS NOT NULL) AND (deleted_at IS NULL))'
);
SELECT pg_temp.narrow_index(
    'facts_session_id_idx', 'btree (session_id, updated_at, id) WHERE (deleted_at IS NULL)',
    'btree (session_id, updated_at, id) WHERE ((session_id IS NOT NULL) AND (deleted_at IS NULL))'
);
