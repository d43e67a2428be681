package account

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb/sqldbtest"
)

// TestQueue checks that strangers fill only their part of the queue. The queue refuses the rest
// immediately, and known clients wait for none of them.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{slots: 2, waiting: [2]int{strangers: 3, known: 2}}
		release := make(chan struct{})
		var running, busy, done atomic.Int32
		hash := func(c Client) {
			_, err := hashed(t.Context(), q, c, func() (bool, error) {
				running.Add(1)
				<-release
				running.Add(-1)
				return true, nil
			})
			switch f := fault.Of(err); {
			case err == nil:
				done.Add(1)
			case f != nil && f.Kind == fault.Busy && f.Code == "sign_in_busy" && f.After > 0:
				busy.Add(1)
			default:
				t.Errorf("refused with %v", err)
			}
		}
		for range 400 {
			go hash(Client{})
		}
		synctest.Wait()
		if running.Load() != 1 || busy.Load() != 396 {
			t.Errorf("%d strangers are served and %d refused, want 1 and 396", running.Load(), busy.Load())
		}
		got, err := hashed(t.Context(), q, Client{Known: true}, func() (string, error) { return "served", nil })
		if got != "served" || err != nil {
			t.Errorf("who is known: %q, %v", got, err)
		}
		for range 4 { // one is served, two wait, one is refused
			go hash(Client{Known: true})
		}
		synctest.Wait()
		if running.Load() != 2 || busy.Load() != 397 {
			t.Errorf("%d are served and %d refused, want 2 and 397", running.Load(), busy.Load())
		}
		close(release)
		synctest.Wait()
		if done.Load() != 7 || q.used != [2]int{} || len(q.waiters[0])+len(q.waiters[1]) != 0 {
			t.Errorf("%d of 7 were served in the end; left: %+v", done.Load(), q.used)
		}
	})
}

// TestQueueOrder checks that a free slot goes to known clients first.
func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{slots: 2, waiting: [2]int{strangers: 9, known: 9}}
		order := make(chan bool, 9)
		for _, known := range []bool{false, true} {
			if err := q.enter(t.Context(), Client{Known: known}); err != nil {
				t.Fatal(err)
			}
		}
		for _, known := range []bool{false, true, false, true} {
			go func() {
				_, _ = hashed(t.Context(), q, Client{Known: known}, func() (bool, error) {
					order <- known
					return true, nil
				})
			}()
			synctest.Wait()
		}
		q.handOn(strangers)
		synctest.Wait()
		for i, want := range []bool{true, true, false, false} {
			if got := <-order; got != want {
				t.Errorf("turn %d is of somebody known: %t, want %t", i, got, want)
			}
		}
		q.handOn(known)
	})
}

// TestCrowded checks that a newcomer from a smaller network takes the place of a waiter from the
// largest. A newcomer from the largest takes no place.
func TestCrowded(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting []string
		from    string
		want    int
	}{
		"IPv4 among IPv6":          {[]string{"2001:db8::1", "2a02:1::1", "2600::1", "192.0.2.1"}, "198.51.100.7", 2},
		"another /16":              {[]string{"2001:1::1", "2001:2::1", "2001:3::1"}, "2a02:1::1", 2},
		"another /32":              {[]string{"2001:db8:1::1", "2001:db8:2::1", "2001:1::1"}, "2001:2::1", 1},
		"another /48":              {[]string{"2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:3::1"}, "2001:db8:2::1", 1},
		"another /56":              {[]string{"2001:db8:1:101::1", "2001:db8:1:102::1"}, "2001:db8:1:201::1", 1},
		"another /64":              {[]string{"2001:db8:1:101::1", "2001:db8:1:101::2"}, "2001:db8:1:102::1", 1},
		"one of the largest":       {[]string{"2001:db8:1:101::1", "2001:db8:1:101::2", "2600::1"}, "2001:db8:1:101::3", -1},
		"all from everywhere":      {[]string{"1.0.0.1", "2.0.0.1", "3.0.0.1"}, "4.0.0.1", -1},
		"IPv4 networks":            {[]string{"1.2.3.1", "1.2.3.2", "9.9.9.9"}, "1.2.4.1", 1},
		"IPv6 among IPv4":          {[]string{"1.0.0.1", "2.0.0.1", "3.0.0.1"}, "2001:db8::1", 2},
		"IPv4 written as IPv6":     {[]string{"::ffff:1.0.0.1", "1.0.0.2", "2600::1"}, "2a02::1", -1},
		"nobody knows where from":  {[]string{"", "", "2001:db8::1"}, "192.0.2.1", 1},
		"the same network, evenly": {[]string{"1.2.3.4", "9.2.3.4"}, "1.2.3.4", -1},
	} {
		t.Run(name, func(t *testing.T) {
			var list []*waiter
			for _, text := range tt.waiting {
				addr, _ := netip.ParseAddr(text)
				list = append(list, &waiter{from: addr})
			}
			first, last := largestNetwork(list, netip.MustParseAddr(tt.from))
			if last != tt.want || first > last || (first < 0) != (last < 0) {
				t.Errorf("number %d gives way, want %d; the first of its network is %d", last, tt.want, first)
			}
		})
	}
}

