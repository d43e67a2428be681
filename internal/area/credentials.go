package area

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// credentialsPath is the page of a partner's secrets, below the partner's.
const credentialsPath = "/credentials"

// overlaps are the periods for which a replaced secret can still work.
var overlaps = []ui.Option{
	{Value: "0", Label: "Not at all: it ends at once"},
	{Value: "3600", Label: "1 hour"},
	{Value: "86400", Label: "24 hours"},
	{Value: "259200", Label: "3 days"},
	{Value: "604800", Label: "7 days"},
	{Value: "2592000", Label: "30 days"},
}

const defaultOverlap = 86400

// overlapField returns the field that asks for this period.
func (v *PartnerVisit) overlapField(label string) ui.Field {
	return ui.Field{
		Name: "overlap_s", Label: label, Type: "select", Value: strconv.Itoa(defaultOverlap),
		Options: overlaps, Required: true,
		Hint: v.either(
			"Long enough to put the new one into all your servers. You can end it earlier by “Switch now”.",
			"Long enough for the partner to put the new one into all its servers.",
		),
	}
}

// overlap reads that field.
func overlap(r *http.Request) time.Duration {
	n, err := strconv.ParseInt(ui.FormText(r, "overlap_s"), 10, 32)
	if err != nil {
		return -1 // refused
	}
	return time.Duration(n) * time.Second
}

// rotatedSteps lists the remaining steps after a rotation. pronoun stands for the secrets: it or them.
func (v *PartnerVisit) rotatedSteps(made partner.Rotation, pronoun string) []string {
	left := made.PreviousUntil.Sub(v.Common().Area.Now())
	switch {
	case !v.Own:
		return []string{
			"Hand " + pronoun + " to the partner in a way that nobody else reads. We keep no copy that could be shown.",
		}
	case left <= 0:
		return []string{"Put it into your servers at once: the replaced one has ended."}
	}
	return []string{
		"Put it into your servers. Both work for another " + Span(left) + ".",
		"Check under Credentials that the new one is being used.",
		"Then press “Switch now” there, or let the time run out.",
	}
}

// SecretName returns the display name of a kind of secret.
func SecretName(s partner.Secret) string {
	switch s {
	case partner.APIKey:
		return "API key"
	case partner.ClientSecret:
		return "client secret"
	case partner.WebhookSecret:
		return "webhook secret"
	}
	return "secret"
}

// Credentials returns the rows of the acts on a partner's secrets. end is the last part of the path
// of the act that ends one.
func (p *PartnerPages) Credentials(end string) []Route {
	s := p.subject(credentialsPath)
	s.addAction("/{credential}/rotate", p.rotate)
	s.addAction("/{credential}/"+end, p.endCredential)
	return s.rows
}

// credential returns the secret of the path. As in their API, the marketplace's people change only
// the main secrets.
func (p *PartnerPages) credential(r *http.Request, v *PartnerVisit) (partner.Credential, error) {
	c, err := p.Partners.Credential(r.Context(), v.Partner.ID, ID(r, "credential"))
	if err == nil && !v.Own && c.Name != partner.MainKey {
		err = NotFound()
	}
	return c, Missing(err)
}

// rotate replaces the secret of the path and shows the new one.
func (p *PartnerPages) rotate(r *http.Request, v *PartnerVisit) (Action, error) {
	number := ID(r, "credential")
	c, err := p.credential(r, v)
	switch {
	case fault.Is(err, wire.CodeNotFound) && r.Method == http.MethodPost:
		// The form names the secret: after it was sent once, the secret of the path may have ended.
		c = partner.Credential{What: partner.Secret(ui.FormText(r, "what"))}
		if v.Own {
			c.Name = ui.FormText(r, "name")
		}
	case err != nil:
		return Action{}, err
	}
	view := v.rotateView(c)
	if c.ID == 0 || c.Replaced() {
		view = ui.Confirm{Heading: "Nothing was rotated", Cancel: v.url, Says: []string{
			"This secret was replaced already. If somebody else did it, the new one is in the list.",
		}}
	}
	return Action{Ask: view, Make: func(ctx context.Context) (ui.Secrets, error) {
		what := SecretName(c.What)
		shown := ui.Secrets{Heading: v.either("Your new "+what, "The new "+what+" of "+v.Partner.Name)}
		once, err := v.Common().Area.Once(r, v)
		if err == nil {
			var made partner.Rotation
			made, err = p.Partners.Renew(ctx, v.Actor(), v.Partner.ID, partner.Renewal{
				What: c.What, Name: c.Name, Overlap: overlap(r), Replaces: number, Once: once,
			})
			shown.Repeated = made.Repeated
			shown.Secrets = []ui.Key{{Label: what, Value: made.Value}}
			shown.Says = v.rotatedSteps(made, "it")
		}
		if err != nil && c.ID == 0 && !WasSent(err) {
			err = NotFound()
		}
		return shown, err
	}}, nil
}

