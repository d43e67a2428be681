package area

import (
	"fmt"
	"net/http"
	"time"

	"claviger/internal/event"
	"claviger/internal/plural"
	"claviger/internal/replay"
	"claviger/internal/ui"
)

// Recovery is a recovery with its progress, as its page shows it.
type Recovery struct {
	replay.Job
	By      string   // who began it
	Partner *ui.Item // nil on the partner's own pages
	URL     string   // of the page; the acts are below it
	May     bool     // the person may pause and cancel it
	Curl    ui.Curl
}

// State is how far it is.
func (j Recovery) State() string { return string(j.Status()) }

// Left is how long it takes; "" if that is not known.
func (j Recovery) Left() string {
	if left := j.Estimate(); j.Open() && left > 0 {
		return Estimate(left)
	}
	return ""
}

// Which says in words what is sent again.
func (j Recovery) Which() string {
	one, rest := DeliveryQuery{Filter: j.Filter, LicenseKey: j.LicenseKey}.Words()
	return one + "s" + rest
}

// Progress is how far it is, for the part "job".
func (j Recovery) Progress() ui.Job {
	out := ui.Job{Status: j.State(), Stopped: j.Stopped, Text: j.sent(), Percent: ui.PercentDone(j.Count+j.Skipped, j.Expected, j.Status() == replay.Done)}
	add := func(label, text string, at time.Time) {
		if text != "" || !at.IsZero() {
			out.Facts = append(out.Facts, ui.JobFact{Label: label, Text: text, At: at})
		}
	}
	if j.Partner != nil {
		out.Facts = append(out.Facts, ui.JobFact{Label: "Partner", Text: j.Partner.Label, URL: j.Partner.URL})
	}
	add("What", j.Which(), time.Time{})
	add("From", "", j.Filter.From)
	add("Until", "", j.Filter.To)
	rate := "as fast as possible"
	if j.Rate > 0 {
		rate = fmt.Sprintf("%d a second", j.Rate)
	}
	add("Rate", rate, time.Time{})
	add("Begun", "by "+j.By, j.CreatedAt)
	add("Left", j.Left(), time.Time{})
	add("Ended", "", j.FinishedAt)
	switch {
	case !j.Open() || !j.May:
		return out
	case j.Status() == replay.Running:
		out.Controls = []ui.JobControl{{Action: j.URL + "/pause", Button: ui.Button{Label: "Pause", Busy: "Pausing…", Kind: "secondary"}}}
	default:
		out.Controls = []ui.JobControl{{Action: j.URL + "/resume", Button: ui.Button{Label: "Resume", Busy: "Resuming…"}}}
	}
	out.Cancel = j.URL + "/cancel"
	return out
}

// sent says how much is sent.
func (j Recovery) sent() string {
	text := "Sent " + plural.Of(j.Count, "event")
	if j.Expected > 0 {
		of := ""
		if j.Expected >= replay.MaxCounted {
			of = "more than "
		}
		text = fmt.Sprintf("Sent %d of %s", j.Count, of+plural.Of(j.Expected, "event"))
	}
	if j.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped: delivered since it began", j.Skipped)
	}
	return text + "."
}

// View is the page, and what people are told who do not see it change.
func (j Recovery) View() (view ui.View, says string) {
	view = ui.View{Title: fmt.Sprintf("Recovery %d", j.ID), Fragment: "recovery-now", Data: j}
	if j.Status() == replay.Running {
		view.Refresh = 5
	}
	return view, "The recovery is " + j.State()
}

// Cancelling is the page that asks whether it ends. api is the call of the recovery.
func (j Recovery) Cancelling(call func(what, method, path string, query ...ui.Param) ui.Curl, api string) ui.Confirm {
	same := call("The same by API", http.MethodPost, fmt.Sprintf("%s/redeliveries/%d/cancel", api, j.ID))
	return ui.Confirm{
		Heading: fmt.Sprintf("Cancel recovery %d", j.ID), Action: j.URL + "/cancel", Cancel: j.URL, Call: &same,
		Says: []string{
			plural.Of(j.Count, "event was", "events were") + " made due so far; what is due is sent all the same, and the rest is not.",
			"A cancelled recovery cannot go on. A new one begins at its beginning and skips what was delivered.",
		},
		Button: ui.Button{Label: "Cancel the recovery", Busy: "Cancelling…", Kind: "danger"},
	}
}

// Estimate is how long something takes, to the second while it is short.
func Estimate(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "a second or two"
	case d < 2*time.Minute:
		return "about " + plural.Of(int(d.Seconds()), "second")
	}
	return "about " + Span(d)
}

// Words say what a filter means: what one of them is called, and what follows that.
func (q DeliveryQuery) Words() (one, rest string) {
	f := q.Filter
	if one = "event"; f.Kind != 0 {
		one = event.Kind(f.Kind).String() + " event"
	}
	if f.State != "" {
		one = string(f.State) + " " + one
	}
	if f.Codes.Set {
		code := f.Codes.String()
		switch {
		case f.Codes.Cause != "":
			code = "no answer (" + code + ")"
		case code == "none":
			code = "no answer"
		}
		rest = " whose last attempt met " + code
	}
	if q.LicenseKey != "" {
		rest += " of the license " + q.LicenseKey
	}
	return one, rest
}
