package console

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// seenPartner returns the state of a partner that a page showed.
func seenPartner(one partner.Partner) area.Seen {
	state := "running"
	if one.Paused() {
		state = "paused"
	}
	return area.Seen{Version: one.UpdatedAt.Format(time.RFC3339Nano), Facts: []area.Fact{
		{Name: "Name", Value: one.Name}, {Name: "State", Value: state}, {Name: "Reason", Value: one.PauseReason},
	}}
}

// pause pauses a partner, or changes the reason.
func (p *Partners) pause(r *http.Request, v *Visit) (area.Action, error) {
	one, _, err := p.one(r)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/pause", one.ID))
	call.JSON = area.JSON(map[string]string{"reason": "contract ended"})
	view := ui.Confirm{
		Heading: "Pause " + one.Name,
		Says: []string{
			"At once, on every node: nothing of it is sold, redeemed or authorized, and no webhook is sent to it. " +
				"Licenses stay as they are, and events wait.",
			"Its people see in their portal that the marketplace paused it, but not the reason. Resuming sends what " +
				"waited.",
		},
		Form: ui.Form{Fields: []ui.Field{{
			Name: "reason", Label: "Reason", Value: one.PauseReason, Required: true, Autocomplete: "off",
			Hint: "For operators; it stands in the audit. Name no buyer.",
		}}},
		Button: ui.Button{Label: "Pause it", Busy: "Pausing…", Kind: "danger"},
		Cancel: v.Path("%s", ofPartner(partnerPath, one.ID)),
		Call:   &call,
	}
	if one.Paused() {
		view.Heading = "Change why " + one.Name + " is paused"
		view.Says = []string{"It is paused already and stays so."}
		view.Button = ui.Button{Label: "Change the reason", Busy: "Saving…"}
	}
	return area.Action{Ask: view, Seen: seenPartner(one), Do: func(ctx context.Context) (string, error) {
		_, _, err := p.Profiles.Pause(ctx, v.Actor(), one.ID, ui.FormText(r, "reason"))
		return one.Name + " is paused.", err
	}}, nil
}

// resume ends a pause.
func (p *Partners) resume(r *http.Request, v *Visit) (area.Action, error) {
	one, _, err := p.one(r)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/resume", one.ID))
	view := ui.Confirm{
		Heading: "Resume " + one.Name,
		Says: []string{
			"It is paused: " + one.PauseReason,
			"At once, on every node: it is sold, redeemed and authorized again, and the events that waited are sent.",
		},
		Button: ui.Button{Label: "Resume it", Busy: "Resuming…"},
		Cancel: v.Path("%s", ofPartner(partnerPath, one.ID)),
		Call:   &call,
	}
	if !one.Paused() {
		view.Says = []string{"It is not paused."}
		view.Button = ui.Button{}
	}
	return area.Action{Ask: view, Seen: seenPartner(one), Do: func(ctx context.Context) (string, error) {
		_, _, err := p.Profiles.Resume(ctx, v.Actor(), one.ID)
		return one.Name + " is resumed.", err
	}}, nil
}
