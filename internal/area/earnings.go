package area

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/statement"
	"claviger/internal/ui"
)

// EarningsPath is the page with the earnings of a partner, below those of the partner.
const EarningsPath = "/earnings"

// Numbers of rows per page.
const (
	salesPerPage      = 25
	statementsPerPage = 6
)

// earningsView is the page with the earnings of a partner.
type earningsView struct {
	Heading    string
	Tabs       *ui.Tabs
	Balances   ui.Table
	Month      ui.Table // the open month
	Statements ui.Table
	StatePager ui.Pager
	Sales      ui.Table
	SalePager  ui.Pager
	Call       ui.Curl
}

// Earnings returns the rows of a partner's earnings and statements.
func (p *PartnerPages) Earnings() []Route {
	s := p.subject(EarningsPath)
	s.add(Page, "", p.earnings)
	n := p.subject(statementsPath)
	n.add(Page, "/{statement}", p.statement)
	n.rows = append(n.rows, Route{
		Kind: Act, Path: n.path + "/{statement}", Needs: n.Rule(Act, false), Serve: n.sendStatement,
	})
	return append(s.rows, n.rows...)
}

// before reads a position in a list; 0: the first page.
func before(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// pager returns the links to the neighbouring pages of a list.
func pager(r *http.Request, label, name string, next int64) ui.Pager {
	p := ui.Pager{Label: label}
	if before(r, name) > 0 {
		p.Prev = WithParam(r, name, "")
	}
	if next > 0 {
		p.Next = WithParam(r, name, strconv.FormatInt(next, 10))
	}
	return p
}

// earnings shows what a partner has earned.
func (p *PartnerPages) earnings(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
	ctx := r.Context()
	id := v.Partner.ID
	balances, err := p.Statements.Balances(ctx, id)
	if err != nil {
		return err
	}
	month, err := p.Statements.Running(ctx, id)
	if err != nil {
		return err
	}
	list, nextList, err := p.Statements.List(ctx, id, before(r, "statement"), statementsPerPage)
	if err != nil {
		return err
	}
	sales, nextSale, err := p.Statements.Sales(ctx, id, before(r, "sale"), salesPerPage)
	if err != nil {
		return err
	}
	plans, err := p.planNames(r, id)
	if err != nil {
		return err
	}
	view := earningsView{
		Heading: v.heading("Earnings"), Tabs: v.tabs(),
		Balances: balancesTable(balances), Month: monthTable(month),
		Statements: statementsTable(v, list), StatePager: pager(r, "Pages of statements", "statement", nextList),
		Sales: salesTable(sales, plans), SalePager: pager(r, "Pages of sales", "sale", nextSale),
		Call: v.call("The same by API", http.MethodGet, v.either("/earnings", "/balances")),
	}
	return v.render(w, r, "earnings", ui.View{Title: view.Heading, Data: view})
}

// planNames returns the names of a partner's plans, by tier.
func (p *PartnerPages) planNames(r *http.Request, partnerID int64) (map[int]string, error) {
	plans, err := p.Partners.Plans(r.Context(), partnerID)
	names := make(map[int]string, len(plans))
	for _, plan := range plans {
		names[plan.Tier] = plan.DisplayName()
	}
	return names, err
}

func balancesTable(list []statement.Balance) ui.Table {
	t := ui.Table{
		ID: "balances", Caption: "Balance", Cards: true,
		Columns: []ui.Column{
			{Label: "Currency"},
			{Label: "Pending", Number: true},
			{Label: "Disputed", Number: true},
			{Label: "Payable", Number: true},
			{Label: "In payout", Number: true},
			{Label: "Paid", Number: true},
			{Label: "Next payout", Number: true},
		},
	}
	for _, b := range list {
		amount := func(n int64) ui.Cell { return ui.Cell{Text: money.Text(n, b.Currency)} }
		t.Rows = append(t.Rows, ui.Row{ID: "balance-" + b.Currency, Cells: []ui.Cell{
			{Text: b.Currency},
			amount(b.Pending), amount(b.Disputed), amount(b.Payable), amount(b.InPayout),
			amount(b.Paid),
			{Text: money.Text(b.Next, b.Currency), Note: payoutNote(b)},
		}})
	}
	return t
}

// payoutNote says in short why a payout would pay nothing.
func payoutNote(b statement.Balance) string {
	switch b.Reason {
	case statement.NoTerms:
		return "no terms yet"
	case statement.Negative:
		return "carried over: negative"
	case statement.NothingDue:
		return "nothing payable yet"
	case statement.BelowSmallest:
		return "carried over: below " + money.Text(b.Smallest, b.Currency)
	case statement.Pays:
	}
	return ""
}

// monthTable shows the open month: a row per reason, and a column per currency.
func monthTable(list []statement.Statement) ui.Table {
	t := ui.Table{ID: "month", Columns: []ui.Column{{Label: "Reason"}}}
	for i, s := range list {
		t.Caption = s.Month.Name() + " so far"
		t.Columns = append(t.Columns, ui.Column{Label: s.Currency, Number: true})
		for j, l := range sums(s, "Opening balance", "Balance now") {
			if i == 0 {
				t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("month-%d", j), Cells: []ui.Cell{{Text: l.label}}})
			}
			t.Rows[j].Cells = append(t.Rows[j].Cells, ui.Cell{Text: money.Text(l.amount, s.Currency)})
		}
	}
	settled := slices.ContainsFunc(list, func(s statement.Statement) bool { return s.Settled != 0 })
	if len(list) > 0 && !settled {
		t.Rows = slices.Delete(t.Rows, settledSum, settledSum+1)
	}
	return t
}

