-- bulk

-- A job or a row that failed rests until next_at; tries is how often it has failed in a
-- row. Rows that were given up have result 2 with the code row_failed, so that nodes of
-- the release before count them: failed is how many of the refused ones they are.
ALTER TABLE bulk_jobs ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE bulk_jobs ADD COLUMN next_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE bulk_jobs ADD COLUMN failed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE bulk_rows ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE bulk_rows ADD COLUMN next_at BIGINT NOT NULL DEFAULT 0;

-- replay

-- How often the last batch of the job has failed in a row.
ALTER TABLE replay_jobs ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
