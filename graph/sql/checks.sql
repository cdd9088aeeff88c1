-- name: versions
-- AGE in the catalogue, and the version of the library files on this server.
SELECT e.extversion, a.default_version FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname
WHERE e.extname = 'age'
