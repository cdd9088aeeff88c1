-- name: snapshot
-- All tables of a backup are of one moment.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: tables
-- Every table of both schemas but the records of migrations, with its columns; generated ones are made again.
SELECT c.relnamespace::regnamespace::text, c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = ANY (ARRAY[{facts_name}::regnamespace, {registry_name}::regnamespace]::oid[])
  AND c.relkind = 'r' AND c.relname NOT IN ('harvester_migrations', 'serving_migrations')
  AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
GROUP BY c.oid, c.relnamespace, c.relname ORDER BY 1, 2

-- name: references
-- Which table refers to which, by foreign keys.
SELECT c.relnamespace::regnamespace::text, c.relname::text, r.relnamespace::regnamespace::text, r.relname::text
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_class r ON r.oid = k.confrelid
WHERE k.contype = 'f' AND k.conrelid <> k.confrelid
  AND c.relnamespace = ANY (ARRAY[{facts_name}::regnamespace, {registry_name}::regnamespace]::oid[])

-- name: sequences
-- Where every sequence of both schemas stands; null: never used.
SELECT s.schemaname::text, s.sequencename::text, s.last_value FROM pg_catalog.pg_sequences s
WHERE s.schemaname IN ({facts_name}, {registry_name}) ORDER BY 1, 2

-- name: set_sequence
-- A sequence goes on from where it stood.
SELECT setval(format('%%I.%%I', %(schema)s::text, %(sequence)s::text)::regclass, %(last)s::bigint, true)

-- name: silence_triggers
-- Versions, queue state and owners come from the archive, not from the trigger that makes them.
ALTER TABLE {facts}.facts DISABLE TRIGGER USER

-- name: wake_triggers
-- From here on the trigger decides again.
ALTER TABLE {facts}.facts ENABLE TRIGGER USER

-- name: rows_anywhere
-- Whether a table holds a row.
SELECT EXISTS (SELECT FROM {{table}})

-- name: empty_table
-- What a migration put there makes room for what the archive has.
DELETE FROM {{table}}

-- name: copy_out
-- The rows of one table, as text.
COPY {{table}} ({{columns}}) TO STDOUT

-- name: copy_in
-- The rows of one table, as text.
COPY {{table}} ({{columns}}) FROM STDIN
