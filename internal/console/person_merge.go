package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/ui"
)

// setEmail corrects the email address of the person of the path.
func (p *People) setEmail(r *http.Request, v *Visit) (area.Action, error) {
	u, err := p.find(r)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call("The same by API", http.MethodPatch, fmt.Sprintf("/operator/v1/users/%d", u.ID))
	says := []string{
		"The new address is not proven until the person opens the link that we mail to it. Until then the person " +
			"sees no license. Both addresses are told, the person is signed out everywhere, and the password is " +
			"deleted.",
	}
	if u.Guest() {
		says = []string{
			"This person paid without an account. We mail the link to the license to the new address, and the link " +
				"that went to " + u.GuestEmail + " ends.",
		}
	}
	act := area.Action{
		Ask: ui.Confirm{
			Heading: "Change the email address of " + personName(u), Cancel: v.Path(peoplePath+"/%d", u.ID), Says: says,
			Button: ui.Button{Label: "Change the address", Busy: "Changing…"}, Call: &call,
			Form: ui.Form{Fields: []ui.Field{
				{Name: "email", Label: "New email address", Type: "email", Required: true, Autocomplete: "off"},
			}},
		},
		Seen: area.Seen{
			Version: u.UpdatedAt.UTC().String(), Facts: []area.Fact{{Name: "Email address", Value: u.Address()}},
		},
		Refused: p.Accounts.PlainBuyer(r.Context(), p.Accounts.DB, u.ID),
	}
	act.Do = func(ctx context.Context) (string, error) {
		now, err := p.Accounts.SetEmail(ctx, v.Actor(), u.ID, ui.FormText(r, "email"))
		return "The email address is " + now.Address() + " now.", err
	}
	return act, nil
}

// merge merges the person of the path into another one: first it asks for the other one, then it
// shows what moves.
func (p *People) merge(r *http.Request, v *Visit) (area.Action, error) {
	u, err := p.find(r)
	if err != nil {
		return area.Action{}, err
	}
	call := p.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/users/%d/merge", u.ID))
	act := area.Action{
		Ask: ui.Confirm{
			Heading: "Merge " + personName(u) + " into another person", Cancel: v.Path(peoplePath+"/%d", u.ID),
			Says: []string{
				"Both are the same person, and bought with two email addresses. The other one keeps the address, " +
					"the name and the password. You see what moves before anything is changed.",
			},
			Button: ui.Button{Label: "Continue", Busy: "Looking…"}, Call: &call,
			Form: ui.Form{Fields: []ui.Field{{
				Name: "into", Label: "The other person", Required: true, Autocomplete: "off",
				Hint: "The email address of the account, or the number of the person.",
			}}},
		},
		Refused: p.Accounts.PlainBuyer(r.Context(), p.Accounts.DB, u.ID),
	}
	if r.PostFormValue(confirmed) == "" {
		act.Then = func(ask ui.Confirm) (ui.Confirm, error) { return p.mergeCounts(r, u, ask) }
		return act, nil
	}
	act.Do = func(ctx context.Context) (string, error) {
		into, err := p.other(ctx, ui.FormText(r, "into"))
		if err != nil {
			return "", err
		}
		now, err := p.Merges.People(ctx, v.Actor(), u.ID, into.ID)
		return personName(now) + " has everything now.", err
	}
	return act, nil
}

// mergeCounts returns the page that shows what a merge moves.
func (p *People) mergeCounts(r *http.Request, u account.User, ask ui.Confirm) (ui.Confirm, error) {
	into, err := p.other(r.Context(), ui.FormText(r, "into"))
	if err != nil {
		return ask, err
	}
	n, err := p.Merges.Preview(r.Context(), u.ID, into.ID)
	if err != nil {
		return ask, err
	}
	ask.Heading = "Merge " + personName(u) + " into " + personName(into)
	ask.Says = []string{
		fmt.Sprintf("To %s go: licenses: %d, purchases with their receipts: %d, orders: %d, refunds: %d.",
			personName(into), n.Licenses, n.Purchases, n.Orders, n.Refunds),
		"No license is disconnected, and no partner is told. Both people are signed out everywhere.",
		fmt.Sprintf("What is left of %s is a number. This can't be undone.", personName(u)),
	}
	ask.Button = ui.Button{Label: "Merge the two", Busy: "Merging…", Kind: "danger"}
	ask.Fields = nil
	ask.Hidden = append(ask.Hidden,
		ui.Param{Name: "into", Value: strconv.FormatInt(into.ID, 10)}, ui.Param{Name: confirmed, Value: "yes"})
	return ask, nil
}

// other returns the person with an email address or a number.
func (p *People) other(ctx context.Context, typed string) (account.User, error) {
	typed = strings.TrimSpace(typed)
	if id, err := strconv.ParseInt(typed, 10, 64); err == nil {
		return p.Accounts.Get(ctx, id)
	}
	u, found, err := p.Accounts.FindOne(ctx, storable(typed)) // prefers the account
	if err != nil || found && !u.Guest() {
		return u, err
	}
	return account.User{}, fault.Field("into", "is the address or the number of nobody with an account.")
}
