package portal

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// deliveryView is a delivery with one of its attempts.
type deliveryView struct {
	Heading  string
	State    string
	Says     []string // where it stands and what comes next
	Facts    deliveryFacts
	Attempt  *attemptView // nil: there is none yet
	Attempts ui.Table
	Send     string // the page to send it again, "" if the person may not
	Back     string // to the list, at its row
	Curl     ui.Curl
}

// deliveryFacts is what is known of a delivery.
type deliveryFacts struct {
	EventID    int64
	WebhookID  string
	Kind       string
	License    string
	LicenseURL string
	At         time.Time
	NextAt     time.Time
}

// attemptView is one attempt.
type attemptView struct {
	Title          string
	At             time.Time
	Manual         string // who had it sent, "" for the schedule
	Cause          string // "" for a success
	Diagnosis      string
	URL            string
	Answer         string // status code or cause
	RequestHeader  ui.Code
	Body           ui.Code
	Signed         ui.Code
	Brand          ui.Code
	Response       ui.Code
	Timing         []timing
	Took           string
	Previous, Next string // URLs
	Own, Local     ui.Code
}

// timing is how long a part of an attempt took.
type timing struct{ Name, Took, Note string }

// delivery shows a delivery and its last attempt, which follows what happens, or the one
// of the path, which stays.
func (h *Handler) delivery(r *http.Request, v *Visit) (shown, error) {
	event, attempt := id(r, "event"), int64(0)
	if r.PathValue("attempt") != "" {
		if attempt = id(r, "attempt"); attempt <= 0 {
			return shown{}, NotFound()
		}
	}
	if _, _, err := h.History.Exchange(r.Context(), v.Partner.ID, event, attempt); err != nil {
		return shown{}, missing(err)
	}
	return shown{
		versions: h.Live.deliveries, topic: event, page: "delivery",
		view: func(r *http.Request) (ui.View, string, error) { return h.deliveryView(r, v, event, attempt) },
	}, nil
}

func (h *Handler) deliveryView(r *http.Request, v *Visit, eventID, attempt int64) (ui.View, string, error) {
	d, e, err := h.History.Exchange(r.Context(), v.Partner.ID, eventID, attempt)
	if err != nil {
		return ui.View{}, "", missing(err)
	}
	names, err := h.namesOf(r, d)
	if err != nil {
		return ui.View{}, "", err
	}
	list := query(r.URL.Query(), "since") // of the list that led here
	kind := event.Kind(d.Kind).String()
	view := deliveryView{
		Heading: fmt.Sprintf("Event %d: %s", d.EventID, kind), State: string(d.State), Says: standing(d, names, ui.Zone(r)),
		Facts: deliveryFacts{
			EventID: d.EventID, WebhookID: fmt.Sprintf("evt_%d", d.EventID), Kind: kind, License: d.LicenseKey,
			LicenseURL: v.Path(licensesPath+"/%s", d.LicenseKey), At: d.CreatedAt, NextAt: d.NextAt,
		},
		Attempts: attemptsTable(v, d, e.ID, names, list),
		Back:     fmt.Sprintf("%s%s#delivery-%d-link", v.Path(deliveriesPath), list, d.EventID),
		Curl:     h.call("Read this delivery by API", http.MethodGet, fmt.Sprintf("/v2/deliveries/%d", d.EventID)),
	}
	if v.Covers(partner.Developer) {
		view.Send = v.Path(deliveriesPath+"/%d/send", d.EventID) + list
	}
	if e.ID != 0 {
		view.Attempt = h.attempt(v, d, e, names, ui.Zone(r), list)
		view.Curl = h.call("Read this attempt by API", http.MethodGet, fmt.Sprintf("/v2/deliveries/%d/attempts/%d", d.EventID, e.ID))
	}
	says := ""
	if last := len(d.Tries) - 1; last >= 0 {
		t := d.Tries[last]
		says = fmt.Sprintf("Attempt %d: %s", t.Number, area.AnswerWords(t.ID, t.Status, t.Success, t.Words()))
	}
	return ui.View{Title: view.Heading, Fragment: "delivery-now", Data: view}, says, nil
}

