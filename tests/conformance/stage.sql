-- name: empty_everything
-- every row of the three schemas goes; records of migrations and the one row of the merge counter stay
DO $$
DECLARE
    found record;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR found IN
        SELECT format('%I.%I', n.nspname, c.relname) AS name
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname IN ({facts_name}, {graph_name}, {registry_name})
            AND c.relname NOT IN ('harvester_migrations', 'serving_migrations', 'merge_epoch')
    LOOP
        EXECUTE 'DELETE FROM ' || found.name;
    END LOOP;
END $$;

-- name: age_everything
-- what is stored becomes older by some seconds; no trigger fires, so that nothing else changes
DO $$
DECLARE
    found record;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR found IN
        SELECT format('%I.%I', c.table_schema, c.table_name) AS name,
               string_agg(format('%1$I = %1$I - make_interval(secs => current_setting(''case.seconds'')::float8)', c.column_name), ', ') AS changes
        FROM information_schema.columns AS c
            JOIN information_schema.tables AS t USING (table_schema, table_name)
        WHERE c.table_schema IN ({facts_name}, {registry_name}) AND t.table_type = 'BASE TABLE'
            AND c.data_type = 'timestamp with time zone' AND c.table_name NOT IN ('harvester_migrations', 'serving_migrations')
        GROUP BY 1
    LOOP
        EXECUTE 'UPDATE ' || found.name || ' SET ' || found.changes;
    END LOOP;
END $$;

-- name: set_seconds
-- how much older, for the statement above
SELECT set_config('case.seconds', %(seconds)s::text, true);

-- name: current_etags
-- the version that every fact has now
SELECT scope_key, etag FROM {facts}.facts ORDER BY etag;

-- name: define_session
-- a session of the tree that a case describes, cycles included
INSERT INTO {facts}.sessions (session_id, parent_session_id, deleted_at)
VALUES (%(session)s, %(parent)s, CASE WHEN %(deleted)s THEN now() END);

-- name: keys_of
-- the keys behind fact ids that a notification named
SELECT id::text, key FROM {facts}.facts WHERE id::text = ANY (%(ids)s);