// rotateView builds the page that asks for a rotation.
func (v *PartnerVisit) rotateView(c partner.Credential) ui.Confirm {
	what := SecretName(c.What)
	view := ui.Confirm{
		Heading: fmt.Sprintf("Rotate the %s of %s", what, v.Partner.Name),
		Says: []string{
			"A new one is made and shown once, in the answer to this form: you hand it to the partner. The present " +
				"one goes on working for as long as you choose.",
			"One that was replaced earlier and still works ends now. The partner's people can do this by themselves " +
				"in their portal, where nobody else sees the secret.",
		},
		Form:   ui.Form{Fields: []ui.Field{v.overlapField("How long the present one goes on working")}},
		Hidden: []ui.Param{Nonce(), {Name: "what", Value: c.What}, {Name: "name", Value: c.Name}},
		Button: ui.Button{Label: "Rotate", Busy: "Rotating…", Kind: v.either("", "danger")}, Cancel: v.url,
	}
	if !v.Own {
		call := v.call("The same by API", http.MethodPost, "/rotate")
		call.JSON = JSON(map[string]any{"what": string(c.What), "overlap_s": defaultOverlap})
		view.Call = &call
		return view
	}
	view.Heading = fmt.Sprintf("Rotate the %s “%s”", what, c.Name)
	view.Says = []string{fmt.Sprintf(
		"A new %s is made and shown once, in the answer to this form. The present one%s goes on working for as long "+
			"as you choose, so that nothing breaks while you change your servers.", what, tailWords(c),
	)}
	if c.Signs {
		view.Says = append(view.Says, fmt.Sprintf(
			"Meanwhile webhook-signature carries two signatures, one by each secret, and X-%s-Signature is made with "+
				"the present one until you switch or the time is over.", v.Partner.Brand,
		))
	}
	view.Says = append(view.Says, "If one was replaced earlier and still works, it ends now.")
	return view
}

func tailWords(c partner.Credential) string {
	if c.Tail == "" {
		return ""
	}
	return ", which ends in " + c.Tail + ","
}

// endCredential revokes the secret of the path, or ends one that was replaced. The marketplace's
// people only do the latter.
func (p *PartnerPages) endCredential(r *http.Request, v *PartnerVisit) (Action, error) {
	c, err := p.credential(r, v)
	if err != nil {
		return Action{}, err
	}
	if !v.Own && !c.Replaced() {
		return Action{Ask: ui.Confirm{
			Heading: "There is nothing to switch", Cancel: v.url,
			Says: []string{"This secret was not replaced. Rotate it first."},
		}}, nil
	}
	what := SecretName(c.What)
	call := v.call("The same by API", http.MethodDelete, fmt.Sprintf("%s/%d", credentialsPath, c.ID))
	if !v.Own {
		call = v.call("The same by API", http.MethodPost, "/switch")
		call.JSON = JSON(map[string]any{"what": string(c.What)})
	}
	view := ui.Confirm{
		Heading: fmt.Sprintf("Revoke the %s “%s”", what, c.Name), Says: v.endSays(c), Cancel: v.url, Call: &call,
		Button: ui.Button{Label: "Revoke it now", Busy: "Revoking…", Kind: "danger"},
	}
	done := fmt.Sprintf("The %s “%s” is revoked.", what, c.Name)
	if c.Replaced() {
		view.Heading = fmt.Sprintf("Switch %sto the new %s now", v.either("", v.Partner.Name+" "), what)
		view.Button = ui.Button{Label: "Switch now", Busy: "Switching…", Kind: "danger"}
		done = v.either(
			"The replaced "+what+" has ended; only the new one works.",
			"Switched. The replaced "+what+" does not work any more.",
		)
	}
	return Action{Ask: view, Do: func(ctx context.Context) (string, error) {
		_, err := p.Partners.Revoke(ctx, v.Actor(), v.Partner.ID, c.ID)
		return done, err
	}}, nil
}

// endSays describes the effect of ending a secret.
func (v *PartnerVisit) endSays(c partner.Credential) []string {
	replaced := fmt.Sprintf("The replaced %s%s stops working at once, on every server of ours",
		SecretName(c.What), tailWords(c))
	switch {
	case !v.Own:
		left := Span(c.EndsAt.Sub(v.Common().Area.Now()))
		return []string{
			replaced + ". It would work for another " + left + ".",
			"Do this when the partner says that nothing of theirs uses it any more.",
		}
	case c.Replaced() && c.Signs:
		return []string{
			replaced + ", and webhooks are signed with the new one alone. Do this when your servers verify with the " +
				"new one.",
		}
	case c.Replaced():
		return []string{replaced + ". Do this when nothing uses it any more."}
	case c.What == partner.ClientSecret:
		return []string{
			"Sign-ins stop: your application can exchange no code and refresh no token until you make a new client " +
				"secret. To replace it without a gap, rotate it instead.",
		}
	}
	return []string{fmt.Sprintf(
		"Every program that uses this key%s is refused from now on, on every server of ours. This cannot be undone. "+
			"To replace it without a gap, rotate it instead.", tailWords(c),
	)}
}
