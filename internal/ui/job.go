package ui

import (
	"strconv"
	"time"
)

// Job is how far something is that a node does in the background, for the part "job".
// Whatever has it around it replaces it while it goes on.
type Job struct {
	Status   string
	Stopped  string // why it ended before its time; "": it did not
	Text     string // how far it is, such as "Sent 3 of 10 events."
	Percent  int64
	Waits    bool // it is not begun, so there is nothing to measure
	Facts    []JobFact
	Controls []JobControl // what the person may do about it
	Cancel   string       // the page that asks whether it ends; "": it cannot, or they may not
}

// JobFact is something about a job: a text, or a time and a text after it.
type JobFact struct {
	Label string
	At    time.Time
	Text  string
	URL   string // makes the text a link
}

// JobControl is the form of an act on a job.
type JobControl struct {
	Action string
	Button Button
}

// PercentDone is how much of the whole is done: all of it only when the job is finished,
// and not when it was stopped.
func PercentDone(done, all int64, finished bool) int64 {
	switch {
	case finished:
		return 100
	case all <= 0:
		return 0
	}
	return min(100*done/all, 99)
}

// JobRow is a job in a list of them.
type JobRow struct {
	ID     int64
	Label  string // such as "Recovery 3"
	URL    string
	Note   string
	Status string
	Counts []int64   // of the columns that are counted
	By     string    // who began it, or prepared it
	At     time.Time // when they did
}

// JobsTable lists jobs. what is the head of the first column, counted those of the numbers.
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
		t.Rows = append(t.Rows, Row{ID: "job-" + strconv.FormatInt(j.ID, 10), Cells: append(cells, Cell{Text: j.By}, Cell{At: j.At})})
	}
	return t
}
