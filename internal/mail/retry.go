package mail

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// Schedule is how long a mail waits after each attempt that failed for a reason
// that may pass: about two days in all. The first waits are those of servers
// that ask strangers to come back (greylisting).
var Schedule = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Delay is how long mail id waits after its attempt of that number, counted from
// 1: what the schedule says, up to a tenth more or less, so that what failed
// together does not come back together. False means that no attempt is left.
// It is always the same for the same mail and attempt.
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
