-- name: snapshot
-- All pages of an export show the same moment.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY
