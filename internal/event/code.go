package event

// The codes of this package's faults. Programs depend on them: they never change.
const (
	CodeUnknownEvent = "unknown_event"
)
