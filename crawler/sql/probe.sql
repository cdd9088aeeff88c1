-- name: server_has_age
-- Whether this server offers Apache AGE at all, created already or not.
SELECT EXISTS (SELECT FROM pg_catalog.pg_available_extensions WHERE name = 'age');

-- name: has_schema
-- Whether a schema exists: a database that was never migrated has none of ours.
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = %(schema)s);
