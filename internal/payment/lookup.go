package payment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// list notes the objects of events that never came.
func (b *Book) list(ctx context.Context) (int, error) {
	now := b.Now()
	last, err := sqldb.One(ctx, b.DB, sqldb.Value[time.Time], `SELECT listed_at FROM payment_listing WHERE id = 1`)
	if err != nil {
		return 0, fmt.Errorf("read when events were listed: %w", err)
	}
	if now.Sub(last) < listEvery {
		return 0, nil
	}
	since := last.Add(-listAgain)
	if oldest := now.Add(-listBack); since.Before(oldest) {
		since = oldest
	}
	var events []listed
	if err := b.Stripe.events(ctx, since, func(e listed) { events = append(events, e) }); err != nil {
		return 0, fmt.Errorf("list events: %w", err)
	}
	return len(events), b.noteListed(ctx, events, now)
}

// noteListed stores those that did not come by themselves: those that were not noted, and
// are not of a session that was sold.
func (b *Book) noteListed(ctx context.Context, events []listed, at time.Time) error {
	var ids, refs []string
	for _, e := range events {
		ids = append(ids, e.id)
		if e.ref != "" {
			refs = append(refs, e.ref)
		}
	}
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		known, err := sqldb.All(ctx, tx, sqldb.Value[string], `SELECT provider_id FROM payment_events WHERE provider_id = ANY($1)
			UNION ALL SELECT session_id FROM checkouts WHERE ref = ANY($2) AND state = `+sqldb.Literal(Sold), ids, refs)
		if err != nil {
			return err
		}
		came := map[string]bool{}
		for _, id := range known {
			came[id] = true
		}
		for _, e := range events {
			if !came[e.id] && !came[e.objectID] {
				noteEvent(tx, e.id, at)
				addLookup(tx, e.objectID, at)
			}
		}
		tx.Queue(`UPDATE payment_listing SET listed_at = $1 WHERE id = 1`, at)
		return nil
	})
}

// lookup is an object that is to be retrieved.
type lookup struct {
	id        string
	tries     int
	createdAt time.Time
	nextAt    time.Time
}

// answerLookups retrieves the objects that were noted.
func (b *Book) answerLookups(ctx context.Context) (int, error) {
	list, err := sqldb.All(ctx, b.DB, func(r *sqldb.Row, l *lookup) error { return r.Scan(&l.id, &l.tries, &l.createdAt, &l.nextAt) },
		`SELECT object_id, tries, created_at, next_at FROM payment_lookups WHERE next_at <= $1 ORDER BY next_at LIMIT $2`, b.Now(), jobBatch)
	if err != nil {
		return 0, fmt.Errorf("find objects to look up: %w", err)
	}
	var errs []error
	for _, l := range list {
		err := b.answerLookup(ctx, l.id)
		if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusNotFound {
			err = nil // it is not there, and will not be
		}
		errs = append(errs, err, b.endLookup(ctx, l, err != nil))
	}
	return len(list), errors.Join(errs...)
}

// endLookup forgets an object that was taken, unless it was noted again meanwhile, or has
// it tried again.
func (b *Book) endLookup(ctx context.Context, l lookup, failed bool) error {
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if failed && b.Now().Sub(l.createdAt) < giveUp {
			tx.Queue(`UPDATE payment_lookups SET tries = tries + 1, next_at = $3 WHERE object_id = $1 AND next_at = $2`,
				l.id, l.nextAt, b.Now().Add(pause(b.Now().Sub(l.createdAt))))
			return nil
		}
		tx.Queue(`DELETE FROM payment_lookups WHERE object_id = $1 AND next_at = $2`, l.id, l.nextAt)
		return nil
	})
}

// answerLookup retrieves one object and takes what it says.
func (b *Book) answerLookup(ctx context.Context, id string) error {
	switch {
	case strings.HasPrefix(id, "cs_"):
		f, err := b.Stripe.session(ctx, id)
		if err != nil {
			return err
		}
		return b.receiveSession(ctx, incoming{session: &f})
	case strings.HasPrefix(id, "re_"), strings.HasPrefix(id, "pyr_"):
		f, err := b.Stripe.refundByID(ctx, id)
		if err != nil {
			return err
		}
		return b.foundRefund(ctx, f)
	default: // dp_ and du_
		f, err := b.Stripe.dispute(ctx, id)
		if err != nil {
			return err
		}
		return b.takeDispute(ctx, f)
	}
}

// foundRefund takes a refund that somebody may have made at the provider.
func (b *Book) foundRefund(ctx context.Context, f refundFact) error {
	own, err := sqldb.All(ctx, b.DB, scanRefund, `SELECT `+refundColumns+` FROM payment_refunds
		WHERE checkout_id = 0 AND (provider_id = $1 OR request = $2 AND request <> '')`, f.id, f.request)
	if err != nil {
		return fmt.Errorf("find a refund: %w", err)
	}
	if len(own) > 0 {
		return b.takeRefund(ctx, own[0], f)
	}
	c, found, err := b.payer(ctx, f.intent)
	if err != nil || !found {
		return err
	}
	return b.change(ctx, c, func(w *work) error { w.mergeRefund(f); return nil })
}

// payer is the checkout that a payment is for. Before it was sold, only the payment tells.
func (b *Book) payer(ctx context.Context, intent string) (Checkout, bool, error) {
	c, found, err := b.ofIntent(ctx, intent)
	if err != nil || found || intent == "" {
		return c, found, err
	}
	ref, err := b.Stripe.refOfIntent(ctx, intent)
	if err != nil || !b.ours(ref) {
		return c, false, err
	}
	c, found, err = b.find(ctx, `ref = $1`, ref)
	if err != nil || !found || c.IntentID != "" {
		return c, false, err // a second payment for the same checkout, which a problem names
	}
	return c, true, nil
}
