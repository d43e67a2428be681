package area

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/diagnose"
	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// DeliveryPages builds the pages about one delivery. Its exported fields are the differences between
// the portal and the console: the audience and the API.
type DeliveryPages struct {
	API     string // of the partner's deliveries, such as /v2
	Events  string // the API of events
	Whose   string // owner of the answering server: Your, or The partner's
	Partner *ui.Item
	Who     func(by audit.Actor) string // names the sender

	owner partner.Partner
	path  func(path string, values ...any) string // of a page
	call  func(what, method, path string, query ...ui.Param) ui.Curl
	may   bool   // the person may send
	list  string // the query of the list that led here
}

// deliveryView is a delivery with one of its attempts.
type deliveryView struct {
	Heading    string
	State      string
	Says       []string // the state and the next step
	Partner    *ui.Item // nil on the partner's own pages
	WebhookID  string
	License    string
	LicenseURL string
	At         time.Time
	NextAt     time.Time
	Attempt    *attemptView // nil: there is none yet
	Attempts   ui.Table
	Send       string // the page that resends it, "" if the person may not
	Back       string // the list, at its row
	Curl       ui.Curl
}

// attemptView is one attempt.
type attemptView struct {
	Title    string
	At       time.Time
	Manual   string // the sender, "" for the schedule
	Cause    string // "" for a success
	Took     string
	Answer   string // status code or cause
	Timing   []timing
	Previous string // URLs
	Next     string

	Diagnosis, URL                       string
	RequestHeader, Body, Signed, Branded ui.Code
	Response, Own, Local                 ui.Code
}

// timing is the duration of a part of an attempt.
type timing struct{ Name, Took, Note string }

// its returns Whose for use inside a sentence.
func (p DeliveryPages) its() string { return strings.ToLower(p.Whose[:1]) + p.Whose[1:] }

// view builds the page of a delivery with one of its attempts, and a text that announces the state
// to screen readers.
func (p DeliveryPages) view(d history.Detail, e history.Exchange) (ui.View, string) {
	kind := event.Kind(d.Kind).String()
	view := deliveryView{
		Heading:    fmt.Sprintf("Event %d: %s", d.EventID, kind),
		State:      string(d.State),
		Says:       p.standing(d),
		Partner:    p.Partner,
		WebhookID:  fmt.Sprintf("evt_%d", d.EventID),
		License:    d.LicenseKey,
		LicenseURL: p.path(licensePage, d.LicenseKey),
		At:         d.CreatedAt,
		NextAt:     d.NextAt,
		Attempts:   p.attempts(d, e.ID),
		Back:       fmt.Sprintf("%s%s#delivery-%d-link", p.path(DeliveriesPath), p.list, d.EventID),
	}
	view.Curl = p.call("Read this delivery by API", http.MethodGet, fmt.Sprintf("%s/deliveries/%d", p.API, d.EventID))
	if p.may {
		view.Send = p.path(DeliveriesPath+"/%d/send", d.EventID) + p.list
	}
	if e.ID != 0 {
		view.Attempt = p.attempt(d, e)
		view.Curl = p.call(
			"Read this attempt by API",
			http.MethodGet,
			fmt.Sprintf("%s/deliveries/%d/attempts/%d", p.API, d.EventID, e.ID),
		)
	}
	says := ""
	if last := len(d.Tries) - 1; last >= 0 {
		t := d.Tries[last]
		says = fmt.Sprintf("Attempt %d: %s", t.Number, AnswerWords(t.ID, t.Status, t.Success, t.Words()))
	}
	return ui.View{Title: view.Heading, Fragment: "delivery-now", Data: view}, says
}

// attemptPath returns the page of an attempt, "" for id 0.
func (p DeliveryPages) attemptPath(eventID, id int64) string {
	if id == 0 {
		return ""
	}
	return p.path(DeliveriesPath+"/%d/attempts/%d", eventID, id) + p.list
}

