package payout

import (
	"context"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// Reason says why a run leaves a partner out. Programs depend on the reasons: they never change.
type Reason string

// The reasons.
const (
	Owes          Reason = "owes_money"         // the balance is negative; later sales reduce the debt
	NoTerms       Reason = "no_terms"           // it has no terms, and there is no default share
	BelowSmallest Reason = "below_smallest"     // the smallest payout of its terms is larger
	NoDetails     Reason = "no_payout_details"  // nobody entered a bank account
	NewDetails    Reason = "new_payout_details" // they changed in the last 48 hours
	NotChosen     Reason = "not_chosen"         // the run is for other partners
)

// Text says what must happen for the next run.
func (r Reason) Text() string {
	switch r {
	case Owes:
		return "The partner owes money. Later sales reduce the debt."
	case NoTerms:
		return "The partner has no terms. Add terms."
	case BelowSmallest:
		return "The balance is below the smallest payout. It is carried over."
	case NoDetails:
		return "The partner has no payout details. An admin of the partner enters them in the portal."
	case NewDetails:
		return "The payout details changed in the last 48 hours. A later run includes the partner."
	case NotChosen:
		return "The run is for other partners."
	}
	return ""
}

// Due is the payable balance of a partner.
type Due struct {
	ledger.Due
	Reason    Reason // "": a run includes it
	DetailsID int64
}

// Preview returns what a run would pay now, and the partners that it would leave out, for one currency or,
// with "", for all.
func (s *Store) Preview(ctx context.Context, currency string) (list []Due, err error) {
	err = s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		balances, err := ledger.PayableBalances(ctx, tx, currency)
		if err != nil {
			return err
		}
		list, err = s.due(ctx, tx, balances, s.Now())
		return err
	})
	return list, err
}

// due decides for each payable balance whether a run includes it.
func (s *Store) due(ctx context.Context, tx *sqldb.Tx, balances []ledger.Due, now time.Time) ([]Due, error) {
	partners := make([]int64, len(balances))
	for i, b := range balances {
		partners[i] = b.PartnerID
	}
	terms, err := ledger.TermsOf(ctx, tx, partners)
	if err != nil {
		return nil, err
	}
	details, err := currentDetails(ctx, tx, partners)
	if err != nil {
		return nil, err
	}
	list := make([]Due, len(balances))
	for i, b := range balances {
		d := details[b.PartnerID]
		list[i] = Due{
			Due: b, DetailsID: d.ID,
			Reason: reason(b, ledger.Current(terms[b.PartnerID], s.Defaults, now), d, now),
		}
	}
	return list, nil
}

// reason says why a run leaves a balance out; "": it does not.
func reason(b ledger.Due, terms *ledger.Terms, d stored, now time.Time) Reason {
	switch {
	case b.Amount < 0:
		return Owes
	case terms == nil:
		return NoTerms
	case b.Amount < terms.Smallest[b.Currency]:
		return BelowSmallest
	case d.sealed == "":
		return NoDetails
	case now.Before(d.UsableAt):
		return NewDetails
	}
	return ""
}
