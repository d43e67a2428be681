package mail

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// Schedule is the wait after each attempt with a temporary failure: about two days in total. The
// first waits suit servers that use greylisting.
var Schedule = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour,
}

// Delay returns the wait of email id after an attempt, counted from 1: that of the schedule, up to
// a tenth more or less, so that emails that failed together do not come back together. It returns
// false if no attempt is left. The result is the same for the same email and attempt.
func Delay(schedule []time.Duration, id int64, attempt int) (time.Duration, bool) {
	if attempt < 1 || attempt > len(schedule) {
		return 0, false
	}
	var seed [16]byte
	binary.BigEndian.PutUint64(seed[:8], uint64(id)) //nolint:gosec // any bits will do
	binary.BigEndian.PutUint64(seed[8:], uint64(attempt))
	h := fnv.New64a()
	_, _ = h.Write(seed[:]) // it never fails
	const steps = 2001
	tenth := float64(h.Sum64()%steps)/(steps-1)*0.2 - 0.1
	wait := schedule[attempt-1]
	return wait + time.Duration(float64(wait)*tenth), true
}
