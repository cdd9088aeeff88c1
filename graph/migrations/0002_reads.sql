-- What reads need beside the tables: the bounded walk, and the few names that no surface shows.

-- A name is shown in the spelling of its lowest-ranked mention, a surface in that of its lowest-ranked form; where an
-- alias of the same form came first, the name itself is no surface, and name search finds it here.
CREATE INDEX node_unlisted_name ON {registry}.node (id) WHERE NOT name = ANY (aliases);

-- Whether a record in these namespaces ('' is none) lies in the wanted one ('': the default partition) or below it.
CREATE FUNCTION {registry}.lies_in(namespaces text[], wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN EXISTS (
        SELECT FROM unnest(namespaces) AS n (namespace)
        WHERE n.namespace = wanted OR (wanted <> '' AND n.namespace ^@ (wanted || '/'))
    );

-- Breadth-first from the anchors over edges of at least this confidence. Lists nodes nearest first, then in key order;
-- the namespace decides what is listed, never where the walk goes. Stops (and says so) when enough are listed, when
-- `most_edges` edge rows were looked at, or when its time is up: cost follows the caps, whatever the graph looks like.
-- `near`: the anchors and those listed from which the walk could have gone on.
CREATE FUNCTION {registry}.walk(
    anchors bigint[], depth integer, direction text, lowest float8, space text, most_nodes integer, most_edges integer,
    seconds float8, OUT node_ids bigint[], OUT distances integer[], OUT near bigint[], OUT truncated boolean,
    OUT looked_at integer
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    visited bigint[] := anchors;
    frontier bigint[] := anchors;
    ends bigint[];
    fresh bigint[];
    listed bigint[];
    budget integer;
    give_up timestamptz := clock_timestamp() + seconds * interval '1 second';
BEGIN
    node_ids := ARRAY[]::bigint[];
    distances := ARRAY[]::integer[];
    near := anchors;
    truncated := false;
    looked_at := 0;
    FOR hop IN 1 .. depth LOOP
        EXIT WHEN cardinality(frontier) = 0;
        IF cardinality(node_ids) >= most_nodes OR looked_at >= most_edges OR clock_timestamp() > give_up THEN
            -- Whether anything lies beyond is unknown unless one looks; a cap was reached, so this answer may be short.
            truncated := true;
            EXIT;
        END IF;
        budget := most_edges - looked_at;
        ends := ARRAY[]::bigint[];
        IF direction <> 'in' THEN
            ends := ARRAY(SELECT e.target_id FROM {registry}.edge e
                          WHERE e.source_id = ANY (frontier) AND e.confidence >= lowest LIMIT budget);
            looked_at := looked_at + cardinality(ends);
            budget := most_edges - looked_at;
        END IF;
        IF direction <> 'out' THEN
            fresh := ARRAY(SELECT e.source_id FROM {registry}.edge e
                           WHERE e.target_id = ANY (frontier) AND e.confidence >= lowest LIMIT budget);
            looked_at := looked_at + cardinality(fresh);
            ends := ends || fresh;
        END IF;
        truncated := truncated OR looked_at >= most_edges;
        frontier := ARRAY(SELECT unnest(ends) EXCEPT SELECT unnest(visited));
        listed := ARRAY(SELECT n.id FROM {registry}.node n
                        WHERE n.id = ANY (frontier) AND (space IS NULL OR {registry}.lies_in(n.namespaces, space))
                        ORDER BY n.key LIMIT most_nodes - cardinality(node_ids) + 1);
        IF cardinality(node_ids) + cardinality(listed) > most_nodes THEN
            listed := listed[:most_nodes - cardinality(node_ids)];
            truncated := true;
        END IF;
        IF hop < depth THEN
            near := near || listed;
        END IF;
        node_ids := node_ids || listed;
        distances := distances || array_fill(hop, ARRAY[cardinality(listed)]);
        EXIT WHEN truncated;
        visited := visited || frontier;
    END LOOP;
END $$;

-- What a walk lists. Part 0: nodes, each with the first origins of its evidence; part 1: the edges that go from `sources` to
-- `targets`, with the first sources of theirs. A flag says that these alone do not tell the order of the evidence: a merge
-- moved some in, hands cite, or the edge's own list is cut. The settings keep the planner on index order: it believes that all nodes are
-- alike, and would sort the thousands of mentions of a hub to show ten, or read all edges into it to find three.
CREATE FUNCTION {registry}.listed(
    ids bigint[], distances integer[], sources bigint[], targets bigint[], lowest float8, most_edges integer,
    most_origins integer
) RETURNS TABLE (
    part integer, id bigint, key text, kind text, name text, aliases text[], namespaces text[], counts text, number integer,
    flag boolean, origins bigint[], source_id bigint, target_id bigint, confidence float8, first_seen timestamptz, last_seen timestamptz
) LANGUAGE plpgsql STABLE SET enable_bitmapscan = off SET enable_sort = off SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT 0, n.id, n.key, n.kind, n.name, n.aliases, n.namespaces, NULL::text, p.distance,
            EXISTS (SELECT FROM {registry}.redirect r WHERE r.target_key = n.key),
            ARRAY(SELECT o.origin FROM (
                      SELECT m.origin, m.attached FROM {registry}.mention m
                      WHERE m.node_id = p.id AND m.named AND m.namespace <> '/'
                      ORDER BY m.node_id, m.namespace, m.rank LIMIT most_origins) o
                  ORDER BY o.attached),
            NULL::bigint, NULL::bigint, NULL::float8, NULL::timestamptz, NULL::timestamptz
        FROM unnest(ids, distances) AS p (id, distance) JOIN {registry}.node n ON n.id = p.id;
    RETURN QUERY
        SELECT 1, e.id, e.predicate, e.predicate_key, e.model, NULL::text[], NULL::text[],
            '[' || e.writers::text || ',' || e.namespaces::text || ']', e.observations,
            e.hand > 0 OR cardinality(e.evidence) >= 256, e.evidence[:most_origins], e.source_id, e.target_id, e.confidence,
            e.first_seen, e.last_seen
        FROM {registry}.edge e
        WHERE e.source_id = ANY (sources) AND e.target_id = ANY (targets) AND e.confidence >= lowest
        ORDER BY e.source_id, e.target_id, e.predicate_key LIMIT most_edges;
END $$;
