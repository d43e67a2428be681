package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// quickly is a schedule with more attempts than a moody partner refuses.
const quickly = "100ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms,200ms"

// mostCutOff is the maximum number of attempts that a kill may cut off: those in flight in one
// partner's lane, and one batch of answers waiting to be recorded.
const mostCutOff = 64 + 256

// chaos returns the number of rounds of the crash loop, and its random seed.
func chaos(t *testing.T) (rounds int, seed uint64) {
	t.Helper()
	rounds, seed = 8, rand.Uint64()
	if chaosRounds != "" {
		n, err := strconv.Atoi(chaosRounds)
		if err != nil || n < 1 {
			t.Fatalf("CLAVIGER_CHAOS_ROUNDS is %q, want a number of rounds", chaosRounds)
		}
		rounds = n
	}
	return rounds, seed
}

// fuse counts down, and is closed at zero.
type fuse struct {
	left   atomic.Int64
	burned chan struct{}
}

func newFuse(n int64) *fuse {
	f := &fuse{burned: make(chan struct{})}
	f.left.Store(n)
	return f
}

func (f *fuse) burn() {
	if f.left.Add(-1) == 0 {
		close(f.burned)
	}
}

// await waits until the fuse has burned down.
func (f *fuse) await(t *testing.T) {
	t.Helper()
	select {
	case <-f.burned:
	case <-time.After(patience):
		t.Fatalf("nothing moves: %d acts are missing", f.left.Load())
	}
}

// TestCrashLoop kills the program at random moments under load and restarts it. Finally it compares
// the events, the partner's view and the records: nothing is lost, and every license's events are
// in order.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	rounds, seed := chaos(t)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	db := sqldbtest.URL(t)
	var lit atomic.Pointer[fuse]
	onArrival := func(event int64, nth int) reply {
		if f := lit.Load(); f != nil {
			f.burn()
		}
		return moody(event, nth)
	}
	e := newEndpoint(t, onArrival)
	m := newMarket(clients, seed)
	for round := range rounds {
		c := launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly)
		e.know(c.card.Partner.WebhookSecret)
		f := newFuse(1 + int64(random.IntN(200)))
		length, cause := f.left.Load(), "acts"
		m.onAck = f.burn
		switch random.IntN(3) {
		case 0:
			cause, m.onAck = "requests to the partner", nil
			lit.Store(f)
		case 1:
			cause = "acts without an answer of the partner"
			e.closeGate()
		}
		wait := m.trade(t.Context(), t, func(int) *child { return c })
		f.await(t)
		inFlight := e.count().open
		_ = c.end(syscall.SIGKILL) // killed, which is an error for Wait
		wait()
		lit.Store(nil)
		e.openGate()
		n := e.count()
		t.Logf("round %d: killed after %d %s, requests in flight: %d; so far %d acts acknowledged, %d events delivered, %d duplicates",
			round+1, length, cause, inFlight, m.acked.Load(), n.delivered, n.duplicates)
	}
	m.onAck = nil
	checkAfterCrashes(t, db, e, m, rounds)
}

func checkAfterCrashes(t *testing.T, db string, e *endpoint, m *market, kills int) {
	t.Helper()
	last := launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly)
	m.settle(t, last)
	e.awaitAll(t, last)
	// After an orderly end everything is recorded, and nothing is left to send.
	if err := last.end(syscall.SIGTERM); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
	seen := e.count().arrivals
	reader := launch(t, "--db", db, "--webhook", e.URL, "--retry", quickly)
	orders := m.check(t, reader)
	b := openBooks(t, reader, e)
	b.checkTold()
	b.checkOrder()
	b.checkPicture(reader)
	cutOff := b.checkRecords(true)
	if cutOff > kills*mostCutOff {
		t.Errorf("%d attempts were cut off by %d kills", cutOff, kills)
	}
	if n := e.count().arrivals; n != seen {
		t.Errorf("%d requests came after everything was delivered and on record", n-seen)
	}
	n := e.count()
	t.Logf("after %d kills: %d orders, %d events; %d requests, %d of them cut off, %d duplicates",
		kills, orders, len(b.feed), n.arrivals, cutOff, n.duplicates)
}

// chaosRounds reads CLAVIGER_CHAOS_ROUNDS and removes it: the started programs would treat it as a
// setting.
var chaosRounds = func() string {
	const name = "CLAVIGER_CHAOS_ROUNDS"
	value := os.Getenv(name)
	if err := os.Unsetenv(name); err != nil {
		panic(fmt.Sprintf("unset %s: %v", name, err))
	}
	return value
}()
