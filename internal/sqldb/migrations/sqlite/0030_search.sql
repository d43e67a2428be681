-- license

-- The licenses of a person in the order of their ids, so that each page costs the same.
DROP INDEX licenses_owner;
CREATE INDEX licenses_owner ON licenses (owner_id, id) WHERE owner_id <> 0;

-- What a person bought, whoever owns it now.
CREATE INDEX purchases_user ON purchases (user_id, id) WHERE user_id <> 0;

-- Refunds by the marketplace's own number, and by license.
CREATE INDEX refunds_reference ON refunds (external_id) WHERE external_id <> '';
CREATE INDEX refund_items_license ON refund_items (license_id, refund_id);

-- oauth

-- When a license was connected.
CREATE INDEX oauth_grants_license ON oauth_grants (license_id, id);
