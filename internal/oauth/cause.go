package oauth

import "claviger/internal/fault"

// The causes of refusals whose code, which RFC 6749 or 6750 gives, stands for several.
// Partners see them in the log of their refused requests: they never change.
const (
	causeCodeBurned      = "code_burned"
	causeCodeExpired     = "code_expired"
	causeCodeForeign     = "code_of_another_client"
	causeCodeUnknown     = "code_unknown"
	causeCodeUsed        = "code_used"
	causeLicenseEnded    = "connection_ended"
	causeMissing         = "parameter_missing"
	causeNoCredentials   = "client_credentials_missing" //nolint:gosec // a word, no credential
	causeParameter       = "parameter_in_query"
	causeRedirectChanged = "redirect_url_changed"
	causeRedirect        = "redirect_uri_mismatch"
	causeRefreshExpired  = "refresh_token_expired"
	causeRefreshForeign  = "refresh_token_of_another_client"
	causeRefreshRevoked  = "refresh_token_revoked"
	causeRefreshUnknown  = "refresh_token_unknown"
	causeRefreshUsed     = "refresh_token_used"
	causeSecret          = "client_secret_wrong" //nolint:gosec // a word, no credential
	causeTokenExpired    = "access_token_expired"
	causeTokenRevoked    = "access_token_revoked"
	causeVerifier        = "code_verifier_mismatch"
	causeVerifierExtra   = "code_verifier_unexpected"
	causeVerifierMissing = "code_verifier_missing"
)

// badGrant is the fault of a code or a refresh token that is not valid.
func badGrant(cause, text string, args ...any) error {
	return fault.New(fault.Invalid, invalidGrant, text, args...).Because(cause)
}

// badToken is the fault of an access token that is not valid. One that is nobody's has no
// cause: there is no log that it would stand in.
func badToken(cause, text string) error {
	return fault.New(fault.Unknown, invalidToken, "%s", text).Because(cause)
}
