-- name: upsert_namespace
-- A registry entry: name, description and archived are replaced, detail fields only when they were given.
INSERT INTO {registry}.namespace AS n (namespace, name, description, archived, source, node_schema, edge_schema, harvest_config)
VALUES (%(namespace)s, %(name)s, %(description)s, %(archived)s, %(source)s, %(node_schema)s, %(edge_schema)s, %(harvest_config)s)
ON CONFLICT (namespace) DO UPDATE SET
    name = excluded.name, description = excluded.description, archived = excluded.archived, updated_at = now(),
    source = CASE WHEN %(source_given)s THEN excluded.source ELSE n.source END,
    node_schema = CASE WHEN %(node_schema_given)s THEN excluded.node_schema ELSE n.node_schema END,
    edge_schema = CASE WHEN %(edge_schema_given)s THEN excluded.edge_schema ELSE n.edge_schema END,
    harvest_config = CASE WHEN %(harvest_config_given)s THEN excluded.harvest_config ELSE n.harvest_config END
RETURNING namespace, name, description, archived, source, node_schema, edge_schema, harvest_config, created_at, updated_at

-- name: get_namespace
-- One registry entry.
SELECT namespace, name, description, archived, source, node_schema, edge_schema, harvest_config, created_at, updated_at
FROM {registry}.namespace WHERE namespace = %(namespace)s

-- name: list_namespaces
-- Registry entries under a literal prefix, in order of their names.
SELECT namespace, name, description, archived, source, node_schema, edge_schema, harvest_config, created_at, updated_at
FROM {registry}.namespace
WHERE starts_with(namespace, %(prefix)s) AND (%(archived)s OR NOT archived) ORDER BY namespace

-- name: archive_namespace
-- An entry that lists leave out; what lies in the namespace stays.
UPDATE {registry}.namespace SET archived = true, updated_at = now() WHERE namespace = %(namespace)s RETURNING namespace

-- name: delete_namespace
-- The entry itself; contributions are withdrawn apart.
DELETE FROM {registry}.namespace WHERE namespace = %(namespace)s RETURNING namespace
