package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Kinds lists the kinds of postings.
func Kinds() []Kind {
	return []Kind{
		Sold, FeeTaken, Refunded, RefundFailed, DisputeOpened, DisputeWon, DisputeLost, BecamePayable, WasDivided,
		WasSettled, NotSettled, Adjustment, PayoutReserved, PayoutPaid, PayoutReleased,
	}
}

// ParseKind parses the kind of a filter; "" is every kind.
func ParseKind(s string) (Kind, error) {
	if s == "" || slices.Contains(Kinds(), Kind(s)) {
		return Kind(s), nil
	}
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return "", fault.Parameter("kind", "must be one of %s.", strings.Join(names, ", "))
}

// Find selects postings. The zero value selects all.
type Find struct {
	PartnerID int64
	Kind      Kind
	From, To  time.Time // when it was posted: From inclusive, To exclusive; zero: no bound
}

// Found is one page of postings, newest first.
type Found struct {
	Postings []Posting
	Next     int64 // the id before which the next page begins; 0: there is none

	// SearchedTo is set if the search stopped before the page was full: the time reached. Next
	// continues from there.
	SearchedTo time.Time
}

// FindPostings returns a page of postings, newest first, before an id; 0 starts with the newest. It
// costs the same at any depth.
func FindPostings(ctx context.Context, db *sqldb.DB, f Find, before int64, limit int) (Found, error) {
	var found Found
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		low, high, err := sqldb.IDsBetween(ctx, tx, "ledger_postings", f.From, f.To)
		if err != nil {
			return err
		}
		w := paging.Chunks[Posting]{High: high, Limit: limit, Fits: f.fits, At: func(p Posting) int64 { return p.ID }}
		if before > 0 {
			w.High = min(high, before-1)
		}
		w.Read = func(high int64, n int) ([]Posting, error) {
			if f.PartnerID == 0 {
				return sqldb.All(ctx, tx, scanPosting, `SELECT `+postingColumns+` FROM ledger_postings
					WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT $3`, low, high, n)
			}
			return sqldb.All(ctx, tx, scanPosting, `SELECT `+postingColumns+` FROM ledger_postings
				WHERE `+ofPartner(db, "id", ">=", "$2")+` AND `+ofPartner(db, "id", "<=", "$3")+`
				ORDER BY partner_id DESC, id DESC LIMIT $4`, f.PartnerID, low, high, n)
		}
		rows, next, stopped, err := w.Page()
		if err != nil {
			return err
		}
		found = Found{Postings: rows, Next: next}
		if stopped {
			found.SearchedTo = w.Last.CreatedAt
		}
		return nil
	})
	if err != nil {
		return Found{}, fmt.Errorf("find postings: %w", err)
	}
	return found, nil
}

// fits checks the conditions that no index serves.
func (f Find) fits(p Posting) bool {
	return (f.Kind == "" || p.Kind == f.Kind) && !p.CreatedAt.Before(f.From) &&
		(f.To.IsZero() || p.CreatedAt.Before(f.To))
}

// BySource returns the posting of a kind about a fact.
func BySource(ctx context.Context, r sqldb.Reader, kind Kind, source string) (Posting, error) {
	p, err := sqldb.One(ctx, r, scanPosting, `SELECT `+postingColumns+` FROM ledger_postings
		WHERE source = $1 AND kind = $2`, source, string(kind))
	if err != nil {
		return p, fmt.Errorf("find the posting %s: %w", source, err)
	}
	return p, nil
}
