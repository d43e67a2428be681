package oauth

// Fault codes of this package. Programs depend on them: they never change.
const (
	CodeNotConnected     = "not_connected"
	codeRedirectChanged  = "redirect_changed"
	codeRedirectMismatch = "redirect_mismatch"
	codeRotationPending  = "rotation_pending"
	codeUnknownClient    = "unknown_client"
	codeUnknownKey       = "unknown_key"
)
