// Package revenue adds up the postings of the ledger per partner, plan, currency and day: paid and
// returned money, fees, and the partners' shares. It owns the tables revenue_sums and revenue_cursor.
// Days are days in UTC.
//
// Nothing is added up in the transaction of a sale. A job reads postings in the order of their ids, a
// batch at a time. It moves a cursor in the transaction that adds to the sums, so that each posting
// counts exactly once. Reads add the postings after the cursor, up to a limit: right after an upgrade
// the sums lag behind until the job has caught up, and say so.
package revenue

import (
	"time"

	"claviger/internal/ledger"
	"claviger/internal/sqldb"
)

// Store reads the sums, and counts them. DB and Now must be set.
type Store struct {
	DB  *sqldb.DB
	Now func() time.Time
}

// Sums are the sums of one currency, in its smallest unit.
type Sums struct {
	Sales     int64 // their number
	Revenue   int64 // paid by buyers
	Direct    int64 // of Revenue less Refunds: collected by partners themselves
	Refunds   int64 // returned to buyers, by refunds and by lost disputes
	Fees      int64 // taken by the provider, in the currency of the settlement
	Borne     int64 // fees that partners bear, in the currency of the sale
	Share     int64 // of partners, less refunds and before fees
	Undivided int64 // of partners without terms
}

// Net returns the money that is left.
func (s Sums) Net() int64 { return s.Revenue - s.Refunds - s.Fees }

// Earned returns what partners earn.
func (s Sums) Earned() int64 { return s.Share - s.Borne }

// Kept returns what the marketplace keeps.
func (s Sums) Kept() int64 { return s.Net() - s.Earned() - s.Undivided }

// own returns the sums as a partner may see them: fees that it does not bear are not its business.
func (s Sums) own() Sums {
	s.Fees = 0
	return s
}

// Plus adds other sums.
func (s *Sums) Plus(o Sums) {
	s.Sales += o.Sales
	s.Revenue += o.Revenue
	s.Direct += o.Direct
	s.Refunds += o.Refunds
	s.Fees += o.Fees
	s.Borne += o.Borne
	s.Share += o.Share
	s.Undivided += o.Undivided
}

// key identifies a row of the table.
type key struct {
	partnerID, days, day int64
	tier                 int
	currency             string
}

// everyone is the partner of the rows with the sums of all partners. Their tier is 0, too.
const everyone = 0

// tally collects sums for the table.
type tally map[key]*Sums

// block is the number of days of the rows that make long spans cheap.
const block = 8

// add adds to the row of a plan, to that of its block, and to that of all partners.
func (t tally) add(k key, s Sums) {
	if s == (Sums{}) {
		return
	}
	for _, k := range [...]key{
		{k.partnerID, 1, k.day, k.tier, k.currency},
		{k.partnerID, block, k.day - k.day%block, k.tier, k.currency},
		{everyone, 1, k.day, 0, k.currency},
	} {
		if t[k] == nil {
			t[k] = new(Sums)
		}
		t[k].Plus(s)
	}
}

// posting adds a posting to the day of its fact. The division of earlier sales counts on the day of the
// sale, and so does the money that is not divided yet: days without sales have none.
func (t tally) posting(f ledger.Figures) {
	k := key{f.PartnerID, 1, dayOf(f.At), f.Tier, f.Currency}
	sums := Sums{Share: f.Parts.Share, Borne: f.Parts.Borne}
	if f.Kind == ledger.Sold {
		sums.Sales = 1
		sums.Revenue = f.Gross
	} else {
		sums.Refunds = -f.Gross
	}
	if f.Collected == ledger.ByPartner {
		sums.Direct = f.Gross
	}
	sold := k
	if !f.SoldAt.IsZero() {
		sold.day = dayOf(f.SoldAt)
	}
	if f.Kind == ledger.WasDivided {
		k = sold
	}
	t.add(k, sums)
	t.add(sold, Sums{Undivided: f.Parts.Undivided})
	if f.Kind != ledger.FeeTaken {
		return
	}
	for _, fee := range f.Fees {
		k.currency = fee.Currency
		t.add(k, Sums{Fees: fee.Amount})
	}
}

// dayOf returns the day of a time in UTC, counted from 1970.
func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

func timeOfDay(day int64) time.Time { return time.Unix(day*86400, 0).UTC() }

// Between returns the first and the last of the days that begin at a time or later, and before another.
func Between(from, to time.Time) (first, last time.Time) {
	begin := func(t time.Time) int64 { return dayOf(t.Add(day - time.Nanosecond)) }
	return timeOfDay(begin(from)), timeOfDay(begin(to) - 1)
}

const day = 24 * time.Hour
