package bulk

// The codes of this package's faults. Clients depend on them: they never change.
const (
	codeBulkDone         = "bulk_done"
	codeBulkStarted      = "bulk_started"
	codeBulkNotChecked   = "bulk_not_checked"
	codeChangedSince     = "changed_since"
	codePaidHere         = "paid_here"
	codePartnerNotPaused = "partner_not_paused"
	codeBulkNotStarted   = "bulk_not_started"
	codeLeftOut          = "left_out"
	codeNothingSelected  = "nothing_selected"
	codePartnerPaused    = "partner_already_paused"
	codeRowFailed        = "row_failed"
	codeTooManySelected  = "too_many_selected"
	codeUnknownBulk      = "unknown_bulk"
)
