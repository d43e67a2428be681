-- license

-- In the order that SQLite needs.
DROP INDEX licenses_key_end;
CREATE INDEX licenses_key_end ON licenses (substr(license_key, 33), partner_id, ord);
