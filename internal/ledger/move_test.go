package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// move changes the moment from which sales count.
func (b *books) move(from time.Time) (changed bool, err error) {
	err = b.db.Write(b.t.Context(), func(tx *sqldb.Tx) error {
		_, changed, err = ledger.Move(b.t.Context(), tx, from, b.now)
		return err
	})
	return changed, err
}

// moveTo changes the moment, and settles all sales by it.
func (b *books) moveTo(from time.Time) {
	b.t.Helper()
	if _, err := b.move(from); err != nil {
		b.t.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = ledger.MoveOn(b.t.Context(), b.db, b.now); err != nil {
			b.t.Fatal(err)
		}
	}
}

// freeze is the first payout run.
func (b *books) freeze() error {
	return b.db.Write(b.t.Context(), func(tx *sqldb.Tx) error { return ledger.Freeze(b.t.Context(), tx, b.now) })
}

func (b *books) begin(at time.Time) {
	b.t.Helper()
	if err := ledger.Begin(b.t.Context(), b.db, at); err != nil {
		b.t.Fatal(err)
	}
}

// moneyBack refunds a part of a sale.
func (b *books) moneyBack(id, amount int64, at time.Time) {
	b.t.Helper()
	fact := ledger.Fact{Source: fmt.Sprint("re_", id, "_", at.Unix()), State: ledger.MoneyBack, Amount: amount, At: at}
	b.must(func(ctx context.Context, j *ledger.Journal) error { return j.Follow(ctx, id, []ledger.Fact{fact}) })
}

// TestMove: the moment from which sales count decides which sales are settled, and which refunds of them
// count. Moving back to a moment restores its balances.
func TestMove(t *testing.T) {
	b := newBooks(t)
	b.begin(noon)
	b.Defaults = ledger.Defaults{Set: true, ShareBP: 7000}
	for day := range int64(4) { // before the beginning
		b.must(func(ctx context.Context, j *ledger.Journal) error {
			j.Sell(dollars(day+1, 1000, noon.AddDate(0, 0, int(day)-10)))
			early := ledger.Fact{Source: "re_1", State: ledger.MoneyBack, Amount: 100, At: noon.AddDate(0, 0, -8)}
			return errors.Join(j.Follow(ctx, 1, []ledger.Fact{early}), j.Settle(ctx, noon, day+1))
		})
	}
	b.must(func(_ context.Context, j *ledger.Journal) error { j.Sell(dollars(5, 1000, noon)); return nil })
	b.now = noon.AddDate(0, 0, 20)
	b.moneyBack(1, 200, noon.AddDate(0, 0, 1))
	b.moneyBack(5, 300, noon.AddDate(0, 0, 2))
	if err := b.write(func(ctx context.Context, j *ledger.Journal) error { return j.MakePayable(ctx, 5) }); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		days int
		want map[string]int64
	}{
		{0, map[string]int64{"provider USD": 500, "payable USD": 140 - 490, "margin USD": -150}},
		{-30, map[string]int64{"provider USD": 4400, "share USD": -2590, "payable USD": -490, "margin USD": -1320}},
		{-9, map[string]int64{"provider USD": 3400, "share USD": -2100, "payable USD": 210 - 490, "margin USD": -1020}},
		{0, map[string]int64{"provider USD": 500, "payable USD": 140 - 490, "margin USD": -150}},
		{3, map[string]int64{}},
		{1, map[string]int64{"provider USD": -500, "payable USD": 350, "margin USD": 150}}, // a refund of this moment counts
		// The share of the last sale waits again until a payout may include it.
		{-9, map[string]int64{"provider USD": 3400, "share USD": -2590, "payable USD": 210, "margin USD": -1020}},
		{0, map[string]int64{"provider USD": 500, "share USD": -490, "payable USD": 140, "margin USD": -150}},
	} {
		b.moveTo(noon.AddDate(0, 0, step.days))
		b.want(step.want)
		postings := b.count(`SELECT count(*) FROM ledger_postings`)
		b.moveTo(noon.AddDate(0, 0, step.days))
		if n := b.count(`SELECT count(*) FROM ledger_postings`); n != postings {
			t.Errorf("the same moment again posts %d times", n-postings)
		}
	}
}

// TestMoveRandom compares the balances of random sales after each change of the moment with those of a
// ledger that began then.
func TestMoveRandom(t *testing.T) {
	b := newBooks(t)
	b.begin(noon)
	b.Defaults = ledger.Defaults{Set: true, ShareBP: 7000}
	random := rand.New(rand.NewPCG(3, 4))
	day := func() time.Time { return noon.AddDate(0, 0, random.IntN(60)-30) }
	type sale struct {
		ledger.Purchase
		back map[time.Time]int64 // links, or money
	}
	b.now = noon.AddDate(0, 0, 60)
	sales := map[int64]sale{}
	for id := int64(1); id <= 120; id++ {
		p := dollars(id, 1+random.Int64N(20_000), day())
		p.Collected = []ledger.Collector{ledger.ByProvider, ledger.ByMarketplace, ledger.ByPartner}[id%3]
		s := sale{p, map[time.Time]int64{}}
		b.must(func(ctx context.Context, j *ledger.Journal) error {
			j.Sell(p)
			return j.Settle(ctx, noon, id)
		})
		for n := range int64(3) {
			at := p.SoldAt.Add(time.Duration(n+1) * 50 * time.Hour)
			if p.Collected == ledger.ByProvider {
				s.back[at] = random.Int64N(p.Amount/3 + 1)
				b.moneyBack(id, s.back[at], at)
				continue
			}
			b.must(func(ctx context.Context, j *ledger.Journal) error {
				return j.Return(ctx, id, n+1, 3, fmt.Sprint(id, "_", n), at)
			})
			s.back[at] = p.Amount*(n+1)/3 - p.Amount*n/3
		}
		sales[id] = s
	}
	for range 12 {
		from := day()
		b.moveTo(from)
		b.check()
		for id, s := range sales {
			want := int64(-1)
			if s.SoldAt.Before(from) {
				want = 0
				for at, amount := range s.back {
					if at.Before(from) {
						want += amount
					}
				}
			}
			if got := b.count(fmt.Sprintf(`SELECT settled FROM ledger_sales WHERE purchase_id = %d`, id)); got != want {
				t.Errorf("from %v, sale %d of %v is settled with %d, want %d", from, id, s.SoldAt, got, want)
			}
		}
	}
}

