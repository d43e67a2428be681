package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Parts says how the money of a sale is divided, for reports. A settlement does not change it.
type Parts struct {
	Share     int64 // the partner's, less refunds; fees are not subtracted
	Borne     int64 // fees that the partner bears, in the currency of the sale
	Undivided int64 // the sale less refunds, while the partner has no terms
}

func (p Parts) minus(o Parts) Parts {
	return Parts{p.Share - o.Share, p.Borne - o.Borne, p.Undivided - o.Undivided}
}

// Parts returns how the sale is divided now. Money that a bank examines is not back yet.
func (s Sale) Parts() Parts {
	back := min(s.Back, s.Gross)
	if s.Division == nil {
		return Parts{Undivided: s.Gross - back}
	}
	p := Parts{Share: s.share(back)}
	if s.Collected != ByPartner {
		for _, f := range s.Fees {
			p.Borne += s.Division.bears(f)
		}
	}
	return p
}

// Figures is the content of a posting that reports add up.
type Figures struct {
	ID        int64
	PartnerID int64
	Kind      Kind
	Tier      int
	Gross     int64
	Currency  string
	Parts     Parts
	Fees      []Sum // taken by the provider
	Collected Collector
	At        time.Time
	SoldAt    time.Time // zero: it is about no sale
}

// StablePostings returns an id up to which all postings are committed; running transactions write only
// later ones.
func StablePostings(ctx context.Context, db *sqldb.DB) (int64, error) {
	id, err := db.StableRows(ctx, "ledger_postings")
	if err != nil {
		return 0, fmt.Errorf("read up to which id postings are stable: %w", err)
	}
	return id, nil
}

// FiguresAfter returns at most limit postings of all partners after an id and up to another, in the
// order of their ids.
func FiguresAfter(ctx context.Context, r sqldb.Reader, after, upTo int64, limit int) ([]Figures, error) {
	list, err := sqldb.All(ctx, r, scanFigures, `SELECT p.id, p.partner_id, p.kind, p.tier, p.gross, p.currency,
			p.share, p.borne, p.undivided, CASE WHEN p.kind = $4 THEN p.lines ELSE '' END,
			coalesce(s.collected, ''), p.at, coalesce(s.sold_at, 0)
		FROM (SELECT id, partner_id, purchase_id, kind, tier, gross, currency, share, borne, undivided, lines, at
			FROM ledger_postings WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) AS p
		LEFT JOIN ledger_sales AS s ON s.purchase_id = p.purchase_id ORDER BY p.id`,
		after, upTo, limit, string(FeeTaken))
	if err != nil {
		return nil, fmt.Errorf("read the figures of postings: %w", err)
	}
	return list, nil
}

func scanFigures(r *sqldb.Row, f *Figures) error {
	var text string
	err := r.Scan(&f.ID, &f.PartnerID, (*string)(&f.Kind), &f.Tier, &f.Gross, &f.Currency, &f.Parts.Share,
		&f.Parts.Borne, &f.Parts.Undivided, &text, (*string)(&f.Collected), &f.At, &f.SoldAt)
	if err != nil || text == "" {
		return err
	}
	var lines []Balance
	if err := json.Unmarshal([]byte(text), &lines); err != nil {
		return fmt.Errorf("read the lines of posting %d: %w", f.ID, err)
	}
	for _, l := range lines {
		if l.Account == Provider {
			f.Fees = append(f.Fees, Sum{l.Currency, -l.Amount})
		}
	}
	return nil
}
