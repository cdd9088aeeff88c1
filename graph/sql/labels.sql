-- name: label_ids
-- The AGE label ids of our four labels.
SELECT l.name::text, l.id::int FROM ag_catalog.ag_label l JOIN ag_catalog.ag_graph g ON g.graphid = l.graph
WHERE g.name = %(graph)s
