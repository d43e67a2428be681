package profile

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// How often URLs are checked, and scenarios and tests are run: they post to an address
// that a partner chose, and must not be usable to flood somebody else's server.
const (
	MaxChecks   = 10 // of one partner in CheckWindow, over all nodes
	CheckWindow = 10 * time.Minute
	MaxAtOnce   = 20 // of all partners, on one node
)

// checkLease is how long the claim of a check lasts if its node dies: longer than
// any check.
const checkLease = CheckTimeout + 15*time.Second

// slots counts the checks that this node makes.
type checkSlots struct {
	mu   sync.Mutex
	used int
}

// acquire reports whether a slot was free, and uses it.
func (p *checkSlots) acquire() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used >= MaxAtOnce {
		return false
	}
	p.used++
	return true
}

func (p *checkSlots) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
}

// Claim is one use of what a partner may do against its own server: a check of its
// URLs, a scenario, a test event, a test mail, or a try of its endpoint by API. They
// share one limit, and one of them runs at a time over all nodes.
type Claim struct {
	book      *Book
	partnerID int64
	until     time.Time
}

// BeginTest claims a use, or refuses it with a fault; End must be called when it is
// over. A claim that is not extended ends by itself after less than a minute. A
// partner that is yet to be made has the id 0 and counts among all uses alone.
func (b *Book) BeginTest(ctx context.Context, partnerID int64) (*Claim, error) {
	if !b.slots.acquire() {
		f := fault.New(fault.Busy, codeTooManyChecks, "Many URLs are being checked at this moment. Send it again as soon as Retry-After says; nothing was changed.")
		f.After = 5 * time.Second
		return nil, f
	}
	c := &Claim{book: b, partnerID: partnerID}
	if partnerID == 0 {
		return c, nil
	}
	until, err := b.claim(ctx, partnerID)
	if err != nil {
		b.slots.release()
		return nil, err
	}
	c.until = until
	return c, nil
}

// Extend makes the claim last as long again, for work that takes longer than a check.
// It reports false if the claim was lost: its time had run out, and somebody else
// claimed the partner.
func (c *Claim) Extend(ctx context.Context) (held bool, err error) {
	until := c.book.Now().Add(checkLease)
	err = c.book.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE profiles SET check_until = $3 WHERE partner_id = $1 AND check_until = $2`, c.partnerID, c.until, until)
		held = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("extend a claim of a partner's URLs: %w", err)
	}
	if held {
		c.until = until
	}
	return held, nil
}

// End releases the claim, also when ctx has ended: the client may have left. If it
// fails the claim expires by itself.
func (c *Claim) End(ctx context.Context) {
	defer c.book.slots.release()
	if c.partnerID == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = c.book.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE profiles SET check_until = 0 WHERE partner_id = $1 AND check_until = $2`, c.partnerID, c.until)
		return nil
	})
}

// claim counts a check of a partner's URLs and claims them on all nodes until it
// ends.
func (b *Book) claim(ctx context.Context, partnerID int64) (until time.Time, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lock(ctx, tx, partnerID); err != nil {
			return err
		}
		c, err := sqldb.One(ctx, tx, scanClaim, `SELECT check_times, check_until FROM profiles WHERE partner_id = $1`, partnerID)
		if err != nil {
			return err
		}
		now := b.Now()
		// A claim that lasts longer than any can was made before the clock was set back.
		if c.until.After(now) && c.until.Sub(now) <= checkLease {
			return fault.New(fault.Conflict, codeCheckRunning, "The URLs of this partner are being checked at this moment, or a scenario or a test of it is running. Wait for its end, then send this again.")
		}
		recent := c.since(now.Add(-CheckWindow), now)
		if len(recent) >= MaxChecks && !b.Check.Often {
			f := fault.New(fault.Throttled, codeTooManyChecks,
				"This partner had %d checks, scenarios and tests in %d minutes, which is the limit. Wait as long as Retry-After says.", MaxChecks, int(CheckWindow/time.Minute))
			f.After = recent[0].Add(CheckWindow).Sub(now)
			return f
		}
		until = now.Add(checkLease)
		tx.Queue(`UPDATE profiles SET check_times = $2, check_until = $3 WHERE partner_id = $1`, partnerID, written(append(recent[max(0, len(recent)-MaxChecks):], now)), until)
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("begin a check of URLs: %w", err)
	}
	return until, nil
}

// claimed are the columns of a profile's row about checks.
type claimed struct {
	times string
	until time.Time
}

func scanClaim(r *sqldb.Row, c *claimed) error { return r.Scan(&c.times, &c.until) }

// since is the times of checks after a time, the oldest first. What lies in the
// future was written before the clock was set back.
func (c claimed) since(after, now time.Time) []time.Time {
	var list []time.Time
	for field := range strings.FieldsSeq(c.times) {
		n, err := strconv.ParseInt(field, 10, 64)
		if at := time.Unix(0, n); err == nil && at.After(after) && !at.After(now) {
			list = append(list, at)
		}
	}
	return list
}

func written(times []time.Time) string {
	fields := make([]string, len(times))
	for i, at := range times {
		fields[i] = strconv.FormatInt(at.UnixNano(), 10)
	}
	return strings.Join(fields, " ")
}
