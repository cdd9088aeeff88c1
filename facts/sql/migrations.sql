-- name: lock_migrations
-- One migrator at a time and schema; held until its connection closes.
SELECT pg_advisory_lock(hashtextextended('harvester migrations ' || %(records)s, 0));

-- name: create_schema
-- The schema that holds the tables and their migration record.
CREATE SCHEMA IF NOT EXISTS {records};

-- name: create_records
-- What was applied, with the checksum of the file as it was then.
CREATE TABLE IF NOT EXISTS {records}.{record} (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- name: records_exist
-- Whether this schema was ever migrated.
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_tables WHERE schemaname = %(records)s AND tablename = {record_name}
);

-- name: read_records
-- Every applied step.
SELECT name, checksum FROM {records}.{record};

-- name: record_step
-- Written in the transaction of the step itself.
INSERT INTO {records}.{record} (name, checksum) VALUES (%(name)s, %(checksum)s);
