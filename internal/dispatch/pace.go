package dispatch

import "time"

// The limits of a lane.
const (
	firstInFlight = 8    // initial limit of requests in flight
	usualInFlight = 64   // limit that a lane may reach regardless of others
	slowInFlight  = 4    // limit that slowness alone does not go below
	perRequest    = 32   // deliveries in memory per request in flight: some are recorded while others are sent
	maxInMemory   = 2048 // deliveries of one lane
	slow          = 2 * time.Second
	prompt        = 50 * time.Millisecond
	busyNode      = 128 // requests in flight over all lanes; above it, prompt endpoints do not grow
)

// pace limits the requests in flight of a lane. It adapts to the endpoint.
type pace struct {
	limit      float64
	minLatency time.Duration // since the endpoint last failed
}

// load is the load of this node and the lane when an answer arrived.
type load struct {
	lane  int  // requests in flight of the lane, including this one
	node  int  // requests in flight over all lanes
	spare bool // less than half of the limit of all lanes is used
	most  int  // maximum of requests in flight of the lane
}

// adapt raises the limit by one for a success at the limit, and halves it on failure or slowness.
// If this node is busy, more requests to a prompt endpoint would only wait longer. Above
// usualInFlight the limit grows only while other lanes leave enough and the endpoint does not get
// slower.
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
	case now.lane < int(p.limit), now.node >= busyNode && p.minLatency < prompt:
	case int(p.limit) < usualInFlight, now.spare && took <= 2*p.minLatency:
		p.limit = min(p.limit+1, float64(now.most))
	}
}

// answersSoon reports whether the endpoint is known to answer within gatherTime.
func (p *pace) answersSoon() bool { return p.minLatency > 0 && p.minLatency <= gatherTime }

// capacity returns the number of deliveries that the lane may hold in memory.
func (p *pace) capacity() int { return min(perRequest*int(p.limit), maxInMemory) }
