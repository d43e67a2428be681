package wire

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// suspectLookups is the number of concurrent lookups for addresses that sent too many wrong
// credentials. The rest wait their turn, so a flood of wrong keys does not occupy the database.
const suspectLookups = 4

// Guard throttles clients that present wrong credentials. It never refuses right ones: credentials
// from an address with too many failures are still looked up, a few at a time. A nil Guard does not
// throttle.
type Guard struct {
	// Failures limits how many wrong credentials are answered with 401, per key of Count.
	Failures *Limiter

	once  sync.Once
	slots chan struct{}
}

// Lookup runs find, which looks up the credentials of r. It waits for its turn if the client's
// address has presented too many wrong ones.
func (g *Guard) Lookup(r *http.Request, find func() error) error {
	if g == nil {
		return find()
	}
	if _, held := g.Failures.held(Client(r)); !held {
		return find()
	}
	g.once.Do(func() { g.slots = make(chan struct{}, suspectLookups) })
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
		return find()
	case <-r.Context().Done():
		return fmt.Errorf("wait to look up credentials: %w", context.Cause(r.Context()))
	}
}

// Count counts wrong credentials under each of keys, up to the first one over its limit, and
// returns the quota of that key.
func (g *Guard) Count(keys ...string) Quota {
	q := Quota{OK: true}
	if g == nil {
		return q
	}
	for _, key := range keys {
		if q = g.Failures.Take(key); !q.OK {
			break
		}
	}
	return q
}
