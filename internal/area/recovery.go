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

// Percent is how much is done, for a progress bar.
func (j Recovery) Percent() int64 {
	switch done := j.Count + j.Skipped; {
	case !j.Open():
		return 100
	case j.Expected == 0:
		return 0
	default:
		return min(100*done/j.Expected, 99)
	}
}

// State is how far it is.
func (j Recovery) State() string { return string(j.Status()) }

// More reports whether it expected more than was counted.
func (j Recovery) More() bool { return j.Expected >= replay.MaxCounted }

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
