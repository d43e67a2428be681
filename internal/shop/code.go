package shop

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeEmailNotConfirmed = "email_not_confirmed"
	codeEventTooLarge     = "event_too_large"
	codeNoTestMoney       = "no_test_money"
	codeUnknownProduct    = "unknown_product"
	codeUnknownReceipt    = "unknown_receipt"
)
