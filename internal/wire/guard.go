package wire

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// suspectLookups is how many credentials from addresses that sent too many wrong
// ones are looked up at once. The rest of them wait their turn, so that a flood of
// wrong keys leaves the database to everybody else.
const suspectLookups = 4

// Guard throttles those who present wrong credentials. It never refuses right
// ones: what comes from an address with too many failures is looked up all the
// same, a few at a time. A nil Guard throttles nobody.
type Guard struct {
	// Failures is how many wrong credentials are answered as such, per key of Count.
	Failures *Limiter

	once  sync.Once
	slots chan struct{}
}

// Lookup runs find, which looks up the credentials of r. It waits for its turn
// when the client's address has presented too many wrong ones.
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

// Count counts wrong credentials under each of keys, up to the first that has too
// many, and returns where that one stands.
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
