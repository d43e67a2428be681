-- license

-- What changed since a time is read in the order of its changes, of one status or of
-- all: every license has an entry, also one that never changed, so that a page
-- costs the same at any depth.
DROP INDEX licenses_updated;
CREATE INDEX licenses_changed ON licenses (partner_id, updated_at, ord);
CREATE INDEX licenses_status_changed ON licenses (partner_id, status, updated_at, ord);
