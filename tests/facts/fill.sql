ALTER TABLE pilotswarm_facts.facts DISABLE TRIGGER zz_harvester_version;
-- One fact in two is shared; the others belong to 1,000 sessions, so that each session has about a hundred.
INSERT INTO pilotswarm_facts.facts
    (scope_key, key, value, shared, transient, session_id, owner_session_id, agent_id, tags, updated_at, etag,
     last_crawled_at, deleted_at)
SELECT CASE WHEN n % 2 = 0 THEN 'shared:' ELSE 'session:s' || n / 2 % 1000 || ':' END || 'c/' || n / 2 % 50 || '/' || n,
    'c/' || n / 2 % 50 || '/' || n, '{"nodes": []}', n % 2 = 0, n % 2 = 1, 's' || n / 2 % 1000, 's' || n / 2 % 1000,
    'a' || n % 7, ARRAY['t' || n / 2 % 100], timestamptz '2026-01-01' + n * interval '1 second', n, now(),
    CASE WHEN n % 1000 = 5 THEN now() - interval '1 day' END
FROM generate_series(1, 200000) AS n;
-- The oldest thousand are parked, the newest thousand are due.
UPDATE pilotswarm_facts.facts SET last_crawled_at = NULL WHERE id <= 1000 OR id > 199000;
INSERT INTO pilotswarm_facts.crawl_leases (fact_id, etag, owner, leased_until, attempts, retry_at, parked, last_error)
SELECT id, etag, 'w', now(), 5, now(), true, 'boom' FROM pilotswarm_facts.facts WHERE id <= 1000;
SELECT setval('pilotswarm_facts.etag_seq', 1000000);
ALTER TABLE pilotswarm_facts.facts ENABLE TRIGGER zz_harvester_version;
