package payment

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"claviger/internal/sqldb"
)

// finder finds checkouts by ref. Lookups that arrive during a query share the next one: on
// PostgreSQL one round trip per Stripe event took a quarter of the time of a sale. A lookup never
// waits for others to arrive. The zero value is ready for use.
type finder struct {
	mu      sync.Mutex
	busy    bool // a query is running
	waiting []*sought
}

// sought is a checkout that a caller waits for.
type sought struct {
	ref      string
	checkout Checkout // no id: not found
	err      error
	done     chan struct{}
}

// findTime is the timeout of a shared query. A caller that leaves must not cancel it for the
// others.
const findTime = 30 * time.Second

// findRef finds the checkout with a ref.
func (b *Store) findRef(ctx context.Context, ref string) (Checkout, bool, error) {
	if strings.ContainsRune(ref, 0) {
		return Checkout{}, false, nil // PostgreSQL would refuse the whole batch
	}
	s := &sought{ref: ref, done: make(chan struct{})}
	if b.finder.first(s) {
		defer b.findWaiting() //nolint:contextcheck // each caller has its own context
		return b.find(ctx, `ref = $1`, ref)
	}
	select {
	case <-s.done:
		return s.checkout, s.checkout.ID != 0, s.err
	case <-ctx.Done():
		return Checkout{}, false, fmt.Errorf("wait for a checkout: %w", context.Cause(ctx))
	}
}

// first reports whether no query is running; then the caller runs one. Otherwise s joins the next
// query.
func (f *finder) first(s *sought) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy {
		f.waiting = append(f.waiting, s)
		return false
	}
	f.busy = true
	return true
}

// next returns the waiting lookups. If there are none, the finder is no longer busy.
func (f *finder) next() []*sought {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.waiting
	f.waiting = nil
	f.busy = len(list) > 0
	return list
}

// findWaiting runs queries until no lookup waits.
func (b *Store) findWaiting() {
	list := b.finder.next()
	if len(list) == 0 {
		return
	}
	go func() {
		for ; len(list) > 0; list = b.finder.next() {
			b.findAll(list)
		}
	}()
}

// findAll finds checkouts with one query.
func (b *Store) findAll(list []*sought) {
	ctx, cancel := context.WithTimeout(context.Background(), findTime)
	defer cancel()
	refs := make([]string, len(list))
	byRef := make(map[string]Checkout, len(list))
	for i, s := range list {
		refs[i] = s.ref
	}
	found, err := sqldb.All(
		ctx,
		b.DB,
		scanCheckout,
		`SELECT `+checkoutColumns+` FROM checkouts WHERE ref = ANY($1)`,
		refs,
	)
	if err != nil {
		err = fmt.Errorf("find checkouts: %w", err)
	}
	for _, c := range found {
		byRef[c.Ref] = c
	}
	for _, s := range list {
		s.checkout = byRef[s.ref]
		s.err = err
		close(s.done)
	}
}
