package bulk

import (
	"context"
	"errors"
	"slices"
	"strings"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Act is the action on each row.
type Act string

// The acts.
const (
	Hold      Act = "hold"
	Reinstate Act = "reinstate" // lifts a hold
	Refund    Act = "refund"    // of licenses with all their purchases, or of purchases with all their licenses
	Reverse   Act = "reverse"   // reverses the refunds of licenses or purchases
	Redeliver Act = "redeliver"
	Pause     Act = "pause"
	Resume    Act = "resume"
)

// Acts lists all acts.
var Acts = []Act{Hold, Reinstate, Refund, Reverse, Redeliver, Pause, Resume}

func actNames() string {
	list := make([]string, len(Acts))
	for i, a := range Acts {
		list[i] = string(a)
	}
	return strings.Join(list, ", ")
}

// Scope returns the scope required for the act: the same as for a single one.
func (a Act) Scope() account.Scope {
	switch a {
	case Hold, Reinstate, Redeliver:
		return account.Support
	case Refund, Reverse:
		return account.Sell
	case Pause, Resume:
	}
	return account.Admin
}

// Kind is the kind of the selection, and of a job's rows.
type Kind string

// The kinds.
const (
	Licenses  Kind = "licenses"
	Purchases Kind = "purchases"
	Refunds   Kind = "refunds" // never selected: the rows of a reversal
	Events    Kind = "events"
	Partners  Kind = "partners"
)

// Kinds returns the kinds that can be selected for the act; none for an unknown act.
func (a Act) Kinds() []Kind {
	switch a {
	case Hold, Reinstate:
		return []Kind{Licenses}
	case Refund, Reverse:
		return []Kind{Licenses, Purchases}
	case Redeliver:
		return []Kind{Events}
	case Pause, Resume:
		return []Kind{Partners}
	}
	return nil
}

func kindNames(list []Kind) string {
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = string(k)
	}
	return strings.Join(names, " or ")
}

// rows returns the kind of the rows for an act on a selection.
func (k Kind) rows(a Act) Kind {
	if a == Reverse {
		return Refunds
	}
	return k
}

// onLicenses performs the act of a job on a license, a purchase or a refund; then runs in its
// transaction.
func (s *Store) onLicenses(ctx context.Context, r *license.Store, j Job, row Row, then func(*sqldb.Tx) error) error {
	of := func(tx *sqldb.Tx, _ license.License) error { return then(tx) }
	refund := func(tx *sqldb.Tx, _ license.Refund) error { return then(tx) }
	switch j.Act {
	case Hold:
		why, err := license.ParseHold(j.Reason)
		if err == nil {
			_, err = r.HoldNew(ctx, j.By, row.Subject, why, of)
		}
		return err
	case Reinstate:
		_, err := r.LiftHold(ctx, j.By, row.Subject, of)
		return err
	case Refund:
		order := license.RefundOrder{LicenseKey: row.Subject, Reason: j.Reason}
		if j.Kind == Purchases {
			order = license.RefundOrder{PurchaseID: row.ID, Reason: j.Reason}
		}
		if err := s.mayRecord(ctx, order); err != nil {
			return err
		}
		_, err := r.Refund(ctx, j.By, order, refund)
		return err
	case Reverse:
		_, err := r.ReverseNew(ctx, j.By, row.ID, refund)
		return err
	case Redeliver, Pause, Resume:
	}
	return errors.New("bulk: no act on licenses: " + string(j.Act))
}

// mayRecord refuses to record a refund without a movement of money.
func (s *Store) mayRecord(ctx context.Context, o license.RefundOrder) error {
	here, err := s.paidByUs(ctx, o)
	if err == nil && here {
		return fault.New(
			fault.Conflict,
			codePaidHere,
			"Stripe was paid for it, and a bulk act moves no money: refund it on its own page.",
		)
	}
	return err
}

// paidByUs reports whether a refund includes payments through the payment provider, so that the
// money must be returned from here.
func (s *Store) paidByUs(ctx context.Context, o license.RefundOrder) (bool, error) {
	switch {
	case s.paidHere != nil:
		return s.paidHere(ctx, o)
	case s.Payments == nil:
		return false, nil
	}
	list, err := s.Payments.PaidHere(ctx, o)
	return len(list) > 0, err
}

// onEvent resends an event.
func (s *Store) onEvent(ctx context.Context, tx *sqldb.Tx, j Job, row Row) error {
	partner.Lock(tx, row.PartnerID)
	now, err := s.seenEvent(ctx, tx, row)
	switch {
	case err != nil:
		return err
	case row.seen == waits && now == accepted:
		return fault.New(
			fault.Conflict,
			codeChangedSince,
			"The partner has accepted it since this was checked, so it was not sent again.",
		)
	}
	return s.Outbox.RedeliverIn(ctx, tx, j.By, row.PartnerID, row.ID)
}

// The checked states of an event: an event that was selected because it was not accepted is not
// sent after it is accepted. Attempts in between do not matter.
const (
	waits    = "waits"
	accepted = "accepted"
)

func (s *Store) seenEvent(ctx context.Context, tx *sqldb.Tx, row Row) (string, error) {
	ok, err := s.Outbox.IsAccepted(ctx, tx, row.PartnerID, row.ID)
	if ok {
		return accepted, err
	}
	return waits, err
}

// onPartner pauses or resumes a partner.
func (s *Store) onPartner(ctx context.Context, tx *sqldb.Tx, j Job, row Row) error {
	if _, err := partner.Lock(tx, row.ID).One(ctx); err != nil && !errors.Is(err, sqldb.ErrNone) {
		return err
	}
	p, seen, err := seenPartner(ctx, tx, j, row)
	switch {
	case err != nil:
		return err
	case row.seen != "" && seen != row.seen:
		return fault.New(
			fault.Conflict,
			codeChangedSince,
			"The pause of %s has changed since this was checked, so nothing was done.",
			p.Name,
		)
	case j.Act == Pause:
		_, err = s.Partners.Pause(ctx, tx, j.By, row.ID, j.Reason)
		return err
	}
	if _, err = s.Partners.Resume(ctx, tx, j.By, row.ID); err == nil {
		s.Outbox.Resume(tx, row.ID)
	}
	return err
}

// seenPartner reads a partner with the version of its pause, and refuses it if the act is
// impossible.
func seenPartner(ctx context.Context, r sqldb.Reader, j Job, row Row) (p partner.Partner, seen string, err error) {
	found, err := partner.ByID(ctx, r, []int64{row.ID})
	if err != nil {
		return p, "", err
	}
	p, ok := found[row.ID]
	switch {
	case !ok:
		return p, "", fault.New(fault.Missing, partner.CodeUnknownPartner, "This partner no longer exists.")
	case j.Act == Pause && p.Paused():
		return p, "", fault.New(fault.Conflict, codePartnerPaused, "The partner is paused already.")
	case j.Act == Resume && !p.Paused():
		return p, "", fault.New(fault.Conflict, codePartnerNotPaused, "The partner is not paused.")
	case !p.Paused():
		return p, "selling", nil
	}
	return p, "paused " + p.PausedAt.UTC().Format("2006-01-02T15:04:05.999999999") + " " + p.PauseReason, nil
}

// ofLicenses reports whether package license changes the rows.
func (k Kind) ofLicenses() bool { return slices.Contains([]Kind{Licenses, Purchases, Refunds}, k) }
