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

// listing is the progress of listing the provider's events. A long list is stored page by page,
// newest first. The next run continues after the last page.
type listing struct {
	listedAt time.Time // all events before it are stored
	beganAt  time.Time // start of the current list
	after    string    // the last event of the current list; "": no list is running
}

func scanListing(r *sqldb.Row, l *listing) error {
	return r.Scan(&l.listedAt, &l.beganAt, &l.after)
}

// since returns the time of the oldest event to list.
func (l listing) since(now time.Time) time.Time {
	since := l.listedAt.Add(-listAgain)
	if oldest := now.Add(-listBack); since.Before(oldest) {
		return oldest
	}
	return since
}

// list stores the objects of missed events from one page.
func (b *Store) list(ctx context.Context) (int, error) {
	now := b.Now()
	l, err := sqldb.One(
		ctx,
		b.DB,
		scanListing,
		`SELECT listed_at, began_at, after_id FROM payment_listing WHERE id = 1`,
	)
	if err != nil {
		return 0, fmt.Errorf("read how far events are listed: %w", err)
	}
	if l.after == "" && now.Sub(l.listedAt) < listEvery {
		return 0, nil
	}
	p, err := b.Stripe.events(ctx, l.since(now), l.after)
	if _, refused := finally(err); refused && l.after != "" {
		// The provider no longer has the event before this page: start the list again.
		return jobBatch, b.nextPage(ctx, l, listing{listedAt: l.listedAt}, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("list events: %w", err)
	}
	next := listing{listedAt: l.listedAt, beganAt: l.beganAt, after: p.next}
	if l.after == "" {
		next.beganAt = now
	}
	if p.next != "" {
		return jobBatch, b.nextPage(ctx, l, next, p.events)
	}
	return len(p.events), b.nextPage(ctx, l, listing{listedAt: next.beganAt}, p.events)
}

// nextPage stores the missed events of a page and the progress of the list.
func (b *Store) nextPage(ctx context.Context, from, to listing, events []listed) error {
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := noteListed(ctx, tx, events, b.Now()); err != nil {
			return err
		}
		// Another node may have stored the same page meanwhile.
		tx.Queue(
			`UPDATE payment_listing SET listed_at = $1, began_at = $2, after_id = $3 WHERE id = 1 AND after_id = $4`,
			to.listedAt,
			to.beganAt,
			to.after,
			from.after,
		)
		return nil
	})
}

// noteListed stores missed events: those not recorded and not of a sold session.
func noteListed(ctx context.Context, tx *sqldb.Tx, events []listed, at time.Time) error {
	var ids, refs []string
	for _, e := range events {
		ids = append(ids, e.id)
		if e.ref != "" {
			refs = append(refs, e.ref)
		}
	}
	known, err := sqldb.All(
		ctx,
		tx,
		sqldb.Value[string],
		`SELECT provider_id FROM payment_events WHERE provider_id = ANY($1)
		UNION ALL SELECT session_id FROM checkouts WHERE ref = ANY($2) AND state = `+sqldb.Literal(Sold),
		ids,
		refs,
	)
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
	return nil
}

// lookup is an object to retrieve.
type lookup struct {
	id        string
	tries     int
	createdAt time.Time
	nextAt    time.Time
}

// answerLookups retrieves the recorded objects.
func (b *Store) answerLookups(ctx context.Context) (int, error) {
	list, err := sqldb.All(
		ctx,
		b.DB,
		func(r *sqldb.Row, l *lookup) error { return r.Scan(&l.id, &l.tries, &l.createdAt, &l.nextAt) },
		`SELECT object_id, tries, created_at, next_at FROM payment_lookups WHERE next_at <= $1 ORDER BY next_at
			LIMIT $2`,
		b.Now(),
		jobBatch,
	)
	if err != nil {
		return 0, fmt.Errorf("find objects to look up: %w", err)
	}
	var errs []error
	for _, l := range list {
		err := b.answerLookup(ctx, l.id)
		if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusNotFound {
			err = nil // it does not exist
		}
		errs = append(errs, err, b.endLookup(ctx, l, err != nil))
	}
	return len(list), errors.Join(errs...)
}

// endLookup deletes a lookup, unless it was recorded again meanwhile. After a failure it schedules
// a retry.
func (b *Store) endLookup(ctx context.Context, l lookup, failed bool) error {
	return b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if failed && b.Now().Sub(l.createdAt) < giveUpAge {
			tx.Queue(`UPDATE payment_lookups SET tries = tries + 1, next_at = $3 WHERE object_id = $1 AND next_at = $2`,
				l.id, l.nextAt, b.Now().Add(pause(b.Now().Sub(l.createdAt))))
			return nil
		}
		tx.Queue(`DELETE FROM payment_lookups WHERE object_id = $1 AND next_at = $2`, l.id, l.nextAt)
		return nil
	})
}

// answerLookup retrieves one object and merges it.
func (b *Store) answerLookup(ctx context.Context, id string) error {
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

// foundRefund merges a refund that may have been made at the provider.
func (b *Store) foundRefund(ctx context.Context, f refundFact) error {
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

// payer returns the checkout of a payment. Before the sale only the payment itself names it.
func (b *Store) payer(ctx context.Context, intent string) (Checkout, bool, error) {
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
		return c, false, err // a second payment for the checkout; a problem reports it
	}
	return c, true, nil
}
