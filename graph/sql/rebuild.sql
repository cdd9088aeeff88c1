-- name: lock_everything
-- One rebuild, and no writer beside it; writers read the merge epoch before any other table of ours.
LOCK TABLE {registry}.merge_epoch, {registry}.source, {registry}.node, {registry}.edge, {registry}.mention,
    {registry}.surface, {registry}.observation, {registry}.assertion, {registry}.citation, {registry}.merge,
    {registry}.redirect IN ACCESS EXCLUSIVE MODE

-- name: ensure_epoch
-- The counter of merges moves on: whoever resolved keys before this starts again.
INSERT INTO {registry}.merge_epoch DEFAULT VALUES ON CONFLICT (one) DO UPDATE SET value = {registry}.merge_epoch.value + 1

-- name: clear_shown
-- What nodes and edges show is derived; ids go on from where they were.
TRUNCATE {registry}.node, {registry}.edge, {registry}.surface

-- name: drop_unfounded_mentions
-- Rows of facts that the ledger does not hold, and of assertions that are gone.
DELETE FROM {registry}.mention m
WHERE NOT CASE WHEN m.origin > 0 THEN EXISTS (SELECT FROM {registry}.source s WHERE s.id = m.origin AND s.extraction IS NOT NULL)
               ELSE EXISTS (SELECT FROM {registry}.assertion a WHERE a.id = -m.origin) END

-- name: drop_unfounded_observations
-- The same for statements of edges.
DELETE FROM {registry}.observation o
WHERE NOT CASE WHEN o.origin > 0 THEN EXISTS (SELECT FROM {registry}.source s WHERE s.id = o.origin AND s.extraction IS NOT NULL)
               ELSE EXISTS (SELECT FROM {registry}.assertion a WHERE a.id = -o.origin) END

-- name: ledger_keys
-- The facts that the ledger holds.
SELECT scope_key FROM {registry}.source WHERE extraction IS NOT NULL

-- name: strike_keys
-- These facts leave the ledger.
UPDATE {registry}.source SET extraction = NULL WHERE scope_key = ANY (%(scope_keys)s::text[])

-- name: drop_unused_sources
-- Sources that neither the ledger nor a citation needs.
DELETE FROM {registry}.source s WHERE s.extraction IS NULL
  AND NOT EXISTS (SELECT FROM {registry}.citation c WHERE c.source_id = s.id)

-- name: origins
-- Every origin in the order in which its rows came first; those whose rows are lost after them, oldest first.
WITH came AS (
    SELECT origin, min(attached) AS first FROM (
        SELECT origin, attached FROM {registry}.mention UNION ALL SELECT origin, attached FROM {registry}.observation
    ) AS rows GROUP BY origin
)
SELECT o.origin FROM (
    SELECT s.id AS origin, s.incorporated_at AS at FROM {registry}.source s WHERE s.extraction IS NOT NULL
    UNION ALL SELECT -a.id, a.asserted_at FROM {registry}.assertion a
) AS o LEFT JOIN came USING (origin)
ORDER BY came.first NULLS LAST, o.at, o.origin

-- name: cited_by_hand
-- Which of these sources hand assertions cite.
SELECT DISTINCT source_id FROM {registry}.citation WHERE source_id = ANY (%(ids)s::bigint[])

-- name: kept_mentions
-- Forms as stored, whatever has become of the nodes they stood at.
SELECT m.origin, m.pos, m.rank, m.named_key, m.form, m.spelling, m.named, m.kind, m.namespace, m.writer, m.named_key, m.attached
FROM {registry}.mention m WHERE m.origin = ANY (%(origins)s::bigint[]) ORDER BY m.origin, m.pos

-- name: kept_observations
-- Statements as stored, whatever has become of the edges they belonged to.
SELECT o.origin, o.pos, o.rank, o.from_key, o.to_key, o.predicate_key, o.predicate, o.namespace, o.confidence, o.writer,
       o.model, o.from_key, o.to_key, o.attached
FROM {registry}.observation o WHERE o.origin = ANY (%(origins)s::bigint[]) ORDER BY o.origin, o.pos

-- name: drop_mentions
-- Before the rows of these origins are written anew.
DELETE FROM {registry}.mention WHERE origin = ANY (%(origins)s::bigint[])

-- name: drop_observations
-- Before the rows of these origins are written anew.
DELETE FROM {registry}.observation WHERE origin = ANY (%(origins)s::bigint[])

-- name: restore_edge_times
-- An edge is as old as the first statement of it that is left.
UPDATE {registry}.edge e SET first_seen = t.first, last_seen = t.last
FROM (SELECT o.edge_id, min(coalesce(s.incorporated_at, a.asserted_at)) AS first, max(coalesce(s.incorporated_at, a.asserted_at)) AS last
      FROM {registry}.observation o LEFT JOIN {registry}.source s ON s.id = o.origin LEFT JOIN {registry}.assertion a ON a.id = -o.origin
      WHERE o.edge_id IS NOT NULL GROUP BY o.edge_id) AS t
WHERE e.id = t.edge_id AND t.first IS NOT NULL

-- name: restore_node_times
-- A node changed last when something was last said of it.
UPDATE {registry}.node n SET updated_at = t.last
FROM (SELECT m.node_id, max(coalesce(s.incorporated_at, a.asserted_at)) AS last
      FROM {registry}.mention m LEFT JOIN {registry}.source s ON s.id = m.origin LEFT JOIN {registry}.assertion a ON a.id = -m.origin
      GROUP BY m.node_id) AS t
WHERE n.id = t.node_id AND t.last IS NOT NULL

-- name: totals
-- What the graph holds now.
SELECT (SELECT count(*) FROM {registry}.source WHERE extraction IS NOT NULL), (SELECT count(*) FROM {registry}.assertion),
       (SELECT count(*) FROM {registry}.merge WHERE undone_at IS NULL), (SELECT count(*) FROM {registry}.node),
       (SELECT count(*) FROM {registry}.edge)
