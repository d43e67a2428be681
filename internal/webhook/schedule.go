package webhook

import "time"

// Schedule is how long to wait after each failed attempt; its length is how
// often an event is tried again before it is exhausted.
type Schedule []time.Duration

// jitter spreads the retries of one outage by a tenth to either side, so that
// they do not all come back in the same second.
const jitter = 0.1

// Next is how long to wait after attempt number n failed; ok is false when it
// was the last. The partner's Retry-After may make the wait longer, not shorter;
// random is from [0,1).
func (s Schedule) Next(n int, retryAfter time.Duration, random float64) (wait time.Duration, ok bool) {
	if n > len(s) {
		return 0, false
	}
	wait = s[n-1]
	wait += time.Duration(float64(wait) * jitter * (2*random - 1))
	return max(wait, retryAfter), true
}
