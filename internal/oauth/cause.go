package oauth

import "claviger/internal/fault"

// Causes of refusals, for codes of RFC 6749 or 6750 that have several. Partners see them in the log
// of their refused requests: they never change.
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

// badGrant returns the fault for an invalid code or refresh token.
func badGrant(cause, text string, args ...any) error {
	return fault.New(fault.Invalid, invalidGrant, text, args...).Because(cause)
}

// badToken returns the fault for an invalid access token. A token of an unknown client has no
// cause, because no log would show it.
func badToken(cause, text string) error {
	return fault.New(fault.Unknown, invalidToken, "%s", text).Because(cause)
}
