package statement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// state is the row of a partner in statement_months.
type state struct {
	Month   Month // the last closed one; 0: none
	EndedAt time.Time
	Last    int64 // id of the last posting in it
}

func readState(ctx context.Context, r sqldb.Reader, partnerID int64) (state, error) {
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, s *state) error {
		return r.Scan((*int)(&s.Month), &s.EndedAt, &s.Last)
	}, `SELECT month, ended_at, last_posting FROM statement_months WHERE partner_id = $1`, partnerID)
	if err != nil {
		return state{}, fmt.Errorf("read the closed months of partner %d: %w", partnerID, err)
	}
	if len(list) == 0 {
		return state{}, nil
	}
	return list[0], nil
}

func (s state) save(tx *sqldb.Tx, partnerID int64) {
	tx.Queue(`INSERT INTO statement_months (partner_id, month, ended_at, last_posting) VALUES ($1, $2, $3, $4)
		ON CONFLICT (partner_id) DO UPDATE
		SET month = excluded.month, ended_at = excluded.ended_at, last_posting = excluded.last_posting`,
		partnerID, int(s.Month), s.EndedAt, s.Last)
}

// fold adds up the postings of a partner after the last closed month, in the order of their ids.
type fold struct {
	zone      *time.Location
	partnerID int64
	from      state // where it began
	month     Month // that it adds up; 0: there is no posting
	begins    time.Time
	first     int64            // id of the first possible posting of the month
	last      int64            // id of the last posting that was added
	opening   map[string]int64 // of the month, by currency
	sums      map[string]Sums  // of currencies whose balance changed in it
	ended     []ended
}

// ended is a month that is over, with the statements that it needs.
type ended struct {
	state
	statements []Statement
}

// newFold returns a fold that begins after the last closed month of a partner.
func newFold(ctx context.Context, r sqldb.Reader, partnerID int64, zone *time.Location) (*fold, error) {
	from, err := readState(ctx, r, partnerID)
	if err != nil {
		return nil, err
	}
	last, err := sqldb.All(ctx, r, scan, `SELECT `+columns+` FROM statements
		WHERE partner_id = $1 AND month = $2 AND closing <> 0`, partnerID, int(from.Month))
	if err != nil {
		return nil, fmt.Errorf("read the last statements of partner %d: %w", partnerID, err)
	}
	f := &fold{
		zone: zone, partnerID: partnerID, from: from, begins: from.EndedAt, first: from.Last + 1, last: from.Last,
		opening: map[string]int64{}, sums: map[string]Sums{},
	}
	if from.Month > 0 {
		f.month = from.Month + 1
	}
	for _, s := range last {
		f.opening[s.Currency] = s.Closing
	}
	return f, nil
}

// clone returns a copy that changes on its own.
func (f *fold) clone() *fold {
	c := *f
	c.opening = maps.Clone(f.opening)
	c.sums = maps.Clone(f.sums)
	c.ended = slices.Clone(f.ended)
	return &c
}

// read adds the postings after the last one.
func (f *fold) read(ctx context.Context, r sqldb.Reader) error {
	return ledger.EachPosting(ctx, r, f.partnerID, f.last, f.add)
}

// add adds a posting. The first one of a later month ends the month, and those after it belong to the
// later month, whatever the clocks of their nodes said.
func (f *fold) add(p ledger.Posting) {
	month := MonthOf(p.CreatedAt, f.zone)
	if f.month == 0 {
		f.month = month
		f.begins = month.Begin(f.zone)
	}
	f.endBefore(month)
	f.last = p.ID
	for currency, change := range p.Owed() {
		s := f.sums[currency]
		s.add(p.Kind, change)
		f.sums[currency] = s
	}
}

// endBefore ends all months before one.
func (f *fold) endBefore(month Month) {
	for f.month != 0 && f.month < month {
		f.end()
	}
}

// end ends the month, and begins the next one.
func (f *fold) end() {
	now := f.current()
	e := ended{
		state:      state{Month: f.month, EndedAt: (f.month + 1).Begin(f.zone), Last: f.last},
		statements: now,
	}
	f.ended = append(f.ended, e)
	f.month++
	f.begins = e.EndedAt
	f.first = f.last + 1
	f.opening = map[string]int64{}
	f.sums = map[string]Sums{}
	for _, s := range now {
		if s.Closing != 0 {
			f.opening[s.Currency] = s.Closing
		}
	}
}

// current returns the month as statements: of currencies with a balance that is not 0 or that changed.
func (f *fold) current() []Statement {
	currencies := slices.AppendSeq(slices.Collect(maps.Keys(f.opening)), maps.Keys(f.sums))
	slices.Sort(currencies)
	var list []Statement
	for _, currency := range slices.Compact(currencies) {
		s := Statement{
			PartnerID: f.partnerID, Currency: currency, Month: f.month,
			BeginsAt: f.begins, EndsAt: (f.month + 1).Begin(f.zone), First: f.first, Last: f.last,
			Opening: f.opening[currency], Sums: f.sums[currency],
		}
		s.Closing = s.Opening + s.Total()
		list = append(list, s)
	}
	return list
}
