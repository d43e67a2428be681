package export

import (
	"context"
	"net/url"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/revenue"
)

// OperatorLedger returns the list of postings, newest first, with a row for each line.
func (x *Exporter) OperatorLedger(f ledger.Find) Table {
	before := int64(0)
	return Table{
		Kind: Ledger, PartnerID: f.PartnerID,
		Columns: []string{
			"id", "partner_id", "kind", "source", "purchase_id", "tier", "gross", "currency", "account", "amount",
			"amount_currency", "reason", "at", "created_at",
		},
		About: func(context.Context) (Estimate, error) { return Unknown, nil },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			found, err := ledger.FindPostings(ctx, x.DB, f, before, batchSize)
			for _, p := range found.Postings {
				rows = append(rows, postingRows(p)...)
			}
			before = found.Next
			return rows, before != 0, err
		},
	}
}

// postingRows returns the rows of a posting. One without lines has a row, too.
func postingRows(p ledger.Posting) (rows [][]Cell) {
	row := func(account, amount, currency Cell) {
		rows = append(rows, []Cell{
			Number(p.ID), Number(p.PartnerID), Text(string(p.Kind)), Text(p.Source), ID(p.PurchaseID),
			ID(int64(p.Tier)), Number(p.Gross), Text(p.Currency), account, amount, currency, Text(p.Reason), Time(p.At),
			Time(p.CreatedAt),
		})
	}
	for _, l := range p.Lines {
		row(Text(string(l.Account)), Number(l.Amount), Text(l.Currency))
	}
	if len(p.Lines) == 0 {
		row(Cell{}, Cell{}, Cell{})
	}
	return rows
}

func ledgerFilter(q url.Values) (f ledger.Find, err error) {
	if err := parseSpan(q, &f.PartnerID, &f.From, &f.To); err != nil {
		return f, err
	}
	f.Kind, err = ledger.ParseKind(q.Get("kind"))
	return f, err
}

// OperatorRevenue returns the sums of each plan, day and currency, for the marketplace.
func (x *Exporter) OperatorRevenue(w revenue.Walk) Table {
	return x.revenue(w, []string{
		"day", "partner_id", "tier", "currency", "sales", "revenue", "collected_by_partner", "refunds", "fees", "net",
		"partner_fees", "partner_net", "undivided", "marketplace_net",
	}, func(r revenue.Row) []Cell {
		return []Cell{
			dayCell(r.Day), Number(r.PartnerID), Number(r.Tier), Text(r.Currency), Number(r.Sales), Number(r.Revenue),
			Number(r.Direct), Number(r.Refunds), Number(r.Fees), Number(r.Net()), Number(r.Borne), Number(r.Earned()),
			Number(r.Undivided), Number(r.Kept()),
		}
	})
}

// PartnerRevenue returns the sums of a partner's own plans, for the partner. Of fees, it has those that
// the partner bears; net is what the partner earns.
func (x *Exporter) PartnerRevenue(partnerID int64, w revenue.Walk) Table {
	w.PartnerID = partnerID
	w.Own = true
	return x.revenue(w, []string{
		"day", "tier", "currency", "sales", "revenue", "collected_by_you", "refunds", "fees", "net", "undivided",
	}, func(r revenue.Row) []Cell {
		return []Cell{
			dayCell(r.Day), Number(r.Tier), Text(r.Currency), Number(r.Sales), Number(r.Revenue), Number(r.Direct),
			Number(r.Refunds), Number(r.Borne), Number(r.Earned()), Number(r.Undivided),
		}
	})
}

// revenue returns a table of sums.
func (x *Exporter) revenue(w revenue.Walk, columns []string, row func(revenue.Row) []Cell) Table {
	return Table{
		Kind: Revenue, PartnerID: w.PartnerID, Columns: columns,
		About: func(context.Context) (Estimate, error) { return Unknown, nil },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			list, more, err := x.Revenue.Next(ctx, &w, batchSize)
			for _, r := range list {
				rows = append(rows, row(r))
			}
			return rows, more, err
		},
	}
}

func dayCell(day time.Time) Cell { return Text(day.Format(time.DateOnly)) }

// RevenueWalk parses a query for sums. Days are parts of the file if they begin in the span.
func RevenueWalk(q url.Values) (w revenue.Walk, err error) {
	err = parseSpan(q, &w.PartnerID, &w.From, &w.To)
	return w, err
}
