-- name: ledger_page
-- Ledger rows of harvested facts in a stable order, of one extractor or all; what agents incorporated has none.
SELECT s.id, s.scope_key, s.extractor, s.version, s.extraction::text
FROM {registry}.source AS s
WHERE s.extraction IS NOT NULL AND s.extractor IS NOT NULL
    AND s.id > %(after)s
    AND (%(extractor)s::text IS NULL OR s.extractor = %(extractor)s)
ORDER BY s.id
LIMIT %(limit)s;
