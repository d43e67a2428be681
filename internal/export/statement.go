package export

import (
	"context"
	"time"

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
				rows = append(rows, balanceCells("opening", s.BeginsAt, s.Opening, s.Currency))
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
			return append(rows, balanceCells("closing", s.EndsAt, s.Closing, s.Currency)), false, nil
		},
	}
}

// balanceCells returns the line of a balance at a time.
func balanceCells(kind string, at time.Time, amount int64, currency string) []Cell {
	return []Cell{Time(at), Time(at), Text(kind), {}, {}, Number(amount), Text(currency), {}}
}
