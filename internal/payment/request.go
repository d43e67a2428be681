package payment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

// RequestMode is what the refund request of a buyer does.
type RequestMode string

// The modes.
const (
	AskPerson RequestMode = "ask"       // it waits for a person of the marketplace
	Automatic RequestMode = "automatic" // the provider is asked for the refund immediately
)

// ParseRequestMode parses a mode.
func ParseRequestMode(s string) (RequestMode, error) {
	switch m := RequestMode(s); m {
	case AskPerson, Automatic:
		return m, nil
	}
	return "", fmt.Errorf("must be %s or %s", AskPerson, Automatic)
}

// refundUntil returns the time before which the buyer of a partner's application may ask for the
// money back: the end of the last day, in UTC. Zero: never.
func refundUntil(ctx context.Context, r sqldb.Reader, partnerID int64, paidAt time.Time) (time.Time, error) {
	days, err := partner.RefundDays(ctx, r, partnerID)
	if err != nil || days == 0 {
		return time.Time{}, err
	}
	year, month, day := paidAt.UTC().Date()
	return time.Date(year, month, day+days+1, 0, 0, 0, 0, time.UTC), nil
}

// LastDay returns the last day before a time, such as 3 December 2026.
func LastDay(until time.Time) string {
	return until.Add(-time.Microsecond).UTC().Format("2 January 2006")
}

// Claim is what the buyer of a license may ask back.
type Claim struct {
	Payments []refundrequest.Payment // the newest first
	Until    time.Time               // the end of the latest of their days
}

// LastDay returns the last day on which all or part of it can be asked for.
func (c Claim) LastDay() string { return LastDay(c.Until) }

// Total returns the amounts in words.
func (c Claim) Total() string { return refundrequest.Total(c.Payments) }

// Purchases returns the purchases that it covers.
func (c Claim) Purchases() []int64 {
	ids := make([]int64, len(c.Payments))
	for i, p := range c.Payments {
		ids[i] = p.PurchaseID
	}
	return ids
}

func errNotOffered() error {
	return fault.New(
		fault.Conflict,
		refundrequest.CodeNotOffered,
		"You can't ask for a refund of this license here. Contact the marketplace.",
	)
}

// Claim returns what the owner of a license may ask back now, or refuses with the reason.
func (b *Store) Claim(ctx context.Context, l license.License) (c Claim, err error) {
	err = b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		c, err = b.claim(ctx, tx, l)
		return err
	})
	return c, err
}

// claim reads the payments whose day has not passed, of a license in its current state.
func (b *Store) claim(ctx context.Context, tx *sqldb.Tx, l license.License) (Claim, error) {
	switch {
	case !b.Takes() || b.Requests == nil || l.OwnerID == 0 || l.Erased:
		return Claim{}, errNotOffered()
	case l.Held != 0:
		return Claim{}, fault.New(
			fault.Conflict,
			license.CodeLicenseHeld,
			"You can't ask for a refund while the license is on hold. Contact the marketplace.",
		)
	}
	bought, err := b.Licenses.Within(tx).Payments(ctx, l.ID)
	if err != nil {
		return Claim{}, err
	}
	switch {
	case len(bought) == 0 || !bought[0].Shop:
		return Claim{}, errNotOffered()
	case slices.ContainsFunc(bought, func(p license.Receipt) bool { return p.BuyerID != l.OwnerID }):
		return Claim{}, fault.New(
			fault.Conflict,
			refundrequest.CodeTransferred,
			"You can't ask for a refund of a license that was transferred. Contact the marketplace.",
		)
	}
	return b.claimOf(ctx, tx, bought)
}

