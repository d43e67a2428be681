package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// seenPartner is what a page showed of a partner.
func seenPartner(one partner.Partner) area.Seen {
	state := "running"
	if one.Paused() {
		state = "paused"
	}
	return area.Seen{Version: one.UpdatedAt.Format(time.RFC3339Nano), Facts: []area.Fact{
		{Name: "Name", Value: one.Name}, {Name: "State", Value: state}, {Name: "Reason", Value: one.PauseReason},
	}}
}

// jsonBody is the body of a call as JSON.
func jsonBody(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // what pages pass are maps of texts, numbers and bools
	}
	return string(text)
}

// pauseView asks for a pause, or for another reason of one.
func (p *Partners) pauseView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, error) {
	one, _, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, err
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/pause", one.ID))
	call.JSON = jsonBody(map[string]string{"reason": "contract ended"})
	view := ui.Confirm{
		Heading: "Pause " + one.Name,
		Says: []string{
			"At once, on every node: nothing of it is sold, redeemed or authorized, and no webhook is sent to it. Licenses stay as they are, and events wait.",
			"Its people see in their portal that the marketplace paused it, but not the reason. Resuming sends what waited.",
		},
		Form: ui.Form{Fields: []ui.Field{{
			Name: "reason", Label: "Reason", Value: one.PauseReason, Required: true, Autocomplete: "off", Hint: "For operators; it stands in the audit. Name no buyer.",
		}}},
		Action: v.Path("%s", ofPartner(pausePath, one.ID)), Hidden: []ui.Param{seenPartner(one).Param()},
		Button: ui.Button{Label: "Pause it", Busy: "Pausing…", Kind: "danger"}, Cancel: v.Path("%s", ofPartner(partnerPath, one.ID)), Call: &call,
	}
	if one.Paused() {
		view.Heading, view.Says = "Change why "+one.Name+" is paused", []string{"It is paused already and stays so."}
		view.Button = ui.Button{Label: "Change the reason", Busy: "Saving…"}
	}
	return view, one, nil
}

func (p *Partners) askPause(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := p.pauseView(r, v)
	if err != nil {
		return err
	}
	return p.area.Confirm(w, r, v, http.StatusOK, view)
}

func (p *Partners) pause(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, one, err := p.pauseView(r, v)
	if err != nil {
		return err
	}
	view.Fields[0].Value = ui.FormText(r, "reason")
	if err := seenPartner(one).Unchanged(r); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	if _, _, err := p.Profiles.Pause(r.Context(), v.Actor(), one.ID, view.Fields[0].Value); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	return p.area.Done(w, r, v, ofPartner(partnerPath, one.ID), one.Name+" is paused.")
}

// resumeView asks for the end of a pause.
func (p *Partners) resumeView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, error) {
	one, _, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, err
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/resume", one.ID))
	view := ui.Confirm{
		Heading: "Resume " + one.Name,
		Says:    []string{"It is paused: " + one.PauseReason, "At once, on every node: it is sold, redeemed and authorized again, and the events that waited are sent."},
		Action:  v.Path("%s", ofPartner(resumePath, one.ID)), Hidden: []ui.Param{seenPartner(one).Param()},
		Button: ui.Button{Label: "Resume it", Busy: "Resuming…"}, Cancel: v.Path("%s", ofPartner(partnerPath, one.ID)), Call: &call,
	}
	if !one.Paused() {
		view.Says, view.Action = []string{"It is not paused."}, ""
	}
	return view, one, nil
}

func (p *Partners) askResume(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := p.resumeView(r, v)
	if err != nil {
		return err
	}
	return p.area.Confirm(w, r, v, http.StatusOK, view)
}

func (p *Partners) resume(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, one, err := p.resumeView(r, v)
	if err != nil {
		return err
	}
	if err := seenPartner(one).Unchanged(r); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	if _, _, err := p.Profiles.Resume(r.Context(), v.Actor(), one.ID); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	return p.area.Done(w, r, v, ofPartner(partnerPath, one.ID), one.Name+" is resumed.")
}