// attempt is one attempt for the page.
func (h *Handler) attempt(v *Visit, d history.Detail, e history.Exchange, names map[int64]string, zone *time.Location, list string) *attemptView {
	signed := courier.SignedTexts(e.RequestHeader, d.Body)
	a := &attemptView{
		Title: fmt.Sprintf("Attempt %d of %d", e.Number, len(d.Tries)), At: e.At, Cause: area.ShortCause(e.Words()), Diagnosis: e.Diagnosis, URL: e.URL,
		Answer:        area.AnswerWords(e.ID, e.Status, e.Success, e.Words()),
		RequestHeader: ui.Code{Label: "Headers", Text: e.RequestHeader}, Body: ui.Code{Label: "Body", Text: d.Body},
		Signed:   ui.Code{Label: "Signed text of webhook-signature", Text: signed.Standard},
		Brand:    ui.Code{Label: "Signed text of X-" + v.Partner.Brand + "-Signature", Text: signed.Brand},
		Response: ui.Code{Label: "Response body", Text: ui.Foreign(e.ResponseBody)},
		Timing:   timings(e), Took: area.Duration(true, e.Took),
		Own:   ui.Code{Label: "To your URL", Text: courier.Repeat(e.URL, e.RequestHeader, d.Body)},
		Local: ui.Code{Label: "To a server on your machine", Text: courier.Repeat(courier.AtLocalhost(e.URL), e.RequestHeader, d.Body)},
	}
	if v.Partner.Brand == "" {
		a.Brand.Label = "Signed text of X-Licensing-Signature"
	}
	if e.Success {
		a.Cause = ""
	}
	if !e.Manual.IsZero() {
		a.Manual = manualWords(e.Manual, names, zone, "sent it")
	}
	link := func(id int64) string {
		if id == 0 {
			return ""
		}
		return v.Path(deliveriesPath+"/%d/attempts/%d", d.EventID, id) + list
	}
	a.Previous, a.Next = link(e.PreviousID), link(e.NextID)
	return a
}

// timings are the parts of an attempt in their order.
func timings(e history.Exchange) []timing {
	if !e.Measured {
		return nil
	}
	t := e.Timing
	part := func(name string, d time.Duration, without string) timing {
		if d == 0 {
			return timing{name, "–", without}
		}
		return timing{Name: name, Took: area.Duration(true, d)}
	}
	reused, plain := "a connection was open already", "the URL is not https"
	if !t.Reused {
		reused = "the host is an address"
	}
	if t.Reused || strings.HasPrefix(e.URL, "https:") {
		plain = reused
	}
	connect := "a connection was open already"
	return []timing{
		part("DNS", t.DNS, reused), part("Connect", t.Connect, connect), part("TLS", t.TLS, plain), part("First byte", t.FirstByte, "no byte came"),
	}
}

// namesOf are the names of the people who had the delivery sent.
func (h *Handler) namesOf(r *http.Request, d history.Detail) (map[int64]string, error) {
	ids := []int64{}
	for _, m := range append([]history.Manual{d.Manual}, manuals(d.Tries)...) {
		if m.By.Kind == audit.ByUser {
			ids = append(ids, m.By.ID)
		}
	}
	return peopleNames(r, h.Site.Accounts, ids)
}

func manuals(tries []history.Try) []history.Manual {
	list := make([]history.Manual, len(tries))
	for i, t := range tries {
		list[i] = t.Manual
	}
	return list
}

func peopleNames(r *http.Request, accounts *account.Book, ids []int64) (map[int64]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return accounts.Names(r.Context(), ids)
}

// who is who had something sent, as far as the partner may know.
func who(by audit.Actor, names map[int64]string) string {
	switch by.Kind {
	case audit.ByUser:
		if name := names[by.ID]; name != "" {
			return name
		}
		return "A former member"
	case audit.ByPartner:
		return "A program with your API key"
	}
	return "The marketplace"
}

// sentenceTime is the layout of times inside sentences.
const sentenceTime = "2 Jan 2006, 15:04:05 UTC"

// manualWords says who had an event sent and what became of the scheduled attempt.
func manualWords(m history.Manual, names map[int64]string, zone *time.Location, did string) string {
	s := who(m.By, names) + " " + did + " by hand"
	if m.JobID != 0 {
		s = fmt.Sprintf("%s %s by recovery %d", who(m.By, names), did, m.JobID)
	}
	if m.ScheduledAt.IsZero() {
		return s + "; no other attempt was scheduled."
	}
	return s + ", in place of the attempt that was scheduled for " + ui.FormatTime(m.ScheduledAt.In(zone), sentenceTime) + "."
}

