package console

import (
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/batch"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/plural"
	"claviger/internal/ui"
)

// errIncompleteForm refuses a form without the fields that its page included.
func errIncompleteForm() error {
	return fault.New(
		fault.Invalid,
		area.CodeIncompleteForm,
		"The form was not sent whole. Go back, reload the page and send it again.",
	)
}

// list shows the bulk acts, newest first.
func (b *Bulk) list(w http.ResponseWriter, r *http.Request, v *Visit) error {
	jobs, err := b.Jobs.List(r.Context(), before(r), perPage+1)
	if err != nil {
		return err
	}
	next := int64(0)
	if len(jobs) > perPage {
		jobs = jobs[:perPage]
		next = jobs[perPage-1].ID
	}
	var people []int64
	for _, j := range jobs {
		if j.By.Kind == audit.ByUser {
			people = append(people, j.By.ID)
		}
	}
	names, err := b.Site.Accounts.Names(r.Context(), people)
	if err != nil {
		return err
	}
	rows := make([]ui.JobRow, len(jobs))
	for i, j := range jobs {
		by := j.By.Name
		if j.By.Kind == audit.ByUser {
			by = names[j.By.ID]
		}
		rows[i] = ui.JobRow{
			ID:     j.ID,
			Label:  fmt.Sprintf("%d: %s", j.ID, wordsOf[j.Act].of(j.Kind).title),
			URL:    v.Path("%s/%d", bulkPath, j.ID),
			Note:   j.Selected,
			Status: string(j.Status()),
			Counts: []int64{j.Total, j.Succeeded, j.Refused, j.Failed, j.Skipped},
			By:     by,
			At:     j.CreatedAt,
		}
		if !j.StartedAt.IsZero() {
			rows[i].At = j.StartedAt
		}
	}
	return b.showList(w, r, v, listView{
		Heading: "Bulk acts", Lead: "Acts on many rows at once, newest first. They begin at a list: filter it, then " +
			"choose what to do with all that it shows.",
		Results: ui.Results{
			Table: ui.JobsTable(
				"Bulk acts, newest first", "Act", []string{"Rows", "Done", "Refused", "Failed", "Skipped"}, rows,
			),
			Pager: pager(r, "Pages of bulk acts", next),
			Nothing: ui.Empty{
				Title: "No bulk acts yet",
				Text: "Filter the licenses, purchases, deliveries or partners, and choose what to do with all of " +
					"them.",
			},
		},
		Curl: b.call("The same by API", http.MethodGet, "/operator/v1/bulk"),
	})
}

// bulkJobView is the page of a job.
type bulkJobView struct {
	ID      int64
	Title   string
	Says    string
	Job     ui.Job
	Effects []bulk.Effect
	Planned string         // the heading above the effects
	Confirm *ui.JobControl // nil: there is nothing to confirm, or the person may not
	Back    string         // the page that cancels
	Why     string         // the reason it cannot be confirmed
	Seen    ui.Param       // hidden field of the confirmation
	Tabs    ui.Tabs
	Table   ui.Table
	Pager   ui.Pager
	Curl    ui.Curl
	bulkChoices
}

// bulkChoices are the controls that leave rows out and put them back.
type bulkChoices struct {
	Choose     []ui.Button // none: there is nothing to choose, or the person may not
	ChooseAt   string
	ChooseForm string // the id of the form
	ChooseCall *ui.Curl
}

// job shows the plan, progress or result of a job.
func (b *Bulk) job(r *http.Request, v *Visit) (area.Shown, error) {
	job, err := b.Jobs.Get(r.Context(), area.ID(r, "bulk"))
	if err != nil {
		return area.Shown{}, area.Missing(err)
	}
	return area.Shown{
		Versions: b.Live, Topic: job.ID, Page: "bulk-job",
		View: func(r *http.Request) (ui.View, string, error) { return b.jobView(r, v, job.ID) },
	}, nil
}

// jobView reads a job with a page of its rows, and returns its status in words.
func (b *Bulk) jobView(r *http.Request, v *Visit, id int64) (ui.View, string, error) {
	job, err := b.Jobs.Get(r.Context(), id)
	if err != nil {
		return ui.View{}, "", area.Missing(err)
	}
	by, err := b.personOf(r, job.By)
	if err != nil {
		return ui.View{}, "", err
	}
	w := wordsOf[job.Act].of(job.Kind)
	view := bulkJobView{
		ID: id, Title: w.title, Says: w.says, Job: progressOf(job, by), Planned: plannedOf(job),
		Curl: b.call("See how far it is by API", http.MethodGet, fmt.Sprintf("/operator/v1/bulk/%d", id)),
	}
	if view.Effects, err = b.Jobs.Effects(r.Context(), id); err != nil {
		return ui.View{}, "", err
	}
	b.controls(v, job, w, &view)
	if err := b.rows(r, v, job, &view); err != nil {
		return ui.View{}, "", err
	}
	page := ui.View{Title: fmt.Sprintf("Bulk act %d", id), Fragment: "bulk-now", Data: view}
	if s := job.Status(); s == bulk.Checking || s == batch.Running {
		page.Refresh = 5
	}
	return page, "It is " + view.Job.Status, nil
}

