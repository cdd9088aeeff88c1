-- name: read_restricted
-- Newest first for a reader with limits: shared facts and private ones from an index each, so that the facts of other
-- sessions are never walked through.
WITH page AS (
    (
        SELECT f.*
        FROM {facts}.facts AS f
        WHERE %(wants_shared)s AND f.shared AND f.deleted_at IS NULL
            AND {> asked}
        ORDER BY f.updated_at DESC, f.id DESC
        LIMIT %(limit)s
    )
    UNION ALL
    (
        SELECT f.*
        FROM {facts}.facts AS f
        WHERE NOT f.shared AND f.session_id = ANY (%(private_sessions)s::text[]) AND f.deleted_at IS NULL
            AND {> asked}
        ORDER BY f.updated_at DESC, f.id DESC
        LIMIT %(limit)s
    )
)
SELECT id, scope_key, key, value, agent_id, session_id, shared, transient, tags, created_at, updated_at, deleted_at,
    etag, last_crawled_at, owner_session_id, pinned
FROM page
ORDER BY updated_at DESC, id DESC
LIMIT %(limit)s;

-- name: read_wide
-- Newest first for a reader who may see (nearly) everything, such as scope `all`.
SELECT f.id, f.scope_key, f.key, f.value, f.agent_id, f.session_id, f.shared, f.transient, f.tags, f.created_at,
    f.updated_at, f.deleted_at, f.etag, f.last_crawled_at, f.owner_session_id, f.pinned
FROM {facts}.facts AS f
WHERE f.deleted_at IS NULL
    AND {> asked}
ORDER BY f.updated_at DESC, f.id DESC
LIMIT %(limit)s;

-- name: read_keys
-- The facts behind scope keys, newest first: how evidence is resolved in one call.
SELECT f.id, f.scope_key, f.key, f.value, f.agent_id, f.session_id, f.shared, f.transient, f.tags, f.created_at,
    f.updated_at, f.deleted_at, f.etag, f.last_crawled_at, f.owner_session_id, f.pinned
FROM {facts}.facts AS f
WHERE f.scope_key = ANY (ARRAY(SELECT json_array_elements_text(%(scope_keys)s::json))) AND f.deleted_at IS NULL
    AND (%(wants_private)s OR f.shared)
    AND (%(wants_shared)s OR NOT f.shared)
    AND (%(own_session)s::text IS NULL OR f.session_id = %(own_session)s)
    AND {> asked}
ORDER BY f.updated_at DESC, f.id DESC
LIMIT %(limit)s;

-- name: inspect
-- One raw row, whatever its state; for the product itself, not for agents.
SELECT f.id, f.scope_key, f.key, f.value, f.agent_id, f.session_id, f.shared, f.transient, f.tags, f.created_at,
    f.updated_at, f.deleted_at, f.etag, f.last_crawled_at, f.owner_session_id, f.pinned
FROM {facts}.facts AS f
WHERE f.scope_key = %(scope_key)s;

-- name: present_etags
-- The versions of facts: a citation of another version is stale.
SELECT f.scope_key, f.etag
FROM json_array_elements_text(%(scope_keys)s::json) AS r (scope_key) JOIN {facts}.facts AS f USING (scope_key);

-- name: readable
-- Which scope keys a reader may see; a key without a fact has no owner.
SELECT e.scope_key
FROM (
    SELECT r.scope_key, f.owner_session_id
    FROM json_array_elements_text(%(scope_keys)s::json) AS r (scope_key)
        LEFT JOIN {facts}.facts AS f ON f.scope_key = r.scope_key
) AS e
WHERE {visible_scope_key};

-- name: namespace_counts
-- Live facts by first path segment, those of one scope or of some sessions.
SELECT
    (CASE WHEN split_part(f.key, '/', 1) = ANY (%(named)s::text[])
        THEN split_part(f.key, '/', 1) ELSE '(other)' END) COLLATE "C" AS namespace,
    count(*)
FROM {facts}.facts AS f
WHERE f.deleted_at IS NULL
    AND f.shared = %(shared)s
    AND (%(session_ids)s::text[] IS NULL OR f.session_id = ANY (%(session_ids)s))
    AND {visible}
GROUP BY 1
ORDER BY 2 DESC, 1;
