-- redelivery

-- The jobs that redeliver many events are named after their purpose. The table replays was empty
-- since redelivery_jobs took its place.
ALTER TABLE replay_jobs RENAME TO redelivery_jobs;
DROP INDEX replay_jobs_running;
DROP INDEX replay_jobs_partner;
CREATE UNIQUE INDEX redelivery_jobs_running ON redelivery_jobs (partner_id) WHERE finished_at = 0;
CREATE INDEX redelivery_jobs_partner ON redelivery_jobs (partner_id, id);
DROP TABLE replays;
