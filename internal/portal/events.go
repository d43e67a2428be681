package portal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"claviger/internal/area"
	"claviger/internal/courier"
	"claviger/internal/event"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/simulator"
	"claviger/internal/ui"
)

const eventsPath = "/events"

// eventsView lists the kinds of events.
type eventsView struct {
	Kinds []kindView
	Curl  ui.Curl
}

// kindView is a kind of event.
type kindView struct {
	Name, Status, When, URL string
}

func kindOf(v *Visit, k simulator.Kind) kindView {
	return kindView{k.Event.String(), k.Event.Status().String(), k.When, v.Path(eventsPath+"/%s", k.Event)}
}

func (h *Handler) events(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view := eventsView{Curl: h.call("List the kinds of events by API", http.MethodGet, "/v2/event-kinds")}
	for _, k := range simulator.Kinds() {
		view.Kinds = append(view.Kinds, kindOf(v, k))
	}
	return h.render(w, r, v, "events", ui.View{Title: "Events", Data: view})
}

// eventView is the page of one kind of event.
type eventView struct {
	kindView
	Reasons  []event.Reason
	Members  ui.Table
	Sample   *ui.Code // nil if the form was refused
	Signed   []ui.Code
	Own      *ui.Code // a shell command that posts the sample to the saved URL
	Local    ui.Code  // the same to a local server
	Last     *lastView
	Form     ui.Form
	Action   string // target of the form
	May      bool
	URL      string // the saved webhook URL
	SetupURL string
	Max      int
	Window   string
	Curl     ui.Curl
}

// lastView is the newest real event of the kind.
type lastView struct {
	simulator.Real
	Code ui.Code
}

// eventKind serves the page of a kind.
func (h *Handler) eventKind(k event.Kind) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		return h.showEvent(w, r, v, k, 0, nil)
	}
}

// sendEvent sends an event of a kind with the body of the form.
func (h *Handler) sendEvent(k event.Kind) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		if err := ui.ReadForm(r); err != nil {
			return err
		}
		form := eventForm(ui.FormText(r, "body"))
		run, err := h.Simulator.Send(r.Context(), v.Actor(), v.Partner.ID, k.String(), form.Fields[0].Value)
		if err != nil {
			if status := refuseRun(w, &form, err); status != 0 {
				return h.showEvent(w, r, v, k, status, &form)
			}
			return err
		}
		ui.SeeOther(w, r, v.Path(runsPath+"/%d", run.ID))
		return nil
	}
}

func eventForm(body string) ui.Form {
	return ui.Form{Fields: []ui.Field{{
		Name: "body", Label: "Body", Type: "textarea", Rows: 10, Value: body, Required: true,
		Hint: "One JSON object. It is sent byte for byte as it stands here, but test becomes true.",
	}}}
}

// showEvent shows the page of a kind. A refused form is shown with its errors and without the
// sample.
func (h *Handler) showEvent(
	w http.ResponseWriter, r *http.Request, v *Visit, name event.Kind, status int, form *ui.Form,
) error {
	k, err := simulator.KindOf(name.String())
	if err != nil {
		return err
	}
	prof, err := h.Profiles.Read(r.Context(), h.Profiles.DB, v.Partner.ID)
	if err != nil {
		return err
	}
	view := eventView{
		kindView: kindOf(v, k), Reasons: k.Reasons, Members: membersTable(), URL: prof.WebhookURL,
		SetupURL: v.Path(setupPath),
		Action:   v.Path(eventsPath+"/%s/test", k.Event), May: v.Covers(partner.Developer), Max: profile.MaxChecks,
		Window: area.Span(profile.CheckWindow),
		Curl:   h.call("Send this event by API", http.MethodPost, "/v2/event-kinds/"+k.Event.String()+"/test"),
	}
	if form == nil {
		sample, err := h.Simulator.Sample(r.Context(), v.Partner.ID, k)
		if err != nil {
			return err
		}
		view.addSample(sample)
		form = new(eventForm(sample.Body))
	}
	view.Form = *form
	view.Curl.JSON = testEventJSON(form.Fields[0].Value)
	last, err := h.Simulator.LastReal(r.Context(), v.Partner.ID, k)
	if err != nil {
		return err
	}
	if last.ID != 0 {
		view.Last = &lastView{last, ui.Code{Label: fmt.Sprintf("Body of event %d", last.ID), Text: visible(last.Body)}}
	}
	return h.render(w, r, v, "event", ui.View{Title: "Event: " + k.Event.String(), Status: status, Data: view})
}

