package redelivery

// The codes of this package's faults. Clients depend on them: they never change.
const (
	codeRedeliveryRunning = "redelivery_running"
	codeRedeliveryDone    = "redelivery_done"
	codeUnknownRedelivery = "unknown_redelivery"
)
