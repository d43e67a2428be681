package payout

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeUnknownRun       = "unknown_payout"
	codeUnknownLine      = "unknown_payout_line"
	codeNothingDue       = "nothing_due"
	codeRunPrepared      = "payout_prepared"
	codeLedgerBehind     = "ledger_behind"
	codeAlreadySettled   = "payout_settled"
	codeSent             = "payout_sent"
	codeNotSent          = "payout_not_sent"
	codeNotPartnersAdmin = "not_partner_admin"
)
