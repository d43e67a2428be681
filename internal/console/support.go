package console

import (
	"fmt"
	"net/http"

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

// enterView builds the page that starts a support visit.
func (p *Partners) enterView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, error) {
	one, _, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, err
	}
	return ui.Confirm{
		Heading: "Enter the portal of " + one.Name + " as support",
		Says: []string{
			"For 30 minutes you see the portal as its people do, but neither their credentials nor their team. You " +
				"may only look, until you allow changes in a second step.",
			"The partner's admins are told by mail that support looks at their portal, without your name and " +
				"without the reason. The audit has both, and that it was as support.",
		},
		Form: ui.Form{Fields: []ui.Field{{
			Name: "reason", Label: "Reason", Required: true, Autocomplete: "off", Hint: "For operators; it stands " +
				"in the audit. Such as the number of the support case.",
		}}},
		Action: v.Path(
			"%s",
			ofPartner(supportPath, one.ID),
		), Button: ui.Button{Label: "Enter as support", Busy: "Entering…"},
		Cancel: v.Path("%s", ofPartner(partnerPath, one.ID)),
	}, one, nil
}

func (p *Partners) askEnter(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, one, err := p.enterView(r, v)
	if err != nil {
		return err
	}
	if _, open, err := p.visitOf(r, v, one.ID); err != nil {
		return err
	} else if open {
		ui.SeeOther(w, r, portalOf(one.ID))
		return nil
	}
	return p.area.Confirm(w, r, v, http.StatusOK, view)
}

func (p *Partners) enter(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, one, err := p.enterView(r, v)
	if err != nil {
		return err
	}
	view.Fields[0].Value = ui.FormText(r, "reason")
	if _, err := p.Support.Begin(r.Context(), v.Actor(), one.ID, view.Fields[0].Value); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	ui.SeeOther(w, r, portalOf(one.ID))
	return nil
}

// allowView builds the page of the second step of a visit.
func (p *Partners) allowView(r *http.Request, v *Visit) (ui.Confirm, partner.Partner, error) {
	one, _, err := p.one(r)
	if err != nil {
		return ui.Confirm{}, one, err
	}
	view := ui.Confirm{
		Heading: "Allow changes in the portal of " + one.Name,
		Says: []string{
			"For the rest of your visit, what you press there is done: events are sent, and with the role admin " +
				"URLs, contacts and settings are saved. Credentials and the team stay closed.",
			"Each act stands in the audit in your name, as support of this partner. The partner sees there that the " +
				"marketplace's support did it.",
		},
		Form: ui.Form{
			Fields: []ui.Field{
				{Name: "allow", Label: "I mean to change something for this partner", Type: "checkbox", Required: true},
			},
		},
		Action: v.Path(
			"%s",
			ofPartner(allowSupportPath, one.ID),
		), Button: ui.Button{Label: "Allow changes", Busy: "Allowing…", Kind: "danger"}, Cancel: portalOf(one.ID),
	}
	visit, open, err := p.visitOf(r, v, one.ID)
	switch {
	case err != nil:
		return view, one, err
	case !open:
		view.Says, view.Action, view.Cancel = []string{
			"You are not in this portal as support, or your visit has ended. Enter again from the partner's page.",
		}, "", v.Path(
			"%s",
			ofPartner(partnerPath, one.ID),
		)
	case visit.Acts():
		view.Says = []string{"Changes are allowed already."}
		view.Action = ""
	}
	return view, one, nil
}

func (p *Partners) askAllow(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, err := p.allowView(r, v)
	if err != nil {
		return err
	}
	return p.area.Confirm(w, r, v, http.StatusOK, view)
}

func (p *Partners) allow(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, one, err := p.allowView(r, v)
	if err != nil {
		return err
	}
	if ui.FormText(r, "allow") == "" {
		view.Form = view.WithError("allow", "Tick the box to allow changes. Nothing was changed.")
		return p.area.Confirm(w, r, v, http.StatusUnprocessableEntity, view)
	}
	if err := p.Support.Allow(r.Context(), v.Actor(), one.ID); err != nil {
		return p.area.Refuse(w, r, v, view, err)
	}
	p.Site.Sessions.Flash(r.Context(), "Changes are allowed until your visit ends.")
	ui.SeeOther(w, r, portalOf(one.ID))
	return nil
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