func statementsTable(v *PartnerVisit, list []statement.Statement) ui.Table {
	t := ui.Table{
		ID: "statements", Caption: "Statements", Cards: true,
		Columns: []ui.Column{
			{Label: "Statement"},
			{Label: "Month"},
			{Label: "Opening balance", Number: true},
			{Label: "Closing balance", Number: true},
		},
	}
	for _, s := range list {
		number := strconv.FormatInt(s.Number, 10)
		t.Rows = append(t.Rows, ui.Row{ID: "statement-" + number, Cells: []ui.Cell{
			{Text: "Statement " + number, URL: v.Base + statementsPath + "/" + number},
			{Text: s.Month.Name()},
			{Text: money.Text(s.Opening, s.Currency)},
			{Text: money.Text(s.Closing, s.Currency)},
		}})
	}
	return t
}

// salesTable lists sales. The share and the fee have columns only if they differ from the earned amount
// somewhere: for most partners the marketplace bears the fees.
func salesTable(list []ledger.Earned, plans map[int]string) ui.Table {
	split := slices.ContainsFunc(list, func(e ledger.Earned) bool { return e.FeeUnknown || e.Net != e.Share })
	t := ui.Table{
		ID: "sales", Caption: "Sales, newest first", Cards: true,
		Columns: []ui.Column{{Label: "Purchase"}, {Label: "State"}, {Label: "Plan"}, {Label: "Price", Number: true}},
	}
	if split {
		t.Columns = append(t.Columns, ui.Column{Label: "Share", Number: true}, ui.Column{Label: "Fee", Number: true})
	}
	t.Columns = append(t.Columns, ui.Column{Label: "Earned", Number: true},
		ui.Column{Label: "Sold", Named: true}, ui.Column{Label: "Payable", Named: true})
	for _, e := range list {
		cells := []ui.Cell{
			{Text: fmt.Sprintf("Purchase %d", e.PurchaseID)},
			{Status: string(e.Standing)},
			{Text: cmp.Or(plans[e.Tier], fmt.Sprintf("Tier %d", e.Tier))},
			priceCell(e),
		}
		if split {
			cells = append(cells, ui.Cell{Text: money.Text(e.Share, e.Currency)}, feeCell(e))
		}
		cells = append(
			cells, ui.Cell{Text: money.Text(e.Net, e.Currency)}, ui.Cell{At: e.SoldAt}, ui.Cell{At: e.PayableAt},
		)
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("sale-%d", e.PurchaseID), Cells: cells})
	}
	return t
}

func priceCell(e ledger.Earned) ui.Cell {
	c := ui.Cell{Text: money.Text(e.Price, e.Currency)}
	if e.Returned > 0 && e.Returned < e.Price {
		c.Note = money.Text(e.Returned, e.Currency) + " refunded"
	}
	return c
}

func feeCell(e ledger.Earned) ui.Cell {
	if e.FeeUnknown {
		return ui.Cell{Text: "not known yet"}
	}
	return ui.Cell{Text: money.Text(e.Fee, e.Currency)}
}
