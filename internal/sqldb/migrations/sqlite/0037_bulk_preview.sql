-- bulk

-- What an act would do is found out row by row before anybody confirms it: checked is how
-- many rows that was done for, skipped how many of them the act cannot be done to. kind is
-- what the rows are.
ALTER TABLE bulk_jobs ADD COLUMN kind TEXT NOT NULL DEFAULT 'licenses';
ALTER TABLE bulk_jobs ADD COLUMN checked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bulk_jobs ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
UPDATE bulk_jobs SET kind = 'events' WHERE act = 'redeliver';
UPDATE bulk_jobs SET kind = 'partners' WHERE act = 'pause';
DROP INDEX bulk_jobs_open;
CREATE INDEX bulk_jobs_work ON bulk_jobs (updated_at, id) WHERE finished_at = 0 AND paused_at = 0 AND (started_at <> 0 OR checked < total);

-- will is what the act would do to the row, in words; seen is the version of what was
-- looked at, which is refused if it is another by then. A result of 3 is a row that is
-- skipped.
ALTER TABLE bulk_rows ADD COLUMN will TEXT NOT NULL DEFAULT '';
ALTER TABLE bulk_rows ADD COLUMN seen TEXT NOT NULL DEFAULT '';
