-- name: load_age
-- Calling any function of AGE loads its library, which `cypher()` needs before it is parsed; LOAD would need superuser rights.
SELECT ag_catalog._graphid(1, 1)

-- name: read_only
-- What follows changes nothing: AGE's own writing clauses refuse to run in a read-only transaction.
SET TRANSACTION READ ONLY

-- name: see_operators
-- AGE's operators are looked for in the search path.
SET LOCAL search_path TO pg_catalog, ag_catalog

-- name: cypher_functions
-- Which of these names are functions of AGE's Cypher.
SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p
WHERE p.pronamespace = 'ag_catalog'::regnamespace AND p.proname = ANY (%(names)s::text[])