// attempt returns the view of an attempt.
func (p DeliveryPages) attempt(d history.Detail, e history.Exchange) *attemptView {
	signed := diagnose.SignedTexts(e.RequestHeader, d.Body)
	a := &attemptView{
		Title:         fmt.Sprintf("Attempt %d of %d", e.Number, len(d.Tries)),
		At:            e.At,
		Cause:         shortCause(e.Words()),
		Diagnosis:     e.Diagnosis,
		URL:           e.URL,
		Answer:        AnswerWords(e.ID, e.Status, e.Success, e.Words()),
		RequestHeader: ui.Code{Label: "Headers", Text: e.RequestHeader},
		Body:          ui.Code{Label: "Body", Text: d.Body},
		Signed:        ui.Code{Label: "Signed text of webhook-signature", Text: signed.Standard},
		Branded:       ui.Code{Label: "Signed text of X-" + p.owner.Brand + "-Signature", Text: signed.Brand},
		Response:      ui.Code{Label: "Response body", Text: ui.Foreign(e.ResponseBody)},
		Timing:        timings(e),
		Took:          Duration(true, e.Took),
		Own:           ui.Code{Label: "To " + p.its() + " URL", Text: diagnose.Repeat(e.URL, e.RequestHeader, d.Body)},
		Local: ui.Code{
			Label: "To a server on your machine",
			Text:  diagnose.Repeat(diagnose.AtLocalhost(e.URL), e.RequestHeader, d.Body),
		},
		Previous: p.attemptPath(d.EventID, e.PreviousID),
		Next:     p.attemptPath(d.EventID, e.NextID),
	}
	if p.Partner != nil && e.Diagnosis != "" {
		a.Diagnosis = "The partner is told: " + e.Diagnosis // it addresses the partner's developers
	}
	if p.owner.Brand == "" {
		a.Branded.Label = "Signed text of X-Licensing-Signature"
	}
	if e.Success {
		a.Cause = ""
	}
	if !e.Manual.IsZero() {
		a.Manual = p.manual(e.Manual, "sent it")
	}
	return a
}

// timings lists the parts of an attempt in order.
func timings(e history.Exchange) []timing {
	if !e.Measured {
		return nil
	}
	t := e.Timing
	part := func(name string, d time.Duration, without string) timing {
		if d == 0 {
			return timing{name, "–", without}
		}
		return timing{Name: name, Took: Duration(true, d)}
	}
	reused := "a connection was open already"
	plain := "the URL is not https"
	if !t.Reused {
		reused = "the host is an address"
	}
	if t.Reused || strings.HasPrefix(e.URL, "https:") {
		plain = reused
	}
	connect := "a connection was open already"
	return []timing{
		part("DNS", t.DNS, reused), part("Connect", t.Connect, connect), part("TLS", t.TLS, plain),
		part("First byte", t.FirstByte, "no byte came"),
	}
}

// Senders returns the ids of people for the manual sends of a delivery.
func Senders(d history.Detail) []int64 {
	var ids []int64
	add := func(m history.Manual) {
		if m.By.Kind == audit.ByUser {
			ids = append(ids, m.By.ID)
		}
	}
	add(d.Manual)
	for _, t := range d.Tries {
		add(t.Manual)
	}
	return ids
}

// manual names the sender of an event and the scheduled attempt that it replaced.
func (p DeliveryPages) manual(m history.Manual, did string) string {
	s := p.Who(m.By) + " " + did + " by hand"
	if m.JobID != 0 {
		s = fmt.Sprintf("%s %s by recovery %d", p.Who(m.By), did, m.JobID)
	}
	if m.ScheduledAt.IsZero() {
		return s + "; no other attempt was scheduled."
	}
	return s + ", in place of the attempt that was scheduled for " + ui.ExactInSentence(m.ScheduledAt) + "."
}

