package area

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/event"
	"claviger/internal/plural"
	"claviger/internal/replay"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// Recovery is a recovery with its progress, as its page shows it.
type Recovery struct {
	replay.Job
	By      string   // who began it
	Partner *ui.Item // nil on the partner's own pages
	URL     string   // of the page; the acts are below it
	May     bool     // the person may pause and cancel it
	Curl    ui.Curl

	Outcome    history.Outcome // what became of what was sent
	Known      bool            // the outcome is known
	Deliveries string          // the list of deliveries, "" if the person has none
}

// AddOutcome reads what became of what was sent.
func (j *Recovery) AddOutcome(ctx context.Context, jobs *replay.Jobs) (err error) {
	j.Outcome, j.Known, err = jobs.Outcome(ctx, j.Job)
	return err
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
	if j.Count > 0 && j.Deliveries != "" && (!j.Known || j.Outcome.Failed > 0) {
		out.Facts = append(out.Facts, ui.JobFact{Label: "Failed", Text: "Deliveries that fail now", URL: j.failed()})
	}
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

// failed is the list of what fails of the span that was sent again.
func (j Recovery) failed() string {
	q := url.Values{"state": {string(history.Failed)}, "range": {"all"}}
	if !j.Filter.From.IsZero() {
		q.Set("range", "span")
		q.Set("from", j.Filter.From.UTC().Format(time.RFC3339Nano))
	}
	if j.LicenseKey != "" {
		q.Set("license", j.LicenseKey)
	}
	if j.Partner != nil {
		q.Set("partner", strconv.FormatInt(j.PartnerID, 10))
	}
	return j.Deliveries + "?" + q.Encode()
}

// sent says how much is sent and what became of it.
func (j Recovery) sent() string {
	text := "Sent " + plural.Of(j.Count, "event")
	switch {
	case j.Expected >= replay.MaxCounted:
		text = fmt.Sprintf("Sent %d of more than %s", j.Count, plural.Of(j.Expected, "event"))
	case j.Count > j.Expected: // with the newest of their licenses
	default:
		text = fmt.Sprintf("Sent %d of %s", j.Count, plural.Of(j.Expected, "event"))
	}
	became, sep := j.became(), ", "
	if became != "" {
		text, sep = text+": "+became, "; "
	}
	if j.Skipped > 0 {
		text += fmt.Sprintf("%s%d skipped: delivered since it began", sep, j.Skipped)
	}
	if text += "."; !j.Known && j.Count > 0 {
		text += " Sent does not mean taken: the list of deliveries has what failed."
	}
	return text
}

// became says what became of what was sent; "" if nothing was, or that is not known.
func (j Recovery) became() string {
	if !j.Known {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		n         int64
		one, many string
	}{
		{j.Outcome.Taken, "%d was delivered", "%d were delivered"},
		{j.Outcome.Failed, "%d failed", "%d failed"},
		{j.Outcome.Waiting, "%d waits for its attempt", "%d wait for their attempts"},
	} {
		switch {
		case p.n == 1:
			parts = append(parts, fmt.Sprintf(p.one, p.n))
		case p.n > 1:
			parts = append(parts, fmt.Sprintf(p.many, p.n))
		}
	}
	return strings.Join(parts, ", ")
}

// View is the page, and what people are told who do not see it change.
func (j Recovery) View() (view ui.View, says string) {
	view = ui.View{Title: fmt.Sprintf("Recovery %d", j.ID), Fragment: "recovery-now", Data: j}
	if j.Status() == replay.Running || j.Outcome.Waiting > 0 {
		view.Refresh = 5
	}
	if j.Status() == replay.Running {
		return view, "" // each attempt sends the page: what counts is how it ends
	}
	return view, "The recovery is " + j.State()
}

// Cancelling is the page that asks whether it ends. api is the call of the recovery.
func (j Recovery) Cancelling(call func(what, method, path string, query ...ui.Param) ui.Curl, api string) ui.Confirm {
	same := call("The same by API", http.MethodPost, fmt.Sprintf("%s/redeliveries/%d/cancel", api, j.ID))
	return ui.Confirm{
		Heading: fmt.Sprintf("Cancel recovery %d", j.ID), Action: j.URL + "/cancel", Cancel: j.URL, Back: "Go back", Call: &same,
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