// addSample adds the sample, its signed texts, and the commands that send it.
func (v *eventView) addSample(s simulator.Sample) {
	v.Sample = &ui.Code{Label: "Body", Text: indented(s.Body)}
	v.Signed = []ui.Code{
		{Label: "Text signed for " + s.Signer.SignatureHeader(), Text: s.Signed.Brand},
		{Label: "Text signed for " + courier.HeaderSignature, Text: s.Signed.Standard},
	}
	v.Local = ui.Code{Label: "To your own machine", Text: shellPost(localURL(v.URL), s.Signer, s.EventID, s.Body)}
	if v.URL != "" {
		v.Own = &ui.Code{Label: "To your webhook URL", Text: shellPost(v.URL, s.Signer, s.EventID, s.Body)}
	}
}

func testEventJSON(body string) string {
	text, err := json.Marshal(map[string]string{"body": body})
	if err != nil {
		return "{}" // encoding a text cannot fail
	}
	return string(text)
}

func membersTable() ui.Table {
	t := ui.Table{
		ID: "members", Caption: "Members of the body",
		Columns: []ui.Column{{Label: "Member"}, {Label: "Type"}, {Label: "What it is"}},
	}
	for _, m := range simulator.Members() {
		t.Rows = append(t.Rows, ui.Row{Cells: []ui.Cell{{Text: m.Name, Code: true}, {Text: m.Type}, {Text: m.About}}})
	}
	return t
}

// indented splits a body into lines for reading.
func indented(body string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(body, `,"`) {
		if b.Len() > 0 {
			b.WriteString(",\n \"")
		}
		b.WriteString(line)
	}
	return b.String()
}

// localURL returns the path of the saved URL on a local server.
func localURL(saved string) string {
	path := "/webhook"
	if u, err := url.Parse(saved); err == nil && strings.Trim(u.Path, "/") != "" {
		path = u.EscapedPath()
	}
	return "http://localhost:3000" + path
}

// shellPost returns a shell command that signs a body with the secret in $SECRET and posts it. All
// values in it are quoted, and the secret is a variable.
func shellPost(to string, s courier.Signer, eventID int64, body string) string {
	webhookID := fmt.Sprintf("evt_%d", eventID)
	return strings.Join([]string{
		`BODY=` + ui.ShellQuote(body),
		`NOW=$(date +%s)`,
		`case $SECRET in`,
		`whsec_*) KEY=$(printf '%s' "${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n');;`,
		`*) KEY=$(printf '%s' "$SECRET" | od -An -v -tx1 | tr -d ' \n');;`,
		`esac`,
		`curl -X POST ` + ui.ShellQuote(to) + ` \`,
		`  -H 'Content-Type: application/json; charset=UTF-8' \`,
		`  -H ` + ui.ShellQuote(s.TimestampHeader()+": ") + `"${NOW}000" \`,
		`  -H ` + ui.ShellQuote(s.SignatureHeader()+": ") +
			`"$(printf '%s' "${NOW}000$BODY" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.* //')" \`,
		`  -H ` + ui.ShellQuote(courier.HeaderID+": "+webhookID) + ` \`,
		`  -H "` + courier.HeaderTimestamp + `: $NOW" \`,
		`  -H "` + courier.HeaderSignature + `: v1,$(printf '%s' "` + webhookID + `.$NOW.$BODY" | ` +
			`openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)" \`,
		`  --data-binary "$BODY"`,
	}, "\n")
}
