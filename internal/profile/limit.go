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

// Limits of URL checks, scenarios and tests. They post to an address that a partner chose, and must
// not be usable to flood another server.
const (
	MaxChecks   = 10 // per partner in CheckWindow, over all nodes
	CheckWindow = 10 * time.Minute
	MaxAtOnce   = 20 // of all partners, on one node
)

// checkLease is how long the claim of a check lasts if its node dies: longer than any check.
const checkLease = CheckTimeout + 15*time.Second

// checkSlots counts the running checks of this node.
type checkSlots struct {
	mu   sync.Mutex
	used int
}

// acquire takes a slot, and reports whether one was free.
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

// Claim is one use of a partner's tests against its own server: a check of its URLs, a scenario, a
// test event, a test email, or an endpoint test by API. They share one limit, and one of them runs
// at a time over all nodes.
type Claim struct {
	book      *Store
	partnerID int64
	until     time.Time
}

// BeginTest claims a use, or refuses it with a fault; End must be called after it. A claim that is
// not extended expires after less than a minute. A partner that is not created yet has the id 0 and
// counts only towards the limit of the node.
func (b *Store) BeginTest(ctx context.Context, partnerID int64) (*Claim, error) {
	if !b.slots.acquire() {
		f := fault.New(
			fault.Busy,
			codeTooManyChecks,
			"Many URLs are being checked at this moment. Send it again as soon as Retry-After says; nothing was "+
				"changed.",
		)
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

// Extend renews the lease of the claim, for work that takes longer than a check. It reports false
// if the claim was lost: it had expired, and another one claimed the partner.
func (c *Claim) Extend(ctx context.Context) (held bool, err error) {
	until := c.book.Now().Add(checkLease)
	err = c.book.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(
			ctx,
			`UPDATE profiles SET check_until = $3 WHERE partner_id = $1 AND check_until = $2`,
			c.partnerID,
			c.until,
			until,
		)
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

// End releases the claim, even if ctx has ended: the client may have left. If it fails, the claim
// expires.
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

// claim counts a check of a partner's URLs and claims them on all nodes until it ends.
func (b *Store) claim(ctx context.Context, partnerID int64) (until time.Time, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lock(ctx, tx, partnerID); err != nil {
			return err
		}
		c, err := sqldb.One(
			ctx,
			tx,
			scanClaim,
			`SELECT check_times, check_until FROM profiles WHERE partner_id = $1`,
			partnerID,
		)
		if err != nil {
			return err
		}
		now := b.Now()
		// A claim beyond the maximum lease was made before the clock was set back.
		if c.until.After(now) && c.until.Sub(now) <= checkLease {
			return fault.New(
				fault.Conflict,
				codeCheckRunning,
				"The URLs of this partner are being checked at this moment, or a scenario or a test of it is "+
					"running. Wait for its end, then send this again.",
			)
		}
		recent := c.since(now.Add(-CheckWindow), now)
		if len(recent) >= MaxChecks && !b.Check.Often {
			f := fault.New(
				fault.Throttled,
				codeTooManyChecks,
				"This partner had %d checks, scenarios and tests in %d minutes, which is the limit. Wait as long as "+
					"Retry-After says.",
				MaxChecks,
				int(CheckWindow/time.Minute),
			)
			f.After = recent[0].Add(CheckWindow).Sub(now)
			return f
		}
		until = now.Add(checkLease)
		tx.Queue(
			`UPDATE profiles SET check_times = $2, check_until = $3 WHERE partner_id = $1`,
			partnerID,
			written(append(recent[max(0, len(recent)-MaxChecks):], now)),
			until,
		)
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("begin a check of URLs: %w", err)
	}
	return until, nil
}

// claimed has the columns of a profile's row about checks.
type claimed struct {
	times string
	until time.Time
}

func scanClaim(r *sqldb.Row, c *claimed) error { return r.Scan(&c.times, &c.until) }

// since returns the times of checks after a time, oldest first. It ignores times in the future:
// they were written before the clock was set back.
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
