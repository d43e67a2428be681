-- payment
-- kind: expanding

-- More of what the provider says about a dispute, and when operators were emailed about it.
ALTER TABLE payment_disputes ADD COLUMN charge_id TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_disputes ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_disputes ADD COLUMN due_by INTEGER NOT NULL DEFAULT 0; -- deadline for evidence; 0: none known
ALTER TABLE payment_disputes ADD COLUMN has_evidence INTEGER NOT NULL DEFAULT 0; -- the provider has a draft or more
ALTER TABLE payment_disputes ADD COLUMN past_due INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payment_disputes ADD COLUMN submissions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payment_disputes ADD COLUMN earlier_submissions INTEGER NOT NULL DEFAULT 0; -- to the inquiry that it was
ALTER TABLE payment_disputes ADD COLUMN told_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payment_disputes ADD COLUMN reminded_at INTEGER NOT NULL DEFAULT 0;

-- The evidence of disputes, as operators edited it, and its way to the provider.
CREATE TABLE payment_evidence (
	dispute_id               TEXT NOT NULL PRIMARY KEY,
	erased                   INTEGER NOT NULL, -- the texts, because the buyer was erased
	state                    INTEGER NOT NULL,
	round                    INTEGER NOT NULL, -- part of the idempotency keys
	submitted_before         INTEGER NOT NULL, -- submissions at the provider when it was to be sent
	failure                  TEXT NOT NULL,
	product_description      TEXT NOT NULL,
	customer_email_address   TEXT NOT NULL,
	customer_name            TEXT NOT NULL,
	service_date             TEXT NOT NULL,
	access_activity_log      TEXT NOT NULL,
	refund_policy_disclosure TEXT NOT NULL,
	uncategorized_text       TEXT NOT NULL,
	created_at               INTEGER NOT NULL,
	updated_at               INTEGER NOT NULL,
	asked_at                 INTEGER NOT NULL,
	sent_at                  INTEGER NOT NULL,
	next_at                  INTEGER NOT NULL -- when it is sent, or tried again; 0: never
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_evidence_due ON payment_evidence (next_at) WHERE next_at <> 0;
CREATE INDEX payment_evidence_age ON payment_evidence (updated_at);
