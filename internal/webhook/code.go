package webhook

import "claviger/internal/fault"

// CodeUnknownEvent is the code of this package's fault. Clients depend on it: it never changes.
const CodeUnknownEvent = "unknown_event"

// UnknownEvent returns the fault for an event that does not exist.
func UnknownEvent(id int64) error {
	return fault.New(fault.Missing, CodeUnknownEvent, "There is no event %d; event ids are in the list of events.", id)
}
