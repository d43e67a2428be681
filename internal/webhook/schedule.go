package webhook

import "time"

// Schedule is the wait after each failed attempt. Its length is the number of retries before an
// event is exhausted.
type Schedule []time.Duration

// jitter spreads the retries after an outage by 10% to either side, so that they do not all come
// back in the same second.
const jitter = 0.1

// Next returns the wait after attempt n failed; ok is false if it was the last. The partner's
// Retry-After can make the wait longer, not shorter. random is from [0,1).
func (s Schedule) Next(n int, retryAfter time.Duration, random float64) (wait time.Duration, ok bool) {
	if n > len(s) {
		return 0, false
	}
	wait = s[n-1]
	wait += time.Duration(float64(wait) * jitter * (2*random - 1))
	return max(wait, retryAfter), true
}
