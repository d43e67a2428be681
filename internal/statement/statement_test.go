package statement_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/sqldb"
	"claviger/internal/statement"
)

// TestColumns: each kind of posting is in its column, and only the owed accounts count.
func TestColumns(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	a := h.sell(h.partner, 10_000, "USD")
	b := h.sell(h.partner, 10_000, "USD")
	c := h.sell(h.partner, 10_000, "USD")
	h.refund(h.partner, a, 1000)
	h.follow(h.partner, b, ledger.Fact{Source: "dp_1", State: ledger.UnderReview, Amount: 10_000})
	h.follow(h.partner, c, ledger.Fact{Source: "dp_2", State: ledger.UnderReview, Amount: 10_000})
	h.follow(h.partner, c, ledger.Fact{Source: "dp_2", State: ledger.NoMoney, Amount: 10_000})
	h.post(h.partner, func(ctx context.Context, j *ledger.Journal) error {
		err := j.TakeFee(ctx, a, ledger.Fee{
			Source: "txn_1", Amount: 300, Currency: "USD", Rate: ledger.Ratio{Num: 1, Den: 1}, At: h.at,
		})
		if err != nil {
			return err
		}
		return j.MakePayable(ctx, a)
	})
	h.adjust(h.partner, 500, "USD")
	settled := h.sell(h.partner, 10_000, "USD")
	h.post(h.partner, func(ctx context.Context, j *ledger.Journal) error {
		return j.Settle(ctx, h.at.AddDate(1, 0, 0), settled)
	})
	h.payOut(h.partner, 4000, "USD")
	h.to(2026, 2, 2)
	h.close()
	got := h.list(h.partner)
	want := []statement.Statement{{
		PartnerID: h.partner, Number: 1, Currency: "USD", Month: statement.MonthOf(h.at, time.UTC) - 1,
		BeginsAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), EndsAt: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		Sums: statement.Sums{
			Sales: 28_000, Settled: -7000, Refunds: -700, Disputes: -7000, Fees: -300, Adjustments: 500, Payouts: -4000,
		},
		Closing: 9500, CreatedAt: h.at,
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(statement.Statement{}, "First", "Last")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestLateFact: a fact that commits after the closing is in the open month, whatever its time, and the
// closed statement stays as it is.
func TestLateFact(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	a := h.sell(h.partner, 10_000, "USD")
	january := h.at
	h.to(2026, 2, 1)
	h.close()
	before := h.list(h.partner)
	h.follow(h.partner, a, ledger.Fact{State: ledger.MoneyBack, Amount: 1000, At: january})
	h.at = january.Add(time.Hour) // the clock of the node is slow
	h.refund(h.partner, a, 2000)
	h.to(2026, 3, 1)
	h.close()
	list := h.list(h.partner)
	if diff := cmp.Diff(before, list[:1]); diff != "" {
		t.Errorf("a closed statement changed\n%s", diff)
	}
	if len(list) != 2 || list[1].Refunds != -2100 || list[1].Month.String() != "2026-02" {
		t.Errorf("%+v", list)
	}
	if lines := h.lines(list[0], 100); len(lines) != 1 || lines[0].Amount != 7000 {
		t.Errorf("%+v", lines)
	}
	if lines := h.lines(list[1], 1); len(lines) != 2 || lines[0].Kind != ledger.Refunded {
		t.Errorf("%+v", lines)
	}
}

// TestTurnOfMonth: a posting belongs to the month that the posting before it began, also if its node's
// clock is slow.
func TestTurnOfMonth(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.at = time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	h.sell(h.partner, 1000, "USD")
	h.at = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	h.sell(h.partner, 2000, "USD")
	h.at = time.Date(2026, 1, 31, 23, 59, 59, 5, time.UTC)
	h.sell(h.partner, 4000, "USD")
	h.at = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).Add(statement.Wait - 1)
	h.close()
	if list := h.list(h.partner); len(list) != 0 {
		t.Errorf("closed too early: %+v", list)
	}
	h.at = h.at.Add(1)
	h.close()
	h.to(2026, 3, 2)
	h.close()
	list := h.list(h.partner)
	if len(list) != 2 || list[0].Sales != 700 || list[1].Sales != 1400+2800 {
		t.Errorf("%+v", list)
	}
}

// TestTimeZone: a sale at 23:59 UTC on the last day belongs to the next month in Tokyo. If the setting
// changes, each month begins when the last one ended.
func TestTimeZone(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	h.store.Zone = tokyo
	h.at = time.Date(2026, 1, 31, 14, 59, 0, 0, time.UTC)
	h.sell(h.partner, 1000, "USD")
	h.at = time.Date(2026, 1, 31, 23, 59, 0, 0, time.UTC)
	h.sell(h.partner, 2000, "USD")
	h.to(2026, 2, 3)
	h.close()
	h.store.Zone = time.UTC
	h.to(2026, 3, 3)
	h.close()
	h.store.Zone = tokyo
	h.to(2026, 4, 3)
	h.close()
	var got []string
	for _, s := range h.list(h.partner) {
		got = append(got, fmt.Sprintf("%s %d from %s to %s", s.Month, s.Sales, s.BeginsAt.Format(time.DateTime),
			s.EndsAt.Format(time.DateTime)))
	}
	want := []string{
		"2026-01 700 from 2025-12-31 15:00:00 to 2026-01-31 15:00:00",
		"2026-02 1400 from 2026-01-31 15:00:00 to 2026-03-01 00:00:00",
		"2026-03 0 from 2026-03-01 00:00:00 to 2026-03-31 15:00:00",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTwelveMonths: when the clock jumps, each month gets its statement per currency, in order, and each
// contact one email about all of them.
func TestTwelveMonths(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	for _, name := range []string{"ann", "ben"} {
		if _, err := h.profile.AddContact(t.Context(), tester, h.partner, name, name+"@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	a := h.sell(h.partner, 10_000, "USD")
	h.sell(h.partner, 900, "EUR")
	h.to(2026, 3, 1)
	h.refund(h.partner, a, 10_000) // all currencies but EUR are 0 from now on
	h.to(2027, 1, 2)
	h.close()
	list := h.list(h.partner)
	if len(list) != 12+3 || list[14].Month.String() != "2026-12" || list[14].Closing != 630 {
		t.Errorf("%d statements, the last one %+v", len(list), list[len(list)-1])
	}
	if n := h.count(`SELECT count(*) FROM mails`); n != 2 {
		t.Errorf("%d emails", n)
	}
	subject, err := sqldb.One(t.Context(), h.db, sqldb.Value[string], `SELECT subject FROM mails ORDER BY id LIMIT 1`)
	if err != nil || !strings.Contains(subject, "statements up to December 2026") {
		t.Error(subject, err)
	}
	h.close()
	h.to(2027, 1, 20)
	h.close()
	if n := len(h.list(h.partner)); n != 15 {
		t.Errorf("%d statements after further runs", n)
	}
}

// TestIsolation: a number is one of the partner.
func TestIsolation(t *testing.T) {
	h := newHarness(t, sqldb.Options{})
	h.sell(h.partner, 10_000, "USD")
	h.to(2026, 3, 3)
	h.sell(h.other, 500, "USD")
	h.to(2026, 4, 3)
	h.close()
	if n := len(h.list(h.partner)); n != 3 {
		t.Errorf("%d statements", n)
	}
	mine, err := h.store.Get(t.Context(), h.other, 1)
	if err != nil || mine.Closing != 350 || len(h.lines(mine, 10)) != 1 {
		t.Errorf("%+v %v", mine, err)
	}
	if _, err := h.store.Get(t.Context(), h.other, 2); !fault.Is(err, statement.CodeUnknown) {
		t.Errorf("the statement of another partner: %v", err)
	}
}

// lines reads all lines of a statement, page by page, and checks their sum.
func (h *harness) lines(s statement.Statement, limit int) (all []statement.Line) {
	h.Helper()
	sum := s.Opening
	for after := int64(0); ; {
		list, next, err := h.store.Lines(h.Context(), s, after, limit)
		if err != nil {
			h.Fatal(err)
		}
		for _, l := range list {
			sum += l.Amount
		}
		all = append(all, list...)
		after = next
		if after == 0 {
			break
		}
	}
	if sum != s.Closing {
		h.Errorf("the lines sum to %d: %+v", sum, s)
	}
	return all
}
