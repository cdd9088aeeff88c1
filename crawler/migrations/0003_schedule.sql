-- When each scheduled job was last due and taken, so that of all processes on this database one does it.
CREATE TABLE {facts}.schedule (
    job text CONSTRAINT schedule_pkey PRIMARY KEY,
    taken timestamptz NOT NULL
);
