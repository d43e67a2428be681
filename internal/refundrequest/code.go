package refundrequest

// Fault codes of this package. Programs depend on them: they never change.
const (
	CodeUnknown     = "unknown_refund_request"
	CodeOpen        = "refund_requested"
	CodeDecided     = "refund_request_decided"
	CodeRefunding   = "refund_under_way"
	CodeNotOffered  = "refund_not_offered"
	CodeTooLate     = "refund_too_late"
	CodeTransferred = "license_transferred"
)
