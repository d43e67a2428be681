package webhook

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeUnknownAttempt = "unknown_attempt"
	codeUnknownEvent   = "unknown_event"
)
