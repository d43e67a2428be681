package devserver

// Fault codes of this package. Programs depend on them: they never change.
const (
	codeNotADevDatabase  = "not_a_dev_database"
	codeUnknownMail      = "unknown_mail"
	codeUnknownPayment   = "unknown_payment"
	codePaymentMoved     = "payment_moved"
	codeTimeMovesForward = "time_moves_forward"
	codeTimeTooFar       = "time_too_far"
	codeExpiredToken     = "invalid_token" // the same as in package oauth
)
