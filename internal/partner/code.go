package partner

// Codes of this package's faults. Programs depend on them, so they never change.
const (
	codeCredentialChanged  = "credential_changed"
	CodeInvalidClient      = "invalid_client"
	CodeInvalidKey         = "invalid_key"
	CodeLastAdmin          = "last_admin"
	codeMemberChanged      = "member_changed"
	codePartnerHasLicenses = "partner_has_licenses"
	CodePartnerPaused      = "partner_paused"
	codeKeyExists          = "key_exists"
	codeSecretSigns        = "secret_signs"
	codeTooManyKeys        = "too_many_keys"
	CodeTooManyPictures    = "too_many_pictures"
	codeUnknownCredential  = "unknown_credential"
	CodeUnknownIcon        = "unknown_icon"
	codeUnknownMember      = "unknown_member"
	CodeUnknownPartner     = "unknown_partner"
	CodeUnknownPlan        = "unknown_plan"
	CodeVisitEnded         = "visit_ended"
	CodeVisitOpen          = "visit_open"
)
