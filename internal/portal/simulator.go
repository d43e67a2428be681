package portal

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/diagnose"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/scenario"
	"claviger/internal/simulator"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const (
	simulatorPath = "/simulator"
	runsPath      = simulatorPath + "/runs"
)

// simulatorView lists the scenarios with their last verdicts, and the newest runs.
type simulatorView struct {
	Form      ui.Form
	May       bool
	URL       string // the saved webhook URL, or ""
	SetupURL  string
	Action    string // URL that starts a run
	All       badge
	Scenarios []scenarioView
	Runs      ui.Table
	Max       int
	Window    string
	Curl      ui.Curl
}

// scenarioView is a scenario with its last verdict.
type scenarioView struct {
	Name, Title, About string
	Steps              int
	Last               badge
}

// badge is a dated verdict; the zero value means none.
type badge struct {
	Verdict diagnose.Verdict
	At      time.Time
	URL     string // of the run, if it still exists
}

func (h *Handler) simulator(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showSimulator(w, r, v, 0, ui.Form{})
}

func (h *Handler) showSimulator(w http.ResponseWriter, r *http.Request, v *Visit, status int, form ui.Form) error {
	prof, err := h.Profiles.Read(r.Context(), h.Profiles.DB, v.Partner.ID)
	if err != nil {
		return err
	}
	runs, err := h.Simulator.Runs(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	last, err := h.Simulator.Verdicts(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	known, err := h.runPeople(r, v, runs)
	if err != nil {
		return err
	}
	kept := map[int64]bool{}
	for _, run := range runs {
		kept[run.ID] = true
	}
	badgeOf := func(name string) badge {
		l, ok := last[name]
		b := badge{Verdict: l.Verdict, At: l.At}
		if ok && kept[l.RunID] {
			b.URL = v.Path(runsPath+"/%d", l.RunID)
		}
		return b
	}
	view := simulatorView{
		Form: form, May: v.Covers(partner.Developer), URL: prof.WebhookURL, SetupURL: v.Path(setupPath),
		Action: v.Path(runsPath),
		All:    badgeOf(simulator.All), Runs: runsTable(v, runs, known), Max: profile.MaxChecks,
		Window: area.Span(profile.CheckWindow),
		Curl:   h.call("Run every scenario by API", http.MethodPost, "/v2/scenarios/all/runs"),
	}
	for _, s := range scenario.All() {
		view.Scenarios = append(view.Scenarios, scenarioView{s.Name, s.Title, s.About, s.Steps(), badgeOf(s.Name)})
	}
	return h.render(w, r, v, "simulator", ui.View{Title: "Simulator", Status: status, Data: view})
}

// runsTable lists runs, newest first.
func runsTable(v *Visit, runs []simulator.Run, known knownPeople) ui.Table {
	t := ui.Table{ID: "runs", Caption: fmt.Sprintf("Newest runs; %d are kept", simulator.MaxRuns), Columns: []ui.Column{
		{Label: "Scenario"}, {Label: "Verdict"}, {Label: "Steps", Number: true}, {Label: "Started"}, {Label: "By"},
	}}
	for _, run := range runs {
		t.Rows = append(t.Rows, ui.Row{ID: "run-" + strconv.FormatInt(run.ID, 10), Cells: []ui.Cell{
			{Text: runTitle(run), URL: v.Path(runsPath+"/%d", run.ID)},
			{Status: runStatus(run)},
			{Text: fmt.Sprintf("%d of %d", run.Done, run.Steps)},
			{At: run.StartedAt},
			{Text: runBy(v, run, known)},
		}})
	}
	return t
}

// runTitle returns the title of a run.
func runTitle(run simulator.Run) string {
	if s, ok := scenario.ByName(run.Scenario); ok {
		return s.Title
	}
	if run.Scenario == simulator.Event {
		return "Test event"
	}
	return "Every scenario"
}

// runStatus returns the verdict of an ended run, otherwise its state.
func runStatus(run simulator.Run) string {
	if run.State == simulator.Ended {
		return string(run.Verdict)
	}
	return string(run.State)
}

// runPeople looks up the people who started runs.
func (h *Handler) runPeople(r *http.Request, v *Visit, runs []simulator.Run) (knownPeople, error) {
	var ids []int64
	for _, run := range runs {
		if run.By.Kind == audit.ByUser {
			ids = append(ids, run.By.ID)
		}
	}
	return h.peopleOf(r.Context(), v, ids)
}

// runBy describes the starter of a run without naming members.
func runBy(v *Visit, run simulator.Run, known knownPeople) string {
	switch {
	case run.By.Kind == audit.ByPartner:
		return "API key"
	case run.By.Kind == audit.ByUser && run.By.ID == v.User.ID:
		return "You"
	case known.members[run.By.ID] != "":
		return "A member"
	}
	return known.who(run.By)
}

// startRun starts a scenario, or all of them, and redirects to the run.
func (h *Handler) startRun(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	run, err := h.Simulator.Start(r.Context(), v.Actor(), v.Partner.ID, ui.FormText(r, "scenario"))
	if err != nil {
		var form ui.Form
		if status := refuseRun(w, &form, err); status != 0 {
			return h.showSimulator(w, r, v, status, form)
		}
		return err
	}
	ui.SeeOther(w, r, v.Path(runsPath+"/%d", run.ID))
	return nil
}

// refuseRun writes the reason of a refusal into a form and returns the status; 0 if the person
// cannot act on it.
func refuseRun(w http.ResponseWriter, form *ui.Form, err error) int {
	f := fault.Of(err)
	if f == nil || !form.Refuse(err) {
		return 0
	}
	if f.After > 0 {
		form.Problem += " Try again in " + ui.RetryAfter(w.Header(), f.After) + "."
	}
	return wire.Status(f.Kind)
}

// runView is a run with its steps.
type runView struct {
	simulator.Run
	Title   string
	Status  string
	Running bool
	Steps   []stepView
	Next    int // the step that is running
	Back    string
	Curl    ui.Curl
}

// stepView is a step of a run.
type stepView struct {
	diagnose.Result
	Number int
	First  string // the title of its scenario, if it begins one of several
	Took   string
	Texts  []ui.Code
}

// run shows a run. Its steps appear as they end.
func (h *Handler) run(r *http.Request, v *Visit) (area.Shown, error) {
	run, err := h.Simulator.Get(r.Context(), v.Partner.ID, id(r, "run"))
	if err != nil {
		return area.Shown{}, missing(err)
	}
	return area.Shown{
		Versions: h.Live.runs, Topic: run.ID, Page: "run",
		View: func(r *http.Request) (ui.View, string, error) {
			run, err := h.Simulator.Get(r.Context(), v.Partner.ID, run.ID)
			if err != nil {
				return ui.View{}, "", missing(err)
			}
			view := runView{
				Run: run, Title: runTitle(run), Status: runStatus(run), Running: run.State == simulator.Running,
				Next: len(run.Results) + 1,
				Back: v.Path(simulatorPath),
				Curl: h.call("Read this run by API", http.MethodGet, fmt.Sprintf("/v2/scenario-runs/%d", run.ID)),
			}
			for i, result := range run.Results {
				view.Steps = append(view.Steps, stepOf(run, i, result))
			}
			page := ui.View{Title: view.Title, Fragment: "run-now", Data: view}
			if view.Running {
				page.Refresh = 2
				return page, "", nil // only the end of a run is announced
			}
			return page, "The run is over: " + view.Status + ".", nil
		},
	}, nil
}

// stepOf converts a step.
func stepOf(run simulator.Run, i int, result diagnose.Result) stepView {
	s := stepView{Result: result, Number: i + 1}
	if result.Took > 0 {
		s.Took = result.Took.Round(time.Millisecond).String()
	}
	if i == 0 || run.Results[i-1].Scenario != result.Scenario {
		if known, ok := scenario.ByName(result.Scenario); ok && run.Scenario == simulator.All {
			s.First = known.Title
		}
	}
	for _, text := range result.Signed {
		s.Texts = append(s.Texts, ui.Code{Label: "Text signed for " + text.Header, Text: visible(text.Text)})
	}
	if result.Sent != "" {
		s.Texts = append([]ui.Code{{Label: "Sent", Text: visible(result.Sent)}}, s.Texts...)
	}
	if result.Answer != "" {
		s.Texts = append(s.Texts, ui.Code{Label: "Answered", Text: visible(result.Answer)})
	}
	return s
}
