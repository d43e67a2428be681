package account

// The codes of this package's faults. Programs depend on them: they never change.
const (
	CodeInvalidCredentials = "invalid_credentials"
	CodeInvalidLink        = "invalid_link"
	CodeInvalidToken       = "invalid_token"
	CodeLinkExpired        = "link_expired"
	CodeLinkUsed           = "link_used"
	CodeResetOver          = "reset_over"
	CodeSignInBusy         = "sign_in_busy"
	codeTooManyRequests    = "too_many_requests"
	CodeTooManyTries       = "too_many_tries"
	codeUnknownToken       = "unknown_token"
	CodeUnknownUser        = "unknown_user"
	codeUserConflict       = "user_conflict"
	CodeUserErased         = "user_erased"
)