// plannedOf returns the heading above the effects of a job.
func plannedOf(j bulk.Job) string {
	switch {
	case !j.StartedAt.IsZero():
		return "What was confirmed"
	case j.Open():
		return "What will happen"
	}
	return "What would have happened"
}

// progressOf describes the progress of a job.
func progressOf(j bulk.Job, by string) ui.Job {
	done := j.Succeeded + j.Refused + j.Failed
	out := ui.Job{
		Status:  string(j.Status()),
		Stopped: j.Stopped,
		Percent: ui.PercentDone(done, done+j.Left(), j.Status() == batch.Done),
	}
	switch {
	case j.Status() == bulk.Checking:
		out.Text = fmt.Sprintf("Looked at %s of %s.", ui.Count(j.Checked), plural.Of(j.Total, "row"))
		out.Percent = ui.PercentDone(j.Checked, j.Total, false)
	case j.StartedAt.IsZero() && !j.Open():
		out.Waits = true
		out.Text = "Nobody confirmed it, so nothing was done."
	case j.StartedAt.IsZero():
		out.Waits = true
		out.Text = fmt.Sprintf(
			"Of %s, %s can be done and %s will be skipped.",
			plural.Of(j.Total, "row"), ui.Count(j.Left()), ui.Count(j.Skipped),
		)
	default:
		failed := ""
		if j.Failed > 0 {
			failed = ui.Count(j.Failed) + " failed, "
		}
		out.Text = fmt.Sprintf(
			"Done %s of %s, %s refused, %s%s skipped.",
			ui.Count(j.Succeeded), plural.Of(j.Total-j.Skipped, "row"), ui.Count(j.Refused), failed,
			ui.Count(j.Skipped),
		)
	}
	out.Facts = []ui.JobFact{{Label: "Chosen", Text: j.Selected}}
	if j.Reason != "" {
		out.Facts = append(out.Facts, ui.JobFact{Label: "Reason", Text: j.Reason})
	}
	if j.StartedAt.IsZero() {
		out.Facts = append(out.Facts, ui.JobFact{Label: "Prepared", At: j.CreatedAt, Text: "by " + by})
		return out
	}
	out.Facts = append(out.Facts, ui.JobFact{Label: "Begun", At: j.StartedAt, Text: "by " + by})
	if !j.Open() {
		out.Facts = append(out.Facts, ui.JobFact{Label: "Ended", At: j.FinishedAt})
	}
	return out
}

// controls adds the acts that the person may do on a job.
func (b *Bulk) controls(v *Visit, j bulk.Job, w bulkWords, view *bulkJobView) {
	at := v.Path("%s/%s/%d", bulkPath, j.Act, j.ID)
	switch s := j.Status(); {
	case !j.Open():
		return
	case !v.May(j.Act.Scope()):
		if s == bulk.Prepared {
			view.Why = fmt.Sprintf("To confirm it takes a role with the scope %s.", j.Act.Scope())
		}
		return
	case s == bulk.Prepared && j.Left() == 0:
		view.Why = "There is nothing to do: each row says why."
	case s == bulk.Prepared:
		kind := "primary"
		if w.danger {
			kind = "danger"
		}
		view.Confirm = &ui.JobControl{Action: at, Button: ui.Button{
			Label: fmt.Sprintf(w.verb, plural.Of(j.Left(), w.thing)),
			Busy:  "Beginning…",
			Kind:  kind,
			Name:  "do",
			Value: "start",
		}}
		view.Back = at + "/cancel"
		view.Seen = seenJob(j).Param()
		return
	case s == batch.Running:
		view.Job.Controls = []ui.JobControl{{
			Action: at,
			Button: ui.Button{Label: "Pause", Busy: "Pausing…", Kind: "secondary", Name: "do", Value: "pause"},
		}}
	case s == batch.Paused:
		view.Job.Controls = []ui.JobControl{
			{Action: at, Button: ui.Button{Label: "Resume", Busy: "Resuming…", Name: "do", Value: "resume"}},
		}
	}
	view.Job.Cancel = at + "/cancel"
}

