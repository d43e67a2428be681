package dispatch

import "time"

// The bounds of a lane.
const (
	firstInFlight = 8    // requests in flight that a new lane may have
	usualInFlight = 64   // that a lane may grow to whatever the others do
	slowInFlight  = 4    // that slowness alone leaves it
	perRequest    = 32   // deliveries in memory for each that may be in flight: while some are recorded, others are sent
	maxInMemory   = 2048 // deliveries of one lane
	slow          = 2 * time.Second
	prompt        = 50 * time.Millisecond
	crowd         = 128 // requests in flight over all lanes, past which those of prompt endpoints grow no more
)

// pace is how many requests a lane may have in flight. It follows the endpoint.
type pace struct {
	limit      float64
	minLatency time.Duration // since the endpoint last failed
}

// load is how busy this node and the lane were when an answer came.
type load struct {
	lane  int  // requests that the lane had in flight, this one included
	node  int  // requests in flight over all lanes
	spare bool // less than half of what all lanes may have in flight is used
	most  int  // requests that the lane may have in flight
}

// adapt raises the limit by one for a success at the limit, and halves it on failure or
// slowness. When this node is busy, more requests to an endpoint that can be prompt would
// only wait longer. Past usualInFlight it grows while others leave much, and the endpoint
// is not slower for it.
func (p *pace) adapt(ok bool, took time.Duration, now load) {
	if p.minLatency == 0 || took < p.minLatency {
		p.minLatency = took
	}
	switch {
	case !ok:
		p.minLatency = 0
		p.limit = max(p.limit/2, 1)
	case took > slow:
		p.limit = max(p.limit/2, min(p.limit, slowInFlight))
	case now.lane < int(p.limit), now.node >= crowd && p.minLatency < prompt:
	case int(p.limit) < usualInFlight, now.spare && took <= 2*p.minLatency:
		p.limit = min(p.limit+1, float64(now.most))
	}
}

// answersSoon reports whether the endpoint is known to answer in a moment.
func (p *pace) answersSoon() bool { return p.minLatency > 0 && p.minLatency <= gatherTime }

// capacity is how many deliveries the lane may have in memory.
func (p *pace) capacity() int { return min(perRequest*int(p.limit), maxInMemory) }
