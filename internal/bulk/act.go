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

// Act is what is done to each row.
type Act string

// The acts.
const (
	Hold      Act = "hold"
	Reinstate Act = "reinstate" // lifts a hold
	Refund    Act = "refund"    // of licenses with all their purchases, or of purchases with all their licenses
	Reverse   Act = "reverse"   // of the refunds that concern licenses or purchases
	Redeliver Act = "redeliver"
	Pause     Act = "pause"
	Resume    Act = "resume"
)

// Acts are all of them.
var Acts = []Act{Hold, Reinstate, Refund, Reverse, Redeliver, Pause, Resume}

func actNames() string {
	list := make([]string, len(Acts))
	for i, a := range Acts {
		list[i] = string(a)
	}
	return strings.Join(list, ", ")
}

// Scope is what somebody needs for the act: the same as for a single one.
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

// Kind is what is selected, and what the rows of a job are.
type Kind string

// The kinds.
const (
	Licenses  Kind = "licenses"
	Purchases Kind = "purchases"
	Refunds   Kind = "refunds" // never selected: what reversing licenses or purchases is done to
	Events    Kind = "events"
	Partners  Kind = "partners"
)

// Kinds are what the act can be selected for; none if there is no such act.
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

// rows is what the rows are of an act on what was selected.
func (k Kind) rows(a Act) Kind {
	if a == Reverse {
		return Refunds
	}
	return k
}

// onLicenses does the act of a job to a row that is a license, a purchase or a refund;
// then runs in its transaction.
func (s *Jobs) onLicenses(ctx context.Context, r *license.Registry, j Job, row Row, then func(*sqldb.Tx) error) error {
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

// mayRecord refuses to record a refund whose money would not move.
func (s *Jobs) mayRecord(ctx context.Context, o license.RefundOrder) error {
	if s.PaidHere == nil {
		return nil
	}
	here, err := s.PaidHere(ctx, o)
	if err == nil && here {
		return fault.New(fault.Conflict, codePaidHere, "Stripe was paid for it, and a bulk act moves no money: refund it on its own page.")
	}
	return err
}

// onEvent has an event sent again.
func (s *Jobs) onEvent(ctx context.Context, tx *sqldb.Tx, j Job, row Row) error {
	partner.Lock(tx, row.PartnerID)
	now, err := s.seenEvent(ctx, tx, row)
	switch {
	case err != nil:
		return err
	case row.seen == waits && now == accepted:
		return fault.New(fault.Conflict, codeChangedSince, "The partner has accepted it since this was checked, so it was not sent again.")
	}
	return s.Outbox.RedeliverIn(ctx, tx, j.By, row.PartnerID, row.ID)
}

// What is seen of an event: what a person wants to send again because it was not
// accepted is not sent once it is. Whether it was tried meanwhile does not matter.
const (
	waits    = "waits"
	accepted = "accepted"
)

func (s *Jobs) seenEvent(ctx context.Context, tx *sqldb.Tx, row Row) (string, error) {
	ok, err := s.Outbox.IsAccepted(ctx, tx, row.PartnerID, row.ID)
	if ok {
		return accepted, err
	}
	return waits, err
}

// onPartner pauses or resumes a partner.
func (s *Jobs) onPartner(ctx context.Context, tx *sqldb.Tx, j Job, row Row) error {
	if _, err := partner.Lock(tx, row.ID).One(ctx); err != nil && !errors.Is(err, sqldb.ErrNone) {
		return err
	}
	p, seen, err := seenPartner(ctx, tx, j, row)
	switch {
	case err != nil:
		return err
	case row.seen != "" && seen != row.seen:
		return fault.New(fault.Conflict, codeChangedSince, "The pause of %s has changed since this was checked, so nothing was done.", p.Name)
	case j.Act == Pause:
		_, err = s.Partners.Pause(ctx, tx, j.By, row.ID, j.Reason)
		return err
	}
	if _, err = s.Partners.Resume(ctx, tx, j.By, row.ID); err == nil {
		s.Outbox.Resume(tx, row.ID)
	}
	return err
}

// seenPartner reads a partner with the version of its pause, and refuses one that the act
// cannot be done to.
func seenPartner(ctx context.Context, r sqldb.Reader, j Job, row Row) (p partner.Partner, seen string, err error) {
	found, err := partner.ByID(ctx, r, []int64{row.ID})
	if err != nil {
		return p, "", err
	}
	p, ok := found[row.ID]
	switch {
	case !ok:
		return p, "", fault.New(fault.Missing, partner.CodeUnknownPartner, "There is no such partner any more.")
	case j.Act == Pause && p.Paused():
		return p, "", fault.New(fault.Conflict, codePartnerPaused, "The partner is paused already.")
	case j.Act == Resume && !p.Paused():
		return p, "", fault.New(fault.Conflict, codePartnerNotPaused, "The partner is not paused.")
	case !p.Paused():
		return p, "selling", nil
	}
	return p, "paused " + p.PausedAt.UTC().Format("2006-01-02T15:04:05.999999999") + " " + p.PauseReason, nil
}

// ofLicenses reports whether the rows are changed by package license.
func (k Kind) ofLicenses() bool { return slices.Contains([]Kind{Licenses, Purchases, Refunds}, k) }
