-- payment
-- What a change of plan costs in the shop, where it is not the difference.
CREATE TABLE plan_prices (
	partner_id BIGINT NOT NULL PRIMARY KEY,
	rule       TEXT NOT NULL,
	updated_at BIGINT NOT NULL
);
