-- name: make_assertion
-- A hand assertion, to which rows and citations are then given.
INSERT INTO {registry}.assertion (agent_id, session_id) VALUES (%(agent)s, %(session)s) RETURNING id

-- name: cite
-- The facts that a hand assertion cites, in the order given, with the versions cited.
INSERT INTO {registry}.citation (assertion_id, source_id, etag)
SELECT %(assertion)s, s.id, w.etag
FROM unnest(%(scope_keys)s::text[], %(etags)s::bigint[]) WITH ORDINALITY AS w(scope_key, etag, place)
JOIN {registry}.source s USING (scope_key) ORDER BY w.place
RETURNING source_id

-- name: sources_of_keys
-- Source ids of scope keys that the graph knows.
SELECT scope_key, id FROM {registry}.source WHERE scope_key = ANY (%(scope_keys)s::text[])

-- name: node_rows_by_hand
-- Hand assertions on a node as named, with their agents and what they cite.
SELECT m.origin, a.agent_id, m.form, m.namespace,
       ARRAY(SELECT s.scope_key FROM {registry}.citation c JOIN {registry}.source s ON s.id = c.source_id WHERE c.assertion_id = a.id)
FROM {registry}.mention m JOIN {registry}.assertion a ON a.id = -m.origin
WHERE m.origin < 0 AND m.named_key = %(key)s AND m.namespace <> '/'
ORDER BY m.origin DESC, m.pos

-- name: edge_rows_by_hand
-- Hand assertions on an edge as named, with their agents.
SELECT o.origin, a.agent_id, o.namespace
FROM {registry}.observation o JOIN {registry}.assertion a ON a.id = -o.origin
WHERE o.origin < 0 AND o.from_key = %(from_key)s AND o.to_key = %(to_key)s AND o.predicate_key = %(predicate_key)s
ORDER BY o.origin DESC

-- name: renew_citations
-- A key that is named again is cited in its present version.
UPDATE {registry}.citation c SET etag = w.etag
FROM unnest(%(scope_keys)s::text[], %(etags)s::bigint[]) AS w(scope_key, etag) JOIN {registry}.source s USING (scope_key)
WHERE c.source_id = s.id AND c.assertion_id = ANY (%(assertions)s::bigint[]) AND c.etag IS DISTINCT FROM w.etag

-- name: node_shown
-- What is shown of one node.
SELECT key, kind, name, {registry}.shown_namespace(namespaces), aliases FROM {registry}.node WHERE key = %(key)s

-- name: edge_shown
-- What is shown of one edge.
SELECT e.id, e.predicate, e.confidence, e.observations,
       (SELECT min(w COLLATE "C") FROM jsonb_object_keys(e.namespaces) AS w WHERE w <> '')
FROM {registry}.edge e
JOIN {registry}.node s ON s.id = e.source_id JOIN {registry}.node t ON t.id = e.target_id
WHERE s.key = %(from_key)s AND t.key = %(to_key)s AND e.predicate_key = %(predicate_key)s

-- name: keys_known_on_edge
-- Which of these facts some live statement of the edge names already.
SELECT s.scope_key FROM {registry}.source s
WHERE s.scope_key = ANY (%(scope_keys)s::text[])
  AND (EXISTS (SELECT FROM {registry}.observation o WHERE o.origin = s.id AND o.edge_id = %(edge)s)
    OR EXISTS (SELECT FROM {registry}.citation c JOIN {registry}.observation o ON o.origin = -c.assertion_id
               WHERE c.source_id = s.id AND o.edge_id = %(edge)s))
