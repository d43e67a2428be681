package area

import (
	"fmt"
	"slices"

	"claviger/internal/money"
	"claviger/internal/revenue"
	"claviger/internal/ui"
)

// Revenue lays out tables of money.
type Revenue struct {
	Own       bool // for a partner: its earnings instead of those of the marketplace
	Undivided bool // with a column for sales that are not divided
}

// divided reports whether all sums are divided.
func divided(s ...revenue.Sums) bool {
	return !slices.ContainsFunc(s, func(s revenue.Sums) bool { return s.Undivided != 0 })
}

// Table returns a table without rows.
func (t Revenue) Table(id, caption, first string) ui.Table {
	names := []string{"Sales", "Revenue", "Refunds", "Fees", "Net", "Partners earn", "Marketplace keeps"}
	if t.Own {
		names = []string{"Sales", "Revenue", "Refunds", "Fees you bear", "You earn"}
	}
	if t.Undivided {
		names = append(names, "Not divided yet")
	}
	table := ui.Table{ID: id, Caption: caption, Cards: true, Columns: []ui.Column{{Label: first, Wrap: true}}}
	for _, name := range names {
		table.Columns = append(table.Columns, ui.Column{Label: name, Number: true})
	}
	return table
}

// Row returns a row of such a table. The sums of the period before, if there are any, are its second
// lines.
func (t Revenue) Row(first ui.Cell, currency string, now revenue.Sums, before *revenue.Sums) ui.Row {
	row := ui.Row{Cells: []ui.Cell{first}}
	for _, text := range t.texts(now, currency) {
		row.Cells = append(row.Cells, ui.Cell{Text: text})
	}
	if before != nil {
		for i, text := range t.texts(*before, currency) {
			row.Cells[i+1].Note = text
		}
	}
	return row
}

// texts formats sums in the order of the columns.
func (t Revenue) texts(s revenue.Sums, currency string) []string {
	amounts := []int64{s.Revenue, s.Refunds, s.Fees, s.Net(), s.Earned(), s.Kept()}
	if t.Own {
		amounts = []int64{s.Revenue, s.Refunds, s.Borne, s.Earned()}
	}
	if t.Undivided {
		amounts = append(amounts, s.Undivided)
	}
	texts := []string{ui.Count(s.Sales)}
	for _, n := range amounts {
		texts = append(texts, money.Text(n, currency))
	}
	return texts
}

// periodNames name the periods, and those before.
var periodNames = map[revenue.Period][2]string{
	revenue.Today:     {"Today", "Yesterday"},
	revenue.ThisWeek:  {"This week", "Last week"},
	revenue.ThisMonth: {"This month", "Last month"},
}

// RevenueView is the money of today, this week and this month, for the part "revenue".
type RevenueView struct {
	Table  ui.Table
	Notes  []string
	Export string // page with the file
}

// RecentRevenue returns the money of today, this week and this month, each with the period before.
func RecentRevenue(report revenue.RecentReport, own bool, export string) RevenueView {
	layout := Revenue{Own: own}
	for _, r := range report.List {
		for _, of := range r.Of {
			layout.Undivided = layout.Undivided || !divided(of.Now, of.Before)
		}
	}
	view := RevenueView{
		Table: layout.Table("revenue-recent", "Revenue of today, this week and this month", "Period"), Export: export,
	}
	for _, r := range report.List {
		for _, p := range revenue.Periods {
			first := ui.Cell{Text: periodNames[p][0], Note: periodNames[p][1]}
			if len(report.List) > 1 {
				first.Text += ", " + r.Currency
			}
			row := layout.Row(first, r.Currency, r.Of[p].Now, &r.Of[p].Before)
			row.ID = fmt.Sprintf("revenue-%s-%d", r.Currency, p)
			view.Table.Rows = append(view.Table.Rows, row)
		}
		view.Notes = layout.direct(view.Notes, r.Of[revenue.ThisMonth].Now.Direct, r.Currency)
	}
	if !report.CountedTo.IsZero() {
		view.Notes = append(view.Notes, "Older sales are still being counted, so these figures are not complete yet.")
	}
	return view
}

// direct adds a note about money that partners collected.
func (t Revenue) direct(notes []string, amount int64, currency string) []string {
	format := "Partners collected %s of this month's revenue."
	if t.Own {
		format = "You collected %s of this month's revenue yourself."
	}
	if amount == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf(format, money.Text(amount, currency)))
}
