package payment

// Fault codes of this package. Programs depend on them: they never change.
const (
	codeNotPaidHere     = "not_paid_here"
	codeCurrency        = "currency_not_sold"
	codeSignature       = "invalid_signature"
	codeEvent           = "invalid_event"
	CodeUnavailable     = "payment_unavailable"
	CodeUnknownCheckout = "unknown_checkout"
	CodeUnknownOrder    = "unknown_order"
	codeUnknownRefund   = "unknown_payment_refund"
	codeUnknownProblem  = "unknown_problem"
	codeNothingToRefund = "nothing_to_refund"
	codeAlreadyRefunded = "already_refunded"
	codeLicenseMoved    = "license_moved"

	codeUnknownDispute    = "unknown_dispute"
	codeDisputeEnded      = "dispute_ended"
	codeEvidenceSubmitted = "evidence_submitted"
	codeEvidenceOverdue   = "evidence_overdue"
	codeEvidenceSending   = "evidence_sending"
	codeEvidenceEmpty     = "evidence_empty"
	codeEvidenceTooLong   = "evidence_too_long"
)
