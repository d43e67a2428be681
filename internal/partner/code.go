package partner

// The codes of this package's faults. Programs depend on them: they never change.
const (
	CodeInvalidClient      = "invalid_client"
	CodeInvalidKey         = "invalid_key"
	codePartnerHasLicenses = "partner_has_licenses"
	CodePartnerPaused      = "partner_paused"
	CodeUnknownPartner     = "unknown_partner"
	CodeUnknownPlan        = "unknown_plan"
)
