-- webhook

-- The attempts for a license are found by its deliveries: one index fewer to keep,
-- whose every entry went to another page.
DROP INDEX webhook_responses_license;
ALTER TABLE webhook_responses DROP COLUMN license_id;