// TestPartnerEarnsAll: the partner took the money of a sale and earns all of it. No balance changes, and
// the ledger still knows what buyers paid, and when it was refunded.
func TestPartnerEarnsAll(t *testing.T) {
	b := newBooks(t)
	b.Defaults = ledger.Defaults{Set: true, ShareBP: ledger.Whole}
	p := dollars(1, 1000, noon)
	p.Collected = ledger.ByPartner
	b.must(func(ctx context.Context, j *ledger.Journal) error {
		j.Sell(p)
		return j.Return(ctx, 1, 1, 4, "refund:1:1", noon)
	})
	b.want(map[string]int64{})
	if n := b.count(`SELECT sum(gross) FROM ledger_postings`); n != 750 {
		t.Errorf("buyers paid %d", n)
	}
}

// TestMoveRefused: the moment is in the past, after the year 2000, and final after the first payout run,
// which waits until all sales are settled by it.
func TestMoveRefused(t *testing.T) {
	b := newBooks(t)
	b.begin(noon)
	b.must(func(_ context.Context, j *ledger.Journal) error { j.Sell(dollars(1, 1000, noon)); return nil })
	refused := func(from time.Time, code, text string) {
		t.Helper()
		_, err := b.move(from)
		if f := fault.Of(err); f == nil || f.Code != code && f.Field != code || !strings.Contains(f.Text, text) {
			t.Errorf("from %v: %v", from, err)
		}
	}
	refused(b.now.Add(time.Microsecond), "from", "future")
	refused(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC), "from", "2000")
	refused(time.Time{}, "from", "2000")
	if changed, err := b.move(noon.Add(1)); changed || err != nil { // the API has microseconds
		t.Errorf("the same moment: %v, %v", changed, err)
	}
	if changed, err := b.move(b.now); !changed || err != nil {
		t.Fatalf("now: %v, %v", changed, err)
	}
	if f := fault.Of(b.freeze()); f == nil || f.Kind != fault.Conflict || f.Code != ledger.CodeMoving {
		t.Errorf("a payout run in between: %v", f)
	}
	if more, err := ledger.MoveOn(t.Context(), b.db, b.now.Add(59*time.Second)); more || err != nil {
		t.Errorf("sales of this moment may not have committed: %v, %v", more, err)
	}
	at := b.now
	b.now = b.now.Add(time.Minute)
	b.moveTo(at)
	for range 2 {
		if err := b.freeze(); err != nil {
			t.Fatal(err)
		}
		b.now = b.now.Add(time.Hour)
	}
	refused(noon.Add(-time.Hour), ledger.CodeFrozen, at.Add(time.Minute).Format(time.RFC3339))
	if changed, err := b.move(at); changed || err != nil {
		t.Errorf("the same moment: %v, %v", changed, err)
	}
	got, err := ledger.ReadBeginning(t.Context(), b.db)
	if err != nil || !got.From.Equal(at) || got.Moving() || !got.PaidAt.Equal(at.Add(time.Minute)) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMoveCutOff cuts off the change before each of its statements, and changes it again in the middle.
func TestMoveCutOff(t *testing.T) {
	var left atomic.Int64
	b := &books{t: t, now: noon, db: sqldbtest.OpenWith(t, sqldbtest.URL(t), sqldb.Options{Cut: func(string) error {
		if left.Add(-1) == 0 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}})}
	b.begin(noon)
	const sales = 1100 // three batches
	b.must(func(_ context.Context, j *ledger.Journal) error {
		for id := int64(1); id <= sales; id++ {
			j.Sell(dollars(id, 1000, noon))
		}
		return nil
	})
	b.now = noon.AddDate(0, 0, 1)
	want := map[bool]map[string]int64{
		true: {}, false: {"provider USD": sales * 1000, "undivided USD": -sales * 1000},
	}
	settled := false
	for n := int64(1); ; n += 1 + n/3 { // one statement per sale
		settled = !settled
		from, other := noon, noon.Add(time.Hour)
		if settled {
			from, other = other, from
		}
		b.moveTo(other)
		left.Store(n)
		_, err := b.move(from)
		for more := true; err == nil && more; {
			more, err = ledger.MoveOn(t.Context(), b.db, b.now)
		}
		if err != nil && !sqldb.IsUnavailable(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off before statement %d: %v", n, err)
		}
		done := left.Load() > 0
		left.Store(0)
		b.moveTo(from)
		b.want(want[settled])
		if done {
			if n < sales {
				t.Errorf("the change has %d statements", n)
			}
			return
		}
	}
}
