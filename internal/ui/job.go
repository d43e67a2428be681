package ui

import (
	"strconv"
	"time"
)

// Job is the progress of a background job, for the part "job". The enclosing element replaces it
// while the job runs.
type Job struct {
	Status   string
	Stopped  string // reason for an early end; "": none
	Text     string // progress, such as "Sent 3 of 10 events."
	Percent  int64
	Waits    bool // not started, so there is nothing to measure
	Facts    []JobFact
	Controls []JobControl // actions the person may take
	Cancel   string       // page that asks whether to end it; "": not possible or not allowed
}

// JobFact is a fact about a job: a text, or a time followed by a text.
type JobFact struct {
	Label string
	At    time.Time
	Text  string
	URL   string // makes the text a link
}

// JobControl is the form of an action on a job.
type JobControl struct {
	Action string
	Button Button
}

// PercentDone returns the completed share. It is 100 only for a finished job, not for a stopped
// one.
func PercentDone(done, all int64, finished bool) int64 {
	switch {
	case finished:
		return 100
	case all <= 0:
		return 0
	}
	return min(100*done/all, 99)
}

// JobRow is a job in a list.
type JobRow struct {
	ID     int64
	Label  string // such as "Recovery 3"
	URL    string
	Note   string
	Status string
	Counts []int64   // of the counted columns
	By     string    // person who started or prepared it
	At     time.Time // time of that
}

// JobsTable lists jobs; what is the head of the first column, counted are those of the numbers.
func JobsTable(caption, what string, counted []string, list []JobRow) Table {
	t := Table{ID: "jobs", Caption: caption, Cards: true, Columns: []Column{{Label: what}, {Label: "State"}}}
	for _, label := range counted {
		t.Columns = append(t.Columns, Column{Label: label, Number: true})
	}
	t.Columns = append(t.Columns, Column{Label: "By"}, Column{Label: "When"})
	for _, j := range list {
		cells := []Cell{{Text: j.Label, URL: j.URL, Note: j.Note}, {Status: j.Status}}
		for _, n := range j.Counts {
			cells = append(cells, Cell{Text: Count(n)})
		}
		t.Rows = append(
			t.Rows,
			Row{ID: "job-" + strconv.FormatInt(j.ID, 10), Cells: append(cells, Cell{Text: j.By}, Cell{At: j.At})},
		)
	}
	return t
}
