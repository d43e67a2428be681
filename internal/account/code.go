package account

// The codes of this package's faults. Programs depend on them: they never change.
const (
	CodeEnrolmentOver      = "enrolment_over"
	CodeFactorRequired     = "second_factor_required"
	CodeInvalidCode        = "invalid_code"
	CodeInvalidCredentials = "invalid_credentials"
	CodeInvalidLink        = "invalid_link"
	CodeInvalidToken       = "invalid_token"
	CodeInvalidPasskey     = "invalid_passkey"
	CodeLinkExpired        = "link_expired"
	CodeLinkUsed           = "link_used"
	CodeNoFactor           = "no_second_factor"
	CodePasskeyCloned      = "passkey_cloned"
	CodeResetOver          = "reset_over"
	CodeSignInBusy         = "sign_in_busy"
	CodeStepOver           = "sign_in_over"
	codeTooManyPasskeys    = "too_many_passkeys"
	codeTooManyRequests    = "too_many_requests"
	CodeTooManyTries       = "too_many_tries"
	CodeUnknownPasskey     = "unknown_passkey"
	CodeUnknownSession     = "unknown_session"
	codeUnknownToken       = "unknown_token"
	CodeUnknownUser        = "unknown_user"
	codeUserConflict       = "user_conflict"
	CodeUserErased         = "user_erased"
)