// claimOf returns the claim on the payments of purchases, given oldest first.
func (b *Store) claimOf(ctx context.Context, tx *sqldb.Tx, bought []license.Receipt) (Claim, error) {
	var open []int64
	for _, p := range bought {
		if !p.Refunded {
			open = append(open, p.ID)
		}
	}
	list, err := sqldb.All(ctx, tx, scanCheckout, `SELECT `+checkoutColumns+` FROM checkouts
		WHERE purchase_id = ANY($1) AND purchase_id <> 0 ORDER BY purchase_id DESC`, open)
	if err != nil {
		return Claim{}, fmt.Errorf("find the payments of a license: %w", err)
	}
	gone, err := goneBack(ctx, tx, open)
	if err != nil {
		return Claim{}, err
	}
	var c Claim
	var passed time.Time
	now := b.Now()
	for _, p := range list {
		left := p.Paid.Units - gone[p.PurchaseID]
		switch {
		case p.RefundUntil.IsZero() || p.IntentID == "" || left <= 0:
		case !now.Before(p.RefundUntil):
			passed = later(passed, p.RefundUntil)
		default:
			c.Until = later(c.Until, p.RefundUntil)
			c.Payments = append(c.Payments, refundrequest.Payment{
				CheckoutID: p.ID, PurchaseID: p.PurchaseID, Item: p.Item, Amount: left, Currency: p.Paid.Currency,
			})
		}
	}
	switch {
	case len(c.Payments) > 0:
		return c, nil
	case !passed.IsZero():
		return c, fault.New(
			fault.Conflict,
			refundrequest.CodeTooLate,
			"The last day to ask for a refund was %s (UTC).",
			LastDay(passed),
		)
	}
	return c, errNotOffered()
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// RequestRefund stores the request of a license's owner to have the money back, for all payments
// whose day has not passed. In the mode Automatic it also asks the provider for the refunds.
func (b *Store) RequestRefund(
	ctx context.Context,
	by audit.Actor,
	l license.License,
	userID int64,
	reason string,
) (refundrequest.Request, error) {
	reason, err := refundrequest.CheckReason(reason)
	if err != nil {
		return refundrequest.Request{}, err
	}
	var made refundrequest.Request
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := partner.Lock(tx, l.PartnerID).One(ctx); err != nil {
			return fmt.Errorf("lock partner %d: %w", l.PartnerID, err)
		}
		now, err := license.Get(ctx, tx, l.ID)
		if err != nil {
			return err
		}
		if now.OwnerID != userID || userID == 0 {
			return fault.New(fault.Missing, license.CodeUnknownLicense, "You have no such license.")
		}
		made, err = b.request(ctx, tx, by, now, reason)
		return err
	})
	if err != nil {
		return refundrequest.Request{}, fmt.Errorf("request a refund: %w", err)
	}
	b.wake()
	return made, nil
}

// request stores the request of the owner of a license, under the partner's lock.
func (b *Store) request(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	l license.License,
	reason string,
) (refundrequest.Request, error) {
	c, err := b.claim(ctx, tx, l)
	if err != nil {
		return refundrequest.Request{}, err
	}
	switch _, found, err := refundrequest.OpenOf(ctx, tx, l.ID); {
	case err != nil:
		return refundrequest.Request{}, err
	case found:
		return refundrequest.Request{}, errRequested()
	}
	r := refundrequest.Request{
		LicenseID: l.ID, LicenseKey: l.Key, RedemptionID: l.RedemptionID, PartnerID: l.PartnerID, UserID: l.OwnerID,
		Reason: reason, Payments: c.Payments,
	}
	now := b.Now()
	if b.Requested == Automatic {
		r.AskedAt = now
	}
	if r, err = b.Requests.Add(ctx, tx, by, r, now); err != nil || b.Requested != Automatic {
		return r, err
	}
	return r, b.askAll(ctx, tx, by, r)
}

func errRequested() error {
	return fault.New(
		fault.Conflict,
		refundrequest.CodeOpen,
		"You have asked for a refund of this license already. Its page says how the request stands.",
	)
}

// askAll asks for the refunds of a request's payments, in its transaction. Payments of which nothing
// is left are skipped.
func (b *Store) askAll(ctx context.Context, tx *sqldb.Tx, by audit.Actor, r refundrequest.Request) error {
	asked := false
	for _, p := range r.Payments {
		err := b.changeIn(ctx, tx, p.CheckoutID, func(w *work) error {
			_, err := w.ask(by, Ask{Reason: "refund request"})
			if fault.Is(err, codeNothingToRefund) {
				return nil
			}
			asked = asked || err == nil
			return err
		})
		if err != nil {
			return fmt.Errorf("ask for the refund of checkout %d: %w", p.CheckoutID, err)
		}
	}
	if !asked {
		return fault.New(fault.Conflict, codeNothingToRefund, "Nothing of these payments is left to refund.")
	}
	return nil
}

// stillOwns refuses a request if the license has another owner now, because a refund would end it.
func (b *Store) stillOwns(ctx context.Context, tx *sqldb.Tx, r refundrequest.Request) error {
	l, err := b.Licenses.Within(tx).ByKey(ctx, r.LicenseKey)
	if err != nil || l.OwnerID == r.UserID {
		return err
	}
	return fault.New(fault.Conflict, codeLicenseMoved,
		"The license has another owner now, and a refund would end it for them. Decline the request, or refund "+
			"the order on its own page.")
}

// GrantRequest asks the provider for the refunds of a request. Repeated, it changes nothing.
func (b *Store) GrantRequest(ctx context.Context, by audit.Actor, id int64) (refundrequest.Request, error) {
	err := b.Requests.Change(ctx, id, func(tx *sqldb.Tx, r refundrequest.Request) error {
		switch {
		case !b.Takes():
			return fault.New(fault.Conflict, codeNotPaidHere, "This marketplace takes no payments here.")
		case r.State == refundrequest.Refunded || r.UnderWay():
			return nil
		case r.State != refundrequest.Requested:
			return refundrequest.ErrDecided(r)
		}
		if err := b.stillOwns(ctx, tx, r); err != nil {
			return err
		}
		r.Begin(tx, by, b.Now())
		return b.askAll(ctx, tx, by, r)
	})
	if err != nil {
		return refundrequest.Request{}, fmt.Errorf("grant a refund request: %w", err)
	}
	b.wake()
	return b.Requests.Get(ctx, id)
}
