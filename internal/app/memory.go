package app

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much a process that only serves may allocate between two garbage
// collections, in percent of what is in use. Go's default is 100. At 200 a sale took a
// tenth less CPU and a page a quarter less, for 20 MiB; but 320 clients that buy at once
// brought the process to 155 MiB, and it is to stay below 150.
const gcPercent = 150

// SpendMemory lets the garbage collector of this process run less often, unless the
// variable GOGC says how often. It is for programs that are the service and nothing else.
func SpendMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
