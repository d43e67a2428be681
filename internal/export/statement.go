package export

import (
	"context"

	"claviger/internal/statement"
)

// Statement returns a statement of a partner: a line with the opening balance, one for each posting, and
// one with the closing balance. The amounts of all lines but the last sum to that of the last.
func (x *Exporter) Statement(s statement.Statement) Table {
	after := int64(0)
	begun := false
	return Table{
		Kind: Statement, PartnerID: s.PartnerID,
		Columns: []string{"posted_at", "at", "kind", "purchase_id", "tier", "amount", "currency", "reason"},
		About:   func(context.Context) (Estimate, error) { return Unknown, nil },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			if !begun {
				rows = append(rows, []Cell{
					Time(s.BeginsAt), Time(s.BeginsAt), Text("opening"), {}, {}, Number(s.Opening), Text(s.Currency), {},
				})
			}
			begun = true
			lines, next, err := x.Statements.Lines(ctx, s, after, batchSize)
			if err != nil {
				return nil, false, err
			}
			for _, l := range lines {
				rows = append(rows, []Cell{
					Time(l.PostedAt), Time(l.At), Text(string(l.Kind)), ID(l.PurchaseID), ID(int64(l.Tier)),
					Number(l.Amount), Text(s.Currency), Text(l.Reason),
				})
			}
			after = next
			if after != 0 {
				return rows, true, nil
			}
			return append(rows, []Cell{
				Time(s.EndsAt), Time(s.EndsAt), Text("closing"), {}, {}, Number(s.Closing), Text(s.Currency), {},
			}), false, nil
		},
	}
}
