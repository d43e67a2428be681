//go:build !unix

package dispatch_test

import "time"

// processCPU returns 0 on systems without getrusage.
func processCPU() time.Duration { return 0 }
