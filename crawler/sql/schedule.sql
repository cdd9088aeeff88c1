-- name: see_job
-- A job that nobody knew: its first time comes after now.
INSERT INTO {facts}.schedule (job, taken) VALUES (%(job)s, %(now)s) ON CONFLICT (job) DO NOTHING;

-- name: last_taken
-- The time that was last taken of a job.
SELECT taken FROM {facts}.schedule WHERE job = %(job)s;

-- name: take
-- One process takes a time that is due; the others find it taken.
UPDATE {facts}.schedule SET taken = %(due)s WHERE job = %(job)s AND taken < %(due)s RETURNING job;
