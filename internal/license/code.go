package license

// Codes of this package's faults. Programs depend on them, so they never change.
const (
	codeAlreadyRefunded     = "already_refunded"
	codeAmbiguousPurchase   = "ambiguous_purchase"
	CodeCreditGone          = "credit_gone"
	codeLaterPurchaseExists = "later_purchase_exists"
	CodeLicenseChanged      = "license_changed"
	codeLicenseExists       = "license_exists"
	CodeLicenseHeld         = "license_held"
	codeLicenseNotHeld      = "license_not_held"
	CodeLicenseNotActive    = "license_not_active"
	CodeLicenseNotYours     = "license_not_yours"
	CodeLicenseRefunded     = "license_refunded"
	codeLicenseUnclaimed    = "license_unclaimed"
	CodeUnknownLicense      = "unknown_license"
	CodeUnknownPurchase     = "unknown_purchase"
	CodeUnknownRefund       = "unknown_refund"
	codeRefundReversed      = "refund_already_reversed"
	CodeTooManyLicenses     = "too_many_licenses"
	codeTooManyOrders       = "too_many_orders"
	codeUnknownTier         = "unknown_tier"
	codeUserBusy            = "user_busy"
)
