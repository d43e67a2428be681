package account

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"claviger/internal/fault"
)

// TestQueue: strangers fill their part of the queue and no more; those beyond it are
// refused at once, and somebody who is known does not wait for any of them.
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

// TestQueueOrder: a slot that is given back goes to those who are known first.
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
		q.leave(strangers)
		synctest.Wait()
		for i, want := range []bool{true, true, false, false} {
			if got := <-order; got != want {
				t.Errorf("turn %d is of somebody known: %t, want %t", i, got, want)
			}
		}
		q.leave(known)
	})
}

// TestCrowded: the newcomer of a smaller network takes the place of one of the
// largest, and one of the largest itself takes nobody's.
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
			first, last := crowded(list, netip.MustParseAddr(tt.from))
			if last != tt.want || first > last || (first < 0) != (last < 0) {
				t.Errorf("number %d gives way, want %d; the first of its network is %d", last, tt.want, first)
			}
		})
	}
}

// TestQueueGivesWay: a crowd that keeps the queue full does not keep others out.
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
		q.leave(strangers)
		if err := <-honest; err != nil { // who is the next one served, before the crowd
			t.Errorf("the honest one got %v", err)
		}
		for range 3 { // it, and two of the crowd
			synctest.Wait()
			q.leave(strangers)
		}
	})
}

// TestQueueLeft: somebody who leaves takes no slot along.
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
		q.leave(strangers)
		if err := q.enter(t.Context(), Client{}); err != nil || q.used[strangers] != 1 {
			t.Errorf("the next one: %v, %v in use", err, q.used)
		}
	})
}
