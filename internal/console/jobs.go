package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/job"
	"claviger/internal/oauth"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
)

// System serves the pages about the service itself.
type System struct {
	section
	DB       *sqldb.DB
	Accounts *account.Store
	Keys     *oauth.Keys
	Audit    *audit.Log
	Jobs     []Job     // all of them
	Settings []Setting // in force
	Version  string    // of the program, with its build
}

// Job describes a background job.
type Job struct{ Name, What string }

func (s *System) table() []Route {
	return slices.Concat(
		act(rotateKeysPath, account.Admin, s.rotate),
		act(revokeKeyPath, account.Admin, s.revokeKey),
		act(newTokenPath, account.Admin, s.newToken),
		act(revokeTokenPath, account.Admin, s.revoke),
		[]Route{
			row(Page, jobsPath, account.Read, s.jobs),
			row(Page, nodesPath, account.Read, s.nodes),
			row(Page, auditPath, account.Read, s.audit),
			row(Page, settingsPath, account.Read, s.settings),
			row(Page, keysPath, account.Read, s.keys),
			row(Page, tokensPath, account.Admin, s.tokens),
		})
}

// jobs lists the background jobs with their last run.
func (s *System) jobs(w http.ResponseWriter, r *http.Request, v *Visit) error {
	runs, err := job.Runs(r.Context(), s.DB)
	if err != nil {
		return err
	}
	last := make(map[string]job.Run, len(runs))
	for _, run := range runs {
		last[run.Job] = run
	}
	t := ui.Table{
		ID: "jobs", Caption: "Background jobs", Cards: true,
		Columns: []ui.Column{
			{Label: "Job"},
			{Label: "State"},
			{Label: "Last run", Named: true},
			{Label: "Took", Number: true},
			{Label: "Next run", Named: true},
			{Label: "Last success", Named: true},
			{Label: "Node"},
			{Label: "Error", Wrap: true},
		},
	}
	now := s.Now()
	for _, j := range s.Jobs {
		t.Rows = append(t.Rows, jobRow(j, last[j.Name], now))
	}
	view := recordsView{
		Heading: "Jobs", Lead: "What the service does by itself, each on one node at a time. Runs that end as the " +
			"one before are noted once a minute.",
		Results: ui.Results{Table: t}, Curl: s.call("The same by API", http.MethodGet, "/operator/v1/jobs"),
	}
	return s.render(w, r, v, "records", ui.View{Title: "Jobs", Data: view})
}

// jobRow returns the row of a job with its last run.
func jobRow(j Job, run job.Run, now time.Time) ui.Row {
	name := ui.Cell{Text: j.Name, Note: j.What}
	if run.Job == "" {
		return ui.Row{
			ID: "job-" + strings.ReplaceAll(j.Name, " ", "-"),
			Cells: []ui.Cell{
				name,
				{Status: "waiting"},
				{Text: "not yet"},
				{Text: "–"},
				{Text: "–"},
				{Text: "–"},
				{Text: "–"},
				{Text: "–"},
			},
		}
	}
	state := "ok"
	next := ui.Cell{At: run.NextAt}
	switch {
	case run.Failed():
		state = "failed"
	case run.Late(now):
		state = "late"
	}
	switch {
	case run.NextAt.IsZero():
		next = ui.Cell{Text: "when the service starts"}
	case !run.Late(now) && !run.NextAt.After(now):
		next = ui.Cell{Text: "at any moment"}
	}
	succeeded := ui.Cell{At: run.SucceededAt}
	if run.SucceededAt.IsZero() {
		succeeded = ui.Cell{Text: "never"}
	}
	failure := ui.Cell{Text: "–"}
	if run.Error != "" {
		failure = ui.Cell{Text: sentence(run.Error)}
	}
	return ui.Row{ID: "job-" + strings.ReplaceAll(j.Name, " ", "-"), Cells: []ui.Cell{
		name,
		{Status: state},
		{At: run.BeganAt, Exact: true},
		{Text: area.Duration(true, run.Took)},
		next, succeeded,
		{Text: run.Node, Code: true},
		failure,
	}}
}
