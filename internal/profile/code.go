package profile

// Codes of this package's faults. Programs depend on them, so they never change.
const (
	codeCheckRunning    = "check_running"
	codeContactExists   = "contact_exists"
	CodeSettingsChanged = "settings_changed"
	codeStopping        = "stopping"
	codeTooManyChecks   = "too_many_checks"
	codeTooManyContacts = "too_many_contacts"
	codeUnknownContact  = "unknown_contact"
	codeURLCheckFailed  = "url_check_failed"
)
