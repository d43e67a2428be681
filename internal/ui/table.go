package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Table is a list of records, for the part "table". On a narrow screen it scrolls inside its own
// box, or is shown as cards or lines.
type Table struct {
	ID      string // of its box, unique on the page: a fragment may replace it
	Caption string
	Columns []Column
	Rows    []Row
	Cards   bool // on a narrow screen each record is a card with stacked cells
	Lines   bool // on a narrow screen each record is two lines: three cells, then two; see Column.Wide

	count int // number of rows made by row
	row   func(i int, r *Row)
}

// Fill adds rows after those of Rows, for long lists. Each is made while it is written, in the
// memory of the previous one. row appends its cells to r.
func (t *Table) Fill(rows int, row func(i int, r *Row)) {
	t.count = rows
	t.row = row
}

// Len returns the number of rows.
func (t Table) Len() int { return len(t.Rows) + t.count }

// Class returns the CSS classes of the table.
func (t Table) Class() string {
	switch {
	case t.Cards:
		return "data cards"
	case t.Lines:
		return "data lines"
	}
	return "data"
}

// Reshaped reports whether a narrow screen shows something other than a table. Browsers then drop
// the roles unless they are explicit.
func (t Table) Reshaped() bool { return t.Cards || t.Lines }

// Column is the head of a column.
type Column struct {
	Label  string
	Number bool // its cells are right-aligned numbers
	Wrap   bool // its cells are sentences or long text, which may wrap
	Wide   bool // omitted if a record is shown as two lines
	Named  bool // on a card its cells have labels, as numbers always do; for several times
}

// Class returns the CSS classes of the cells.
func (c Column) Class() string {
	switch {
	case c.Number && c.Wide:
		return "number wide-only"
	case c.Number:
		return "number"
	case c.Wrap:
		return "wrap"
	case c.Wide:
		return "wide-only"
	}
	return ""
}

// Row is one record. Its first cell names it.
type Row struct {
	ID    string // unique on the page, "" for none; the link of the first cell has the id ID-link
	Cells []Cell
}

// Cell is one value: a text, a time or a status.
type Cell struct {
	Text   string
	URL    string    // makes the text a link
	Status string    // shown as a badge
	At     time.Time // shown to the minute
	Exact  bool      // shows At to the second
	Code   bool      // the text is a key, a path or similar
	Note   string    // a second, quieter line
	Acts   *RowActs  // nil in nearly all cells of a long list
}

// RowActs are the actions on a record.
type RowActs struct {
	Links []RowLink // after the rest of the cell
	Posts []RowPost // before Links; they act immediately
	Tick  *RowTick  // before the rest of the cell; nil for none
}

// Links returns actions with their own pages.
func Links(links ...RowLink) *RowActs { return &RowActs{Links: links} }

// RowTick is a checkbox of a record, for a form elsewhere on the page.
type RowTick struct {
	Name, Value string
	Form        string // the id of the form
	Of          string // names the record for screen readers
}

// RowLink leads to a page about one record of a table. Label is the same in every row; Of names the
// record for screen readers.
type RowLink struct{ Label, Of, URL string }

// RowPost is the form of an action on one record of a table.
type RowPost struct {
	Label, Of string // as in RowLink
	Action    string
	Hidden    []Param
}

// Pager leads to the neighbouring pages of a list, for the part "pager".
type Pager struct {
	Label   string // names the list, such as "Pages of deliveries"
	Showing string // such as "51 to 100 of 1,204"; "" if not counted
	Prev    string // URLs, "" for none
	Next    string
}

// Filters narrow a list, for the part "filters". All of them are in the URL.
type Filters struct {
	Label  string // names the list for screen readers
	URL    string // of the list without filters
	Active bool   // some filter is set and can be cleared
	Fields []Field
	Hidden []Param // unchanged parameters, such as the period of a page
	Fold   bool    // on a narrow screen, fold them and show a summary
}

// Said describes the active filters.
func (f Filters) Said() string {
	var list []string
	for _, field := range f.Fields {
		value := cmp.Or(field.Said, field.Value)
		for _, o := range field.Options {
			if o.Value == field.Value {
				value = o.Label
			}
		}
		if field.Value != "" {
			list = append(list, field.Label+": "+value)
		}
	}
	return strings.Join(list, ", ")
}

// Failed reports whether one of the fields has an error.
func (f Filters) Failed() bool {
	return slices.ContainsFunc(f.Fields, func(field Field) bool { return field.Error != "" })
}

// Results are the result of a filtered list, for the part "results": the table, or the reason that
// it is empty, and a link that continues the search.
type Results struct {
	Filters    Filters
	Table      Table
	Nothing    Empty     // without filters
	SearchedTo time.Time // end of a search that stopped before the page was full; zero: complete
	GoOn       string    // URL that continues the search
	Pager      Pager
}

// Empty reports whether nothing was found.
func (r Results) Empty() bool { return r.Table.Len() == 0 }

// Tabs lead to the parts of one subject, each at its own URL, for the part "tabs".
type Tabs struct {
	Label string // names the subject for screen readers
	Items []Tab
}

// Tab is one tab.
type Tab struct {
	Label   string
	URL     string
	Count   string // number of entries, "" for none
	Current bool
}

// Timeline is a list of past events, for the part "timeline".
type Timeline struct {
	Label   string
	Entries []TimelineEntry
}

// TimelineEntry is one event.
type TimelineEntry struct {
	At     time.Time
	Title  string
	URL    string // makes the title a link
	Text   string
	Status string // colour of the mark, and badge
}

// Stat is one number with its name, for the part "stats", which takes a list.
type Stat struct {
	Label string
	Value string
	Note  string // such as "3 more than yesterday"
	URL   string // explains the number
	Tone  string // good, warn or bad; "" is neutral
}

// Code is a text to copy, such as a command, for the part "code".
type Code struct {
	Label string // such as "curl"
	Text  string
}
