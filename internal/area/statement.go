package area

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/export"
	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/statement"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// statementsPath is the prefix of statements, below the pages of the partner.
const statementsPath = "/statements"

// linesPerPage is the number of lines of a statement per page.
const linesPerPage = 100

// statementView is the page of a statement.
type statementView struct {
	Back     string
	Number   int64
	Partner  string
	Month    string
	Currency string
	Begins   time.Time
	Ends     time.Time
	Created  time.Time
	Sums     ui.Table
	Lines    ui.Table
	Pager    ui.Pager
	Download string // target of the form
	Call     ui.Curl
}

// sum is a line of the summary of a statement.
type sum struct {
	label  string
	amount int64
}

// settledSum is the position of what was settled elsewhere. It is left out if there is nothing.
const settledSum = 2

// sums returns the summary of a statement.
func sums(s statement.Statement, opening, closing string) []sum {
	return []sum{
		{opening, s.Opening},
		{"Sales", s.Sales},
		{"Settled elsewhere", s.Settled},
		{"Refunds", s.Refunds},
		{"Disputes", s.Disputes},
		{"Fees", s.Fees},
		{"Adjustments", s.Adjustments},
		{"Payouts", s.Payouts},
		{closing, s.Closing},
	}
}

// pathStatement reads the statement in the path.
func (p *PartnerPages) pathStatement(r *http.Request, v *PartnerVisit) (statement.Statement, error) {
	s, err := p.Statements.Get(r.Context(), v.Partner.ID, ID(r, "statement"))
	return s, Missing(err)
}

// statement shows a statement, also for paper.
func (p *PartnerPages) statement(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
	s, err := p.pathStatement(r, v)
	if err != nil {
		return err
	}
	lines, next, err := p.Statements.Lines(r.Context(), s, before(r, "after"), linesPerPage)
	if err != nil {
		return err
	}
	plans, err := p.planNames(r, v.Partner.ID)
	if err != nil {
		return err
	}
	number := strconv.FormatInt(s.Number, 10)
	view := statementView{
		Back: v.Base + EarningsPath, Number: s.Number, Partner: v.Partner.Name, Month: s.Month.Name(),
		Currency: s.Currency, Begins: s.BeginsAt, Ends: s.EndsAt, Created: s.CreatedAt,
		Sums: sumsTable(s), Lines: linesTable(s, lines, plans),
		Pager:    pager(r, "Pages of lines", "after", next),
		Download: v.Base + statementsPath + "/" + number,
		Call:     v.call("The same by API", http.MethodGet, statementsPath+"/"+number),
	}
	return v.render(w, r, "statement", ui.View{Title: v.heading("Statement " + number), Data: view})
}

func sumsTable(s statement.Statement) ui.Table {
	t := ui.Table{
		ID: "sums", Caption: "Summary",
		Columns: []ui.Column{{Label: "Reason"}, {Label: "Amount", Number: true}},
	}
	for i, l := range sums(s, "Opening balance", "Closing balance") {
		if i == settledSum && l.amount == 0 {
			continue
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("sum-%d", i), Cells: []ui.Cell{
			{Text: l.label}, {Text: money.Text(l.amount, s.Currency)},
		}})
	}
	return t
}

// lineWords are the kinds of lines as people read them.
var lineWords = map[ledger.Kind]string{
	ledger.Sold:          "Sale",
	ledger.FeeTaken:      "Fee",
	ledger.Refunded:      "Refund",
	ledger.RefundFailed:  "Refund failed",
	ledger.DisputeOpened: "Dispute opened",
	ledger.DisputeWon:    "Dispute won",
	ledger.DisputeLost:   "Dispute lost",
	ledger.WasDivided:    "Sale before the first terms",
	ledger.WasSettled:    "Settled elsewhere",
	ledger.NotSettled:    "Not settled elsewhere",
	ledger.Adjustment:    "Adjustment",
	ledger.PayoutPaid:    "Payout",
}

func linesTable(s statement.Statement, list []statement.Line, plans map[int]string) ui.Table {
	t := ui.Table{
		ID: "lines", Caption: "Changes, oldest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Posted"},
			{Label: "Change"},
			{Label: "Purchase", Named: true},
			{Label: "Plan"},
			{Label: "Amount", Number: true},
		},
	}
	for _, l := range list {
		what := ui.Cell{Text: lineWords[l.Kind], Note: l.Reason}
		if what.Text == "" {
			what.Text = string(l.Kind)
		}
		purchase, plan := "", ""
		if l.PurchaseID != 0 {
			purchase = strconv.FormatInt(l.PurchaseID, 10)
			plan = plans[l.Tier]
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("line-%d", l.ID), Cells: []ui.Cell{
			{At: l.PostedAt}, what, {Text: purchase}, {Text: plan}, {Text: money.Text(l.Amount, s.Currency)},
		}})
	}
	return t
}

// sendStatement answers with a statement as a CSV file. It checks the person's access before each batch.
func (s *subject) sendStatement(w http.ResponseWriter, r *http.Request, visit Visit) error {
	v, err := s.about(r, visit)
	if err != nil {
		return err
	}
	of, err := s.pathStatement(r, v)
	if err != nil {
		return err
	}
	job := export.Job{
		Table: s.Exports.Statement(of), Format: export.CSV, By: visit.Actor(),
		Check: func(ctx context.Context) error { return visit.Common().Area.Recheck(ctx, r, visit) },
	}
	file := wire.File{
		Name:        fmt.Sprintf("statement-%d-%s-%s.csv", of.Number, of.Month, of.Currency),
		ContentType: export.CSV.ContentType(),
	}
	return wire.SendFile(w, r, file, func(ctx context.Context, to io.Writer) error {
		return s.Exports.Run(ctx, to, job)
	})
}
