package area

import (
	"strings"
	"time"

	"claviger/internal/profile"
	"claviger/internal/ui"
)

// URLCheck is the check of a URL with its progress. The template url-check shows it.
type URLCheck struct {
	ID      string // of its element
	URL     string
	State   string
	Running bool
	Problem string
	At      time.Time
	Steps   []checkStep
}

// checkStep is one step of its transcript.
type checkStep struct {
	Title  string
	State  string // ok, warning, failed or waiting
	Text   string
	Likely []string
	Parts  []ui.Code // request, signature and response
}

// newURLCheck returns the last check of a URL, without a state if there was none.
func newURLCheck(runs map[profile.Field]profile.Run, field profile.Field) URLCheck {
	run, ok := runs[field]
	if !ok {
		return URLCheck{ID: "check-" + sectionOf(field)}
	}
	c := URLCheck{
		ID: "check-" + sectionOf(field), URL: run.URL, State: string(run.State), Running: run.State == profile.Running,
		Problem: run.Problem, At: run.StartedAt,
	}
	for i, s := range run.Steps {
		c.Steps = append(c.Steps, checkStepOf(s, c.Running && i == len(run.Steps)-1 && s.Answer == ""))
	}
	return c
}

func checkStepOf(s profile.Check, waiting bool) checkStep {
	step := checkStep{Title: s.Step, State: "failed", Text: s.Text, Likely: s.Likely}
	switch {
	case waiting:
		step.State = "waiting"
	case s.Warning:
		step.State = "warning"
	case s.OK:
		step.State = "ok"
	}
	step.Parts = append(step.Parts, ui.Code{Label: "Request", Text: s.Sent})
	for _, signed := range s.Signed {
		step.Parts = append(step.Parts, ui.Code{Label: "Text signed for " + signed.Header, Text: signed.Text})
	}
	if s.Answer != "" {
		step.Parts = append(step.Parts, ui.Code{Label: "Answer", Text: ui.Foreign(s.Answer)})
	}
	return step
}

// Ended returns the result of the check.
func (c URLCheck) Ended() string {
	switch profile.RunState(c.State) {
	case profile.Passed:
		return "passed"
	case profile.Failed:
		return "failed"
	case profile.Interrupted, profile.Running:
	}
	return "was interrupted"
}

// sectionOf returns the id of a URL's section, which is also the end of its form's target.
func sectionOf(field profile.Field) string { return strings.ReplaceAll(string(field), "_", "-") }

// says announces the result of the check to screen readers; "" if there was none, or it is running.
func (c URLCheck) says() string {
	if c.State == "" || c.Running {
		return ""
	}
	return "The check " + c.Ended() + ". See the result below its URL."
}

// URLForm is the form of one URL. The template url-form shows it.
type URLForm struct {
	Field   ui.Field
	Action  string
	Hidden  []ui.Param
	May     bool   // the person may save it
	Instead string // shown to people who may not, if there is no URL
}
