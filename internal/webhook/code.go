package webhook

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeRedeliveryRunning = "redelivery_running"
	codeUnknownEvent      = "unknown_event"
	codeUnknownRedelivery = "unknown_redelivery"
)
