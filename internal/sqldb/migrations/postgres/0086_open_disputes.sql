-- payment
-- kind: expanding

CREATE INDEX CONCURRENTLY IF NOT EXISTS payment_disputes_open ON payment_disputes (due_by)
	WHERE status IN ('needs_response', 'under_review', 'warning_needs_response', 'warning_under_review');