// standing describes the state of a delivery and the next step.
func (p DeliveryPages) standing(d history.Detail) []string {
	var says []string
	switch d.State {
	case history.Delivered:
		says = append(says, p.Whose+" server accepted this event. Nothing more is sent.")
	case history.Exhausted:
		says = append(says, "Every attempt failed, so it is not tried any more. Fix the cause, then send it again.")
	case history.Superseded:
		says = append(
			says,
			p.Whose+" server kept refusing it while it accepted others, so a newer event of the same license was "+
				"sent in its place. It can be sent again; the newest follows it.",
		)
	case history.Failing:
		says = append(says, "The last attempt failed. It is tried again by the schedule.")
	case history.Waiting:
		says = append(says, "It waits to be sent.")
	case history.AnyState, history.Failed: // for filters only
	}
	switch {
	case d.Earlier != 0:
		says = append(says, fmt.Sprintf("Events of a license are sent in order: it waits for event %d.", d.Earlier))
	case d.NextAt.IsZero():
	case !d.Endpoint.ParkedAt.IsZero():
		says = append(
			says,
			p.Whose+" endpoint is parked because it only failed. It is tried with one event now and then; a success "+
				"sends everything that waits.",
		)
	}
	if !d.Manual.IsZero() {
		says = append(says, p.manual(d.Manual, "had it sent"))
	}
	return says
}

// attempts lists the attempts of a delivery.
func (p DeliveryPages) attempts(d history.Detail, shown int64) ui.Table {
	t := ui.Table{
		ID: "attempts", Caption: "Attempts on record, newest first",
		Columns: []ui.Column{
			{Label: "Attempt"},
			{Label: "Time"},
			{Label: "Answer"},
			{Label: "Duration", Number: true},
			{Label: "Sent by"},
		},
	}
	for i := len(d.Tries) - 1; i >= 0; i-- {
		a := d.Tries[i]
		by := "Schedule"
		number := ui.Cell{Text: fmt.Sprintf("Attempt %d", a.Number), URL: p.attemptPath(d.EventID, a.ID)}
		if !a.Manual.IsZero() {
			by = p.Who(a.Manual.By)
		}
		if a.ID == shown {
			number.Note = "shown here"
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("attempt-%d", a.ID), Cells: []ui.Cell{
			number,
			{At: a.At, Exact: true},
			{Text: AnswerWords(a.ID, a.Status, a.Success, a.Words())},
			{Text: Duration(true, a.Took)},
			{Text: by},
		}})
	}
	return t
}

// sendAgain builds the page that asks whether to resend an event.
func (p DeliveryPages) sendAgain(d history.Detail, now time.Time) ui.Confirm {
	says := []string{
		fmt.Sprintf(
			"It is sent now to %s webhook URL, with the same body and the same webhook-id, signed anew. After it "+
				"comes the newest event of its license, so that %s application is not left in the past.",
			p.its(),
			p.its(),
		),
	}
	switch {
	case d.State == history.Delivered:
		says = append(says, p.Whose+" server accepted this event before: it gets it once more.")
	case d.State == history.Failing && d.NextAt.After(now):
		says = append(
			says,
			fmt.Sprintf(
				"It takes the place of the attempt that is scheduled for %s. If it fails, the schedule goes on from "+
					"there.",
				ui.ExactInSentence(d.NextAt),
			),
		)
	case d.State == history.Waiting:
		says = append(says, "It waits to be sent already; this only makes it the next one of its license.")
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("%s/events/%d/redeliver", p.Events, d.EventID))
	return ui.Confirm{
		Heading: fmt.Sprintf("Send event %d again", d.EventID),
		Says:    says,
		Action:  p.path(DeliveriesPath+"/%d/send", d.EventID) + p.list,
		Cancel:  p.path(DeliveriesPath+"/%d", d.EventID) + p.list,
		Button:  ui.Button{Label: "Send it again", Busy: "Sending…"},
		Call:    &call,
	}
}