// rows adds a page of the rows: all, or those with a given result.
func (b *Bulk) rows(r *http.Request, v *Visit, j bulk.Job, view *bulkJobView) error {
	q := r.URL.Query()
	only, narrow, err := bulk.ParseResult(q.Get("result"))
	if err != nil {
		only = 0
		narrow = false // an unknown result means all
	}
	after, err := strconv.ParseInt(q.Get("after"), 10, 64)
	if err != nil || after < 0 {
		after = 0 // anything but a number means the first page
	}
	rows, err := b.Jobs.Rows(r.Context(), j.ID, after, only, narrow, perPage+1)
	if err != nil {
		return err
	}
	at := v.Path("%s/%d", bulkPath, j.ID)
	view.Tabs = ui.Tabs{
		Label: "Rows",
		Items: []ui.Tab{{Label: "All", URL: at, Count: ui.Count(j.Total), Current: !narrow}},
	}
	for _, t := range []struct {
		label  string
		result bulk.Result
		n      int64
	}{
		{"To do", bulk.Open, j.Left()},
		{"Done", bulk.Succeeded, j.Succeeded},
		{"Refused", bulk.Refused, j.Refused},
		{"Failed", bulk.Failed, j.Failed},
		{"Skipped", bulk.Skipped, j.Skipped},
	} {
		view.Tabs.Items = append(view.Tabs.Items, ui.Tab{
			Label: t.label, URL: at + "?result=" + t.result.String(), Count: ui.Count(t.n),
			Current: narrow && only == t.result,
		})
	}
	view.Pager.Label = "Pages of rows"
	if len(rows) > perPage {
		rows = rows[:perPage]
		view.Pager.Next = at + withQuery(q, "after", strconv.FormatInt(rows[perPage-1].Position, 10))
	}
	if after > 0 {
		view.Pager.Prev = at + withQuery(q, "after", "")
		view.Pager.Showing = "Later ones"
	}
	names, err := b.Site.Partners.Names(r.Context(), ids(rows, func(row *bulk.Row) int64 { return row.PartnerID }))
	if err != nil {
		return err
	}
	view.Table = b.rowsTable(v, j, rows, names)
	b.choices(r, v, j, rows, view)
	return nil
}

func (b *Bulk) rowsTable(v *Visit, j bulk.Job, rows []bulk.Row, names map[int64]string) ui.Table {
	t := ui.Table{ID: "rows", Caption: "Rows, oldest first", Cards: true, Columns: []ui.Column{
		{Label: "Row", Wrap: true},
		{Label: "Application"},
		{Label: "Was"},
		{Label: "Result"},
		{Label: "What happens, or why not", Wrap: true},
		{Label: "When"},
	}}
	for _, row := range rows {
		first := ui.Cell{Text: row.Subject}
		switch j.Kind {
		case bulk.Licenses:
			first = ui.Cell{Text: row.Subject, Code: true, URL: v.Path(licensesPath+"/%s", row.Subject)}
		case bulk.Purchases:
			first = ui.Cell{Text: "Purchase " + row.Subject, URL: v.Path(purchasesPath+"/%d", row.ID)}
		case bulk.Refunds:
			first = ui.Cell{Text: "Refund " + row.Subject, URL: v.Path(refundsPath+"/%d", row.ID)}
		case bulk.Events:
			first = ui.Cell{Text: "Event " + row.Subject, URL: v.Path(deliveriesPath+"/%d", row.ID)}
		case bulk.Partners:
			first.URL = b.partnerURL(v, row.ID)
		}
		says := row.Message
		if says == "" {
			says = row.Will
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("row-%d", row.Position), Cells: []ui.Cell{
			first,
			{Text: names[row.PartnerID]},
			{Text: row.Was},
			{Status: resultWords[row.Result]},
			{Text: says},
			{At: row.DoneAt},
		}})
	}
	return t
}

// resultWords are the badges of the results.
var resultWords = map[bulk.Result]string{
	bulk.Open: "to do", bulk.Succeeded: "done", bulk.Refused: "refused", bulk.Skipped: "skipped", bulk.Failed: "failed",
}

// personOf returns the name of an actor; for a person, the current one.
func (s *Shell) personOf(r *http.Request, by audit.Actor) (string, error) {
	if by.Kind != audit.ByUser {
		return by.Name, nil
	}
	names, err := s.Site.Accounts.Names(r.Context(), []int64{by.ID})
	return names[by.ID], err
}
