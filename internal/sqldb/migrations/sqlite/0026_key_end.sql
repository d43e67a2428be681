-- license

-- The end of the key comes first: without statistics SQLite takes any index that begins
-- with the partner for worse than the table itself, and read all of a partner's licenses.
DROP INDEX licenses_key_end;
CREATE INDEX licenses_key_end ON licenses (substr(license_key, 33), partner_id, ord);
