package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Table is a list of records, for the part "table". On a narrow screen it scrolls
// inside its own box, or is shown as cards, or as lines.
type Table struct {
	ID      string // of its box, unique on the page: a fragment may replace it
	Caption string
	Columns []Column
	Rows    []Row
	Cards   bool // on a narrow screen each record is a card with its cells below one another
	Lines   bool // on a narrow screen each record is two lines: three cells, then two; see Column.Wide

	count int // of the rows that row makes
	row   func(i int, r *Row)
}

// Fill gives the table so many rows after those of Rows, for long lists: each is made when
// it is written, in the memory of the one before it. row appends the cells to those of r.
func (t *Table) Fill(rows int, row func(i int, r *Row)) { t.count, t.row = rows, row }

// Len is how many rows there are.
func (t Table) Len() int { return len(t.Rows) + t.count }

// Class is what its element is called for the style sheet.
func (t Table) Class() string {
	switch {
	case t.Cards:
		return "data cards"
	case t.Lines:
		return "data lines"
	}
	return "data"
}

// Reshaped reports whether the table is none on a narrow screen: browsers drop its roles
// there, unless they are written down.
func (t Table) Reshaped() bool { return t.Cards || t.Lines }

// Column is the head of a column.
type Column struct {
	Label  string
	Number bool // its cells are numbers, aligned at their end
	Wrap   bool // its cells are sentences or long: they take several lines
	Wide   bool // its cells are left out where a record is two lines
	Named  bool // on a card its cells are named, as numbers always are: times, where there are several
}

// Class is what its cells are called for the style sheet.
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
	ID    string // unique on the page, "" for none; the link of its first cell is called ID-link
	Cells []Cell
}

// Cell is one value: a text, a time or a status.
type Cell struct {
	Text   string
	URL    string    // makes the text a link
	Status string    // shown as a badge
	At     time.Time // shown to the minute
	Exact  bool      // shows At to the second
	Code   bool      // the text is a key, a path or the like
	Note   string    // a second, quieter line
	Acts   *RowActs  // nil for none, as in nearly all cells of a long list
}

// RowActs are what can be done with a record.
type RowActs struct {
	Links []RowLink // after everything else in the cell
	Posts []RowPost // before them, at once
	Tick  *RowTick  // before everything else; nil for none
}

// Links are acts that have a page each.
func Links(links ...RowLink) *RowActs { return &RowActs{Links: links} }

// RowTick is a box to tick a record with, for a form that stands elsewhere on the page.
type RowTick struct {
	Name, Value string
	Form        string // the id of the form
	Of          string // names the record, for people who hear the box alone
}

// RowLink leads to a page about one record of a table. Label is the same in every row;
// Of names the record, for people who hear the link alone.
type RowLink struct{ Label, Of, URL string }

// RowPost is the form of an act on one record of a table.
type RowPost struct {
	Label, Of string // as in RowLink
	Action    string
	Hidden    []Param
}

// Pager leads to the neighbouring pages of a list, for the part "pager".
type Pager struct {
	Label   string // what is paged, such as "Pages of deliveries"
	Showing string // such as "51 to 100 of 1,204"; "" if it is not counted
	Prev    string // URLs, "" for none
	Next    string
}

// Filters narrow a list, for the part "filters": all of them are in the URL.
type Filters struct {
	Label  string // what is filtered, for people who do not see it
	URL    string // of the list without filters
	Active bool   // some filter is set: they can be cleared
	Fields []Field
	Hidden []Param // what stays as it is, such as the span of a page
	Fold   bool    // on a narrow screen they are folded, and only said
}

// Said says which filters are set.
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

// Results are what filters found, for the part "results": the table, or why it is empty,
// and where the search goes on.
type Results struct {
	Filters    Filters
	Table      Table
	Nothing    Empty     // without filters
	SearchedTo time.Time // the search ended there before the page was full; zero: it did not
	GoOn       string    // where it goes on
	Pager      Pager
}

// Empty reports whether nothing was found.
func (r Results) Empty() bool { return r.Table.Len() == 0 }

// Tabs lead to the parts of one subject, each at a URL of its own, for the part
// "tabs".
type Tabs struct {
	Label string // what they belong to, for people who do not see them
	Items []Tab
}

// Tab is one of them.
type Tab struct {
	Label   string
	URL     string
	Count   string // how much there is, "" to say nothing
	Current bool
}

// Timeline is what happened, for the part "timeline".
type Timeline struct {
	Label   string
	Entries []TimelineEntry
}

// TimelineEntry is one thing that happened.
type TimelineEntry struct {
	At     time.Time
	Title  string
	URL    string // makes the title a link
	Text   string
	Status string // chooses the colour of its mark and is shown as a badge
}

// Stat is one number with its name, for the part "stats", which takes a list.
type Stat struct {
	Label string
	Value string
	Note  string // such as "3 more than yesterday"
	URL   string // where the number is explained
	Tone  string // good, warn or bad; "" is neutral
}

// Code is a text to copy, such as a command, for the part "code".
type Code struct {
	Label string // what it is, such as "curl"
	Text  string
}