// TestQueueGivesWay checks that a crowd that fills the queue does not keep others out.
func TestQueueGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{slots: 2, waiting: [2]int{strangers: 3, known: 2}}
		if err := q.enter(t.Context(), Client{}); err != nil {
			t.Fatal(err)
		}
		crowd, honest := make(chan error, 3), make(chan error, 1)
		for range 3 {
			go func() { crowd <- q.enter(t.Context(), Client{From: netip.MustParseAddr("2001:db8::1")}) }()
		}
		synctest.Wait()
		go func() { honest <- q.enter(t.Context(), Client{From: netip.MustParseAddr("192.0.2.1")}) }()
		if err := <-crowd; !fault.Is(err, "sign_in_busy") {
			t.Errorf("one of the crowd got %v", err)
		}
		q.handOn(strangers)
		if err := <-honest; err != nil { // served next, before the crowd
			t.Errorf("the honest one got %v", err)
		}
		for range 3 { // honest and two of the crowd
			synctest.Wait()
			q.handOn(strangers)
		}
	})
}

// TestQueueLeft checks that a client that stops waiting leaves no slot in use.
func TestQueueLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{slots: 1, waiting: [2]int{strangers: 9, known: 9}}
		if err := q.enter(t.Context(), Client{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- q.enter(ctx, Client{}) }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		q.handOn(strangers)
		if err := q.enter(t.Context(), Client{}); err != nil || q.used[strangers] != 1 {
			t.Errorf("the next one: %v, %v in use", err, q.used)
		}
	})
}

// TestKnownNeedNoStrangers: people who are signed in choose and confirm a password while
// strangers use up all that they may.
func TestKnownNeedNoStrangers(t *testing.T) {
	all := hashing
	hashing = &queue{slots: 2, waiting: [2]int{strangers: 0, known: 1}}
	t.Cleanup(func() { hashing = all })
	if err := hashing.enter(t.Context(), Client{}); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Unix(1, 0) }
	b := &Store{DB: sqldbtest.Open(t), Now: now, HashCost: HashCost{KiB: 8, Passes: 1}}
	by := audit.System("test")
	u, _, err := b.Create(t.Context(), by, Person{Email: "ann@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.ChangePassword(t.Context(), by, u.ID, "", "correct horse")
	confirmed := b.ConfirmPassword(t.Context(), by, u.ID, "correct horse")
	if err != nil || confirmed != nil {
		t.Errorf("chosen: %v, confirmed: %v", err, confirmed)
	}
	if _, err := b.SignIn(t.Context(), u.Email, "correct horse", Client{}); !fault.Is(err, CodeSignInBusy) {
		t.Errorf("a stranger: %v", err)
	}
}

// TestQueueLeftBehindOthers: somebody who leaves gives no slot to those before them.
func TestQueueLeftBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{slots: 1, waiting: [2]int{strangers: 9, known: 9}}
		if err := q.enter(t.Context(), Client{}); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- q.enter(t.Context(), Client{}) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- q.enter(ctx, Client{}) }()
		synctest.Wait()
		cancel()
		<-left
		synctest.Wait()
		if len(served) != 0 || len(q.waiters[strangers]) != 1 {
			t.Errorf("%d were served, %d wait", len(served), len(q.waiters[strangers]))
		}
		q.handOn(strangers)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestQueueLeftWithSlot: the slot of somebody who leaves at the moment when it comes is free
// again. Either may be noticed first.
func TestQueueLeftWithSlot(t *testing.T) {
	q := &queue{slots: 1, waiting: [2]int{strangers: 1, known: 1}}
	for range 200 {
		if err := q.enter(t.Context(), Client{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- q.enter(ctx, Client{}) }()
		for q.waits(strangers) == 0 {
			runtime.Gosched()
		}
		q.mu.Lock()
		cancel()
		runtime.Gosched()
		q.release(strangers)
		q.mu.Unlock()
		if err := <-left; err == nil {
			q.handOn(strangers)
		}
		if q.used[strangers] != 0 {
			t.Fatalf("%d slots are in use, and nobody is there", q.used[strangers])
		}
	}
}

// waits is how many wait in a lane.
func (q *queue) waits(in lane) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiters[in])
}

// TestNobodysPasswordIsMadeOnce checks that the password that no text matches is not hashed again
// for each try. Otherwise the time of a refusal would tell addresses without an account.
func TestNobodysPasswordIsMadeOnce(t *testing.T) {
	b := &Store{HashCost: HashCost{KiB: 8, Passes: 2}}
	first := b.nobody()
	if again := b.nobody(); again != first || first == "" {
		t.Errorf("it is %q and then %q", first, again)
	}
}
