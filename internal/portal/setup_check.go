package portal

import (
	"html/template"
	"strings"
	"time"

	"claviger/docs"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

// checkView is the check of a URL, as it goes.
type checkView struct {
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
	Parts  []ui.Code // what was sent and signed, and what was answered
}

// newCheckView returns the last check of a URL, nil if there was none.
func newCheckView(runs map[profile.Field]profile.Run, field profile.Field) *checkView {
	run, ok := runs[field]
	if !ok {
		return nil
	}
	c := &checkView{
		ID: "check-" + sectionOf(field), URL: run.URL, State: string(run.State), Running: run.State == profile.Running,
		Problem: run.Problem, At: run.StartedAt,
	}
	for i, s := range run.Steps {
		c.Steps = append(c.Steps, newCheckStep(s, c.Running && i == len(run.Steps)-1 && s.Answer == ""))
	}
	return c
}

func newCheckStep(s profile.Check, waiting bool) checkStep {
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

// Ended is how the check ended.
func (c checkView) Ended() string {
	switch profile.RunState(c.State) {
	case profile.Passed:
		return "passed"
	case profile.Failed:
		return "failed"
	case profile.Interrupted, profile.Running:
	}
	return "was interrupted"
}

// setupSamples are texts to copy, in several languages.
type setupSamples struct {
	Handlers  []ui.Code // of webhooks
	Exchanges []ui.Code // of a code for tokens
}

// languages are the languages of samples: how the guides mark them and what people call
// them.
var languages = []struct{ mark, label string }{{"go", "Go"}, {"js", "Node"}, {"python", "Python"}, {"php", "PHP"}}

// setupSamples returns the samples of the guides with the partner's own names and ids.
func (h *Handler) setupSamples(p partner.Partner, f profile.Profile) setupSamples {
	own := strings.NewReplacer(
		"X-Licensing-", "X-"+p.Brand+"-", "x-licensing-", "x-"+strings.ToLower(p.Brand)+"-",
		"X_LICENSING_", "X_"+strings.ReplaceAll(strings.ToUpper(p.Brand), "-", "_")+"_",
		"https://market.example", h.Site.Pages.PublicURL, "my-client-id", p.ClientID,
		"https://app.example.com/callback", orDefault(f.RedirectURL, "https://app.example.com/callback"),
	)
	var s setupSamples
	for _, l := range languages {
		s.Handlers = append(s.Handlers, ui.Code{Label: l.label, Text: own.Replace(strings.Join(docs.Blocks(docs.Webhooks, l.mark), "\n\n"))})
		s.Exchanges = append(s.Exchanges, ui.Code{Label: l.label, Text: own.Replace(strings.Join(docs.Blocks(docs.Partner, l.mark), "\n\n"))})
	}
	s.Exchanges = append([]ui.Code{{Label: "curl", Text: strings.Join([]string{
		"curl " + ui.ShellQuote(h.Site.Pages.PublicURL+"/openid/token/"),
		"-d grant_type=authorization_code", `-d "code=$CODE"`,
		"--data-urlencode " + ui.ShellQuote("redirect_uri="+orDefault(f.RedirectURL, "https://app.example.com/callback")),
		"-d " + ui.ShellQuote("client_id="+p.ClientID), `-d "client_secret=$CLIENT_SECRET"`,
	}, " \\\n  ")}}, s.Exchanges...)
	return s
}

// orDefault returns s, or otherwise if s is empty.
func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// setupForm is the form of one URL.
type setupForm struct {
	Field  ui.Field
	Action string
	May    bool
}

// setupCheck is the place of the check of one URL.
type setupCheck struct {
	ID    string
	Check *checkView // nil: there was none
}

// setupFuncs make the arguments of the templates of the page.
var setupFuncs = template.FuncMap{
	"setupForm": func(v setupView, field, step string) (setupForm, error) {
		f, err := v.Form.Field(field)
		return setupForm{Field: f, Action: v.Base + "/" + step, May: v.May}, err
	},
	"setupCheck": func(v setupView, step string) setupCheck {
		c := setupCheck{ID: "check-" + step, Check: v.Webhook}
		if step == sectionOf(profile.Redirect) {
			c.Check = v.Redirect
		}
		return c
	},
}