// standing says in sentences where a delivery stands and what comes next.
func standing(d history.Detail, names map[int64]string, zone *time.Location) []string {
	var says []string
	switch d.State {
	case history.Delivered:
		says = append(says, "Your server accepted this event. Nothing more is sent.")
	case history.Exhausted:
		says = append(says, "Every attempt failed, so it is not tried any more. Mend the cause, then send it again.")
	case history.Superseded:
		says = append(says, "Your server kept refusing it while it accepted others, so a newer event of the same license was sent in its place. It can be sent again; the newest follows it.")
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
		says = append(says, "Your endpoint is parked because it only failed. It is tried with one event now and then; a success sends everything that waits.")
	}
	if !d.Manual.IsZero() {
		says = append(says, manualWords(d.Manual, names, zone, "had it sent"))
	}
	return says
}

// attemptsTable lists the attempts of a delivery.
func attemptsTable(v *Visit, d history.Detail, shown int64, names map[int64]string, list string) ui.Table {
	t := ui.Table{
		ID: "attempts", Caption: "Attempts on record, newest first",
		Columns: []ui.Column{{Label: "Attempt"}, {Label: "Time"}, {Label: "Answer"}, {Label: "Duration", Number: true}, {Label: "Sent by"}},
	}
	for i := len(d.Tries) - 1; i >= 0; i-- {
		a := d.Tries[i]
		by, number := "Schedule", ui.Cell{Text: fmt.Sprintf("Attempt %d", a.Number), URL: v.Path(deliveriesPath+"/%d/attempts/%d", d.EventID, a.ID) + list}
		if !a.Manual.IsZero() {
			by = who(a.Manual.By, names)
		}
		if a.ID == shown {
			number.Note = "shown here"
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("attempt-%d", a.ID), Cells: []ui.Cell{
			number, {At: a.At, Exact: true}, {Text: area.AnswerWords(a.ID, a.Status, a.Success, a.Words())}, {Text: area.Duration(true, a.Took)}, {Text: by},
		}})
	}
	return t
}

// sendView is the page that asks whether an event is sent again.
func (h *Handler) sendView(r *http.Request, v *Visit) (confirmView, history.Detail, error) {
	d, err := h.History.Delivery(r.Context(), v.Partner.ID, id(r, "event"))
	if err != nil {
		return confirmView{}, d, missing(err)
	}
	list := query(r.URL.Query())
	says := []string{"It is sent now to your webhook URL, with the same body and the same webhook-id, signed anew. After it comes the newest event of its license, so that your application is not left in the past."}
	switch {
	case d.State == history.Delivered:
		says = append(says, "Your server accepted this event before: it gets it once more.")
	case d.State == history.Failing && d.NextAt.After(h.Now()):
		says = append(says, fmt.Sprintf("It takes the place of the attempt that is scheduled for %s. If it fails, the schedule goes on from there.", ui.FormatTime(d.NextAt.In(ui.Zone(r)), sentenceTime)))
	case d.State == history.Waiting:
		says = append(says, "It waits to be sent already; this only makes it the next one of its license.")
	}
	call := h.call("The same by API", http.MethodPost, fmt.Sprintf("/v2/events/%d/redeliver", d.EventID))
	return confirmView{
		Heading: fmt.Sprintf("Send event %d again", d.EventID), Says: says, Action: v.Path(deliveriesPath+"/%d/send", d.EventID) + list,
		Cancel: v.Path(deliveriesPath+"/%d", d.EventID) + list, Button: ui.Button{Label: "Send it again", Busy: "Sending…"}, Call: &call,
	}, d, nil
}

func (h *Handler) askSend(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := h.sendView(r, v)
	if err != nil {
		return err
	}
	return h.confirm(w, r, v, http.StatusOK, view)
}

func (h *Handler) send(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, d, err := h.sendView(r, v)
	if err != nil {
		return err
	}
	if err := h.Webhooks.Redeliver(r.Context(), v.Actor(), v.Partner.ID, d.EventID); err != nil {
		return h.refuse(w, r, v, view, err)
	}
	return h.done(w, r, v, fmt.Sprintf("%s/%d%s", deliveriesPath, d.EventID, query(r.URL.Query())), "The event is on its way. What your server answers stands below as soon as it comes; without scripts, reload the page.")
}
