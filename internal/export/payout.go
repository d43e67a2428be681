package export

import (
	"context"

	"claviger/internal/money"
)

// Payout returns the transfers of a run that the bank must make, with the bank details of the partners. Only an
// admin of the marketplace may have it.
func (x *Exporter) Payout(runID int64) Table {
	after := int64(0)
	return Table{
		Kind:    Payout,
		Columns: []string{"partner_id", "partner", "reference", "amount", "currency", "details"},
		About:   func(context.Context) (Estimate, error) { return Unknown, nil },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			list, next, err := x.Payouts.Transfers(ctx, runID, after, batchSize)
			for _, t := range list {
				rows = append(rows, []Cell{
					Number(t.PartnerID), Text(t.Partner), Text(t.Reference), Text(money.Input(t.Amount, t.Currency)),
					Text(t.Currency), Text(t.Details),
				})
			}
			after = next
			return rows, next != 0, err
		},
	}
}
