package console

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

const (
	supportPath      = partnerPath + "/support"
	allowSupportPath = supportPath + "/allow"
	leaveSupportPath = supportPath + "/leave"
)

// portalOf returns the path of a partner's portal.
func portalOf(partnerID int64) string { return fmt.Sprintf("%s/%d", visitor.PortalPath, partnerID) }

// visitOf returns the person's open support visit at a partner.
func (p *Partners) visitOf(r *http.Request, v *Visit, partnerID int64) (partner.SupportVisit, bool, error) {
	a, err := p.Partners.SupportAccess(r.Context(), partnerID, v.User.ID, v.Session)
	if fault.Is(err, partner.CodeUnknownPartner) {
		return partner.SupportVisit{}, false, nil
	}
	return a.Visit, err == nil, err
}

// enter starts a support visit. In an open one there is nothing to ask.
func (p *Partners) enter(r *http.Request, v *Visit) (area.Action, error) {
	one, _, err := p.one(r)
	if err != nil {
		return area.Action{}, err
	}
	_, open, err := p.visitOf(r, v, one.ID)
	if err != nil {
		return area.Action{}, err
	}
	act := area.Action{To: portalOf(one.ID), Ask: ui.Confirm{
		Heading: "Enter the portal of " + one.Name + " as support",
		Says: []string{
			"For 30 minutes you see the portal as its people do, but neither their credentials nor their team. You " +
				"may only look, until you allow changes in a second step.",
			"The partner's admins are told by mail that support looks at their portal, without your name and " +
				"without the reason. The audit has both, and that it was as support.",
		},
		Form: ui.Form{Fields: []ui.Field{{
			Name: "reason", Label: "Reason", Required: true, Autocomplete: "off",
			Hint: "For operators; it stands in the audit. Such as the number of the support case.",
		}}},
		Button: ui.Button{Label: "Enter as support", Busy: "Entering…"},
		Cancel: v.Path("%s", ofPartner(partnerPath, one.ID)),
	}, Do: func(ctx context.Context) (string, error) {
		_, err := p.Support.Begin(ctx, v.Actor(), one.ID, ui.FormText(r, "reason"))
		return "", err
	}}
	if open {
		act.Skip = act.To
	}
	return act, nil
}

// allow is the second step of a visit.
func (p *Partners) allow(r *http.Request, v *Visit) (area.Action, error) {
	one, _, err := p.one(r)
	if err != nil {
		return area.Action{}, err
	}
	visit, open, err := p.visitOf(r, v, one.ID)
	if err != nil {
		return area.Action{}, err
	}
	view := ui.Confirm{Heading: "Allow changes in the portal of " + one.Name, Cancel: portalOf(one.ID)}
	switch {
	case !open:
		view.Cancel = v.Path("%s", ofPartner(partnerPath, one.ID))
		view.Says = []string{
			"You are not in this portal as support, or your visit has ended. Enter again from the partner's page.",
		}
		return area.Action{Ask: view}, nil
	case visit.Acts():
		view.Says = []string{"Changes are allowed already."}
		return area.Action{Ask: view}, nil
	}
	view.Says = []string{
		"For the rest of your visit, what you press there is done: events are sent, and with the role admin URLs, " +
			"contacts and settings are saved. Credentials and the team stay closed.",
		"Each act stands in the audit in your name, as support of this partner. The partner sees there that the " +
			"marketplace's support did it.",
	}
	view.Fields = []ui.Field{
		{Name: "allow", Label: "I mean to change something for this partner", Type: "checkbox", Required: true},
	}
	view.Button = ui.Button{Label: "Allow changes", Busy: "Allowing…", Kind: "danger"}
	return area.Action{Ask: view, Do: func(ctx context.Context) (string, error) {
		if ui.FormText(r, "allow") == "" {
			return "", fault.New(
				fault.Unprocessable, area.CodeIncompleteForm, "Tick the box to allow changes. Nothing was changed.",
			).On("allow")
		}
		return "Changes are allowed until your visit ends.", p.Support.Allow(ctx, v.Actor(), one.ID)
	}}, nil
}

// leave ends a visit. It is idempotent.
func (p *Partners) leave(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, _, err := p.one(r)
	if err != nil {
		return err
	}
	if err := p.Support.Leave(r.Context(), v.Actor(), one.ID); err != nil {
		return err
	}
	return p.area.Done(w, r, v, ofPartner(partnerPath, one.ID), "You left the portal of "+one.Name+".")
}
