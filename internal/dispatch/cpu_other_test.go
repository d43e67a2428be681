//go:build !unix

package dispatch_test

import "time"

// processCPU is not measured where the system has another way to tell it.
func processCPU() time.Duration { return 0 }
