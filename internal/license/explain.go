package license

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// RedeemAdvice is the sentence of Explain for staff: the advice to give to the buyer.
const RedeemAdvice = "Send the buyer to the redemption link (license_redemption_url) to activate it."

// Explain returns sentences that explain a license's status and tier. They disclose nothing about
// its buyer.
func (r *Store) Explain(ctx context.Context, l License) ([]string, error) {
	chain, err := sqldb.All(ctx, r.DB, scanLink, chainOf, l.ID)
	if err != nil {
		return nil, fmt.Errorf("read the purchases of a license: %w", err)
	}
	sold, err := r.SoldElsewhere(ctx, l)
	if err != nil {
		return nil, err
	}
	imported := !sold.IsZero()
	asItIs := imported // imported, and not activated here since
	if l.Status == event.Active && imported {
		last, err := event.LastActivation(ctx, r.DB, l.ID)
		if err != nil {
			return nil, err
		}
		asItIs = last.Imported(l.CreatedAt)
	}
	causes, err := r.causes(ctx, l)
	if err != nil {
		return nil, err
	}
	out := append(explainStatus(l, chain, causes, asItIs), explainTier(l, chain, imported)...)
	paused, err := partner.IsPaused(ctx, r.DB, l.PartnerID)
	if err != nil {
		return nil, err
	}
	if paused && l.Status != event.Active {
		out = append(
			out,
			"The marketplace has paused this application: no one can activate the license until it is resumed.",
		)
	}
	return out, nil
}

// SoldElsewhere returns the original sale time of an imported license; zero if it was sold here.
func (r *Store) SoldElsewhere(ctx context.Context, l License) (time.Time, error) {
	at, err := sqldb.One(
		ctx,
		r.DB,
		sqldb.Value[time.Time],
		`SELECT p.sold_at FROM purchase_links k JOIN purchases p ON p.id = k.purchase_id WHERE k.license_id = $1
			AND k.seq = 1`,
		l.ID,
	)
	if err != nil {
		return at, fmt.Errorf("read when a license was sold: %w", err)
	}
	return at, nil
}

// cause is a cause of a hold with its reason.
type cause struct {
	of  Cause
	why Hold
}

// causes returns the causes that hold a license, the first one first.
func (r *Store) causes(ctx context.Context, l License) ([]cause, error) {
	if l.Held == 0 {
		return nil, nil
	}
	list, err := sqldb.All(
		ctx,
		r.DB,
		func(r *sqldb.Row, c *cause) error { return r.Scan((*string)(&c.of), (*int)(&c.why)) },
		`SELECT cause, reason FROM license_holds WHERE license_id = $1 ORDER BY created_at, cause`,
		l.ID,
	)
	if err != nil {
		return nil, fmt.Errorf("read the holds of a license: %w", err)
	}
	return list, nil
}

// explainHolds names each cause of a hold: ending one does not end the others.
func explainHolds(l License, causes []cause) []string {
	if l.Held != 0 && len(causes) == 0 {
		causes = []cause{{ByOperator, l.Held}} // the hold was lifted between two reads
	}
	var out []string
	for _, c := range causes {
		id, disputed := c.of.dispute()
		switch {
		case disputed:
			out = append(out, fmt.Sprintf("It is on hold because the payment is disputed (%s); the hold ends when the "+
				"dispute is won.", id))
		case c.why == HoldChargeback:
			out = append(out, "It is on hold because the payment is disputed; the marketplace lifts the hold.")
		default:
			out = append(out, "The marketplace has put it on hold and lifts the hold.")
		}
	}
	return out
}

func explainStatus(l License, chain []link, causes []cause, imported bool) []string {
	out := []string{fmt.Sprintf("The license is %s.", l.Status)}
	switch l.Status {
	case event.Inactive:
		came := "purchased"
		if imported {
			came = "imported"
		}
		out = append(out, "It was "+came+" and is paid for, and the buyer has not activated it yet.")
		if l.OwnerID == 0 {
			out = append(out, "It has no owner yet: it goes to the first signed-in buyer who opens its redemption URL.")
		}
		return append(out, RedeemAdvice)
	case event.Active:
		if imported {
			return append(out, "It was imported as active, is paid for, and nothing holds it.")
		}
		return append(out, "It is paid for, the buyer has activated it, and nothing holds it.")
	case event.Deactivated:
	}
	switch {
	case refunded(chain):
		out = append(
			out,
			"Every purchase of it was refunded, so it entitles to nothing; a reversed refund brings it back.",
		)
	case ended(chain):
		out = append(out, "The money for it was refunded or lost to a dispute, and the rest does not pay for a plan. "+
			"It works again if that money returns.")
	}
	out = append(out, explainHolds(l, causes)...)
	switch {
	case l.Erased:
		out = append(out, "The account it belonged to was erased; only a transfer to another buyer brings it back.")
	case l.Released:
		out = append(
			out,
			"It was disconnected from the account it was used with; the buyer can activate it again.",
			RedeemAdvice,
		)
	}
	return out
}

func explainTier(l License, chain []link, imported bool) []string {
	if ended(chain) {
		return []string{fmt.Sprintf("Its tier is %d, the last one that was paid for.", l.Tier)}
	}
	changes := 0
	back := 0
	for _, k := range chain[1:] {
		changes++
		if k.refundID != 0 {
			back++
		}
	}
	switch {
	case changes == 0 && imported:
		return []string{fmt.Sprintf("Its tier is %d, as it was imported.", l.Tier)}
	case changes == 0:
		return []string{fmt.Sprintf("Its tier is %d, as it was purchased.", l.Tier)}
	case back == 0:
		return []string{fmt.Sprintf("Its tier is %d, that of the latest plan change.", l.Tier)}
	default:
		return []string{
			fmt.Sprintf(
				"Its tier is %d, that of the newest purchase that was not refunded; refunded plan changes: %d.",
				l.Tier,
				back,
			),
		}
	}
}
