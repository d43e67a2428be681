-- payment
-- kind: expanding

-- More of what the provider says about a dispute, and when operators were emailed about it.
ALTER TABLE payment_disputes ADD COLUMN charge_id TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_disputes ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_disputes ADD COLUMN due_by BIGINT NOT NULL DEFAULT 0; -- deadline for evidence; 0: none known
ALTER TABLE payment_disputes ADD COLUMN has_evidence BOOLEAN NOT NULL DEFAULT FALSE; -- the provider has a draft or more
ALTER TABLE payment_disputes ADD COLUMN past_due BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE payment_disputes ADD COLUMN submissions BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_disputes ADD COLUMN earlier_submissions BIGINT NOT NULL DEFAULT 0; -- to the inquiry that it was
ALTER TABLE payment_disputes ADD COLUMN told_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_disputes ADD COLUMN reminded_at BIGINT NOT NULL DEFAULT 0;

-- The evidence of disputes, as operators edited it, and its way to the provider.
CREATE TABLE payment_evidence (
	dispute_id               TEXT NOT NULL PRIMARY KEY,
	erased                   BOOLEAN NOT NULL, -- the texts, because the buyer was erased
	state                    BIGINT NOT NULL,
	round                    BIGINT NOT NULL, -- part of the idempotency keys
	submitted_before         BIGINT NOT NULL, -- submissions at the provider when it was to be sent
	failure                  TEXT NOT NULL,
	product_description      TEXT NOT NULL,
	customer_email_address   TEXT NOT NULL,
	customer_name            TEXT NOT NULL,
	service_date             TEXT NOT NULL,
	access_activity_log      TEXT NOT NULL,
	refund_policy_disclosure TEXT NOT NULL,
	uncategorized_text       TEXT NOT NULL,
	created_at               BIGINT NOT NULL,
	updated_at               BIGINT NOT NULL,
	asked_at                 BIGINT NOT NULL,
	sent_at                  BIGINT NOT NULL,
	next_at                  BIGINT NOT NULL -- when it is sent, or tried again; 0: never
);
CREATE INDEX payment_evidence_due ON payment_evidence (next_at) WHERE next_at <> 0;
CREATE INDEX payment_evidence_age ON payment_evidence (updated_at);
