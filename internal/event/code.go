package event

// Codes of this package's faults. Programs depend on them, so they never change.
const (
	CodeUnknownEvent = "unknown_event"
)
