package area

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/event"
	"claviger/internal/plural"
	"claviger/internal/redelivery"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// Redelivery is a redelivery with its progress, as its page shows it.
type Redelivery struct {
	redelivery.Job
	By      string   // the person who started it
	Partner *ui.Item // nil on the partner's own pages
	URL     string   // of the page; the acts are below it
	May     bool     // the person may pause and cancel it
	Curl    ui.Curl

	Outcome    history.Outcome // result of the sent events
	Known      bool            // the outcome is known
	Deliveries string          // the list of deliveries, "" if the person has none
}

// State returns the status.
func (j Redelivery) State() string { return string(j.Status()) }

// Left returns the remaining time, "" if it is not known.
func (j Redelivery) Left() string {
	if left := j.Estimate(); j.Open() && left > 0 {
		return Estimate(left)
	}
	return ""
}

// Which describes the selected events.
func (j Redelivery) Which() string {
	one, rest := DeliveryQuery{Filter: j.Filter, LicenseKey: j.LicenseKey}.Words()
	return one + "s" + rest
}

// Progress returns the progress for the template "job".
func (j Redelivery) Progress() ui.Job {
	out := ui.Job{
		Status:  j.State(),
		Stopped: j.Stopped,
		Text:    j.sent(),
		Percent: ui.PercentDone(j.Count+j.Skipped, j.Expected, j.Status() == redelivery.Done),
	}
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
	case j.Status() == redelivery.Running:
		out.Controls = []ui.JobControl{
			{Action: j.URL + "/pause", Button: ui.Button{Label: "Pause", Busy: "Pausing…", Kind: "secondary"}},
		}
	default:
		out.Controls = []ui.JobControl{
			{Action: j.URL + "/resume", Button: ui.Button{Label: "Resume", Busy: "Resuming…"}},
		}
	}
	out.Cancel = j.URL + "/cancel"
	return out
}

// failed returns the list of failures in the redelivered span.
func (j Redelivery) failed() string {
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

// sent describes the number of sent events and their results.
func (j Redelivery) sent() string {
	text := "Sent " + plural.Of(j.Count, "event")
	switch {
	case j.Expected >= redelivery.MaxCounted:
		text = fmt.Sprintf("Sent %d of more than %s", j.Count, plural.Of(j.Expected, "event"))
	case j.Count > j.Expected: // includes the newest events of their licenses
	default:
		text = fmt.Sprintf("Sent %d of %s", j.Count, plural.Of(j.Expected, "event"))
	}
	became := j.became()
	sep := ", "
	if became != "" {
		text = text + ": " + became
		sep = "; "
	}
	if j.Skipped > 0 {
		text += fmt.Sprintf("%s%d skipped: delivered since it began", sep, j.Skipped)
	}
	text += "."
	if !j.Known && j.Count > 0 {
		text += " Sent does not mean taken: the list of deliveries has what failed."
	}
	return text
}

// became describes the results of the sent events; "" if nothing was sent or they are not known.
func (j Redelivery) became() string {
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

// view builds the page, and a text that announces the state to screen readers.
func (j Redelivery) view() (view ui.View, says string) {
	view = ui.View{Title: fmt.Sprintf("Recovery %d", j.ID), Fragment: "redelivery-now", Data: j}
	if j.Status() == redelivery.Running || j.Outcome.Waiting > 0 {
		view.Refresh = 5
	}
	if j.Status() == redelivery.Running {
		return view, "" // the page is sent after each attempt; only the end is announced
	}
	return view, "The recovery is " + j.State()
}

// cancelling builds the page that asks whether to cancel.
func (j Redelivery) cancelling(call ui.Curl) ui.Confirm {
	return ui.Confirm{
		Heading: fmt.Sprintf("Cancel recovery %d", j.ID), Cancel: j.URL, Back: "Go back", Call: &call,
		Says: []string{
			plural.Of(j.Count, "event was", "events were") +
				" made due so far; what is due is sent all the same, and the rest is not.",
			"A cancelled recovery cannot go on. A new one begins at its beginning and skips what was delivered.",
		},
		Button: ui.Button{Label: "Cancel the recovery", Busy: "Cancelling…", Kind: "danger"},
	}
}

// Estimate formats a duration, to the second if it is short.
func Estimate(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "a second or two"
	case d < 2*time.Minute:
		return "about " + plural.Of(int(d.Seconds()), "second")
	}
	return "about " + Span(d)
}

// Words describes a filter: the singular noun, and the text that follows it.
func (q DeliveryQuery) Words() (one, rest string) {
	f := q.Filter
	one = "event"
	if f.Kind != 0 {
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
