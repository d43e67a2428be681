package portal

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/payout"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

const (
	payoutDetailsPath       = "/payout-details"
	changePayoutDetailsPath = payoutDetailsPath + "/change"
	removePayoutDetailsPath = payoutDetailsPath + "/remove"
)

// payoutProof is the maximum age of the sign-in of an admin who changes payout details.
const payoutProof = 10 * time.Minute

// payoutDetailsTable returns the rows of the payout details.
func (h *Handler) payoutDetailsTable() []Route {
	change := provenFirst(h, changePayoutDetailsPath, h.changePayoutDetails)
	remove := provenFirst(h, removePayoutDetailsPath, h.removePayoutDetails)
	return slices.Concat(
		[]Route{row(Page, payoutDetailsPath, partner.Viewer, h.payoutDetails)},
		act(changePayoutDetailsPath, partner.Admin, change),
		act(removePayoutDetailsPath, partner.Admin, remove),
	)
}

// provenFirst sends a person to the sign-in, and from there to the page at path, unless they signed in just
// now. Someone else can have an older session, and the maker of the link an assisted one.
func provenFirst(
	h *Handler, path string, read func(*http.Request, *Visit) (area.Action, error),
) func(*http.Request, *Visit) (area.Action, error) {
	return func(r *http.Request, v *Visit) (area.Action, error) {
		if v.Signed.Assisted || h.Now().Sub(v.Signed.At) > payoutProof {
			return area.Action{First: visitor.SignInAgain(v.Path("%s", path))}, nil
		}
		return read(r, v)
	}
}

// payoutDetailsView is the page of the payout details.
type payoutDetailsView struct {
	payout.Details
	Usable bool
	Change string // "" if the person may not
	Remove string // likewise, or there is nothing to remove
}

func (h *Handler) payoutDetails(w http.ResponseWriter, r *http.Request, v *Visit) error {
	d, err := h.Payouts.Details(r.Context(), v.Partner.ID)
	if err != nil {
		return err
	}
	view := payoutDetailsView{Details: d, Usable: d.Given() && !h.Now().Before(d.UsableAt)}
	if v.Covers(partner.Admin) {
		view.Change = v.Path(changePayoutDetailsPath)
		if d.Given() {
			view.Remove = v.Path(removePayoutDetailsPath)
		}
	}
	return h.render(w, r, v, "payout-details", ui.View{Title: "Payout details", Data: view})
}

// seenPayoutDetails returns the state of payout details that a page showed.
func seenPayoutDetails(d payout.Details) area.Seen {
	return area.Seen{
		Version: "details-" + strconv.FormatInt(d.ID, 10),
		Facts:   []area.Fact{{Name: "Payout details", Value: d.Masked}},
	}
}

// changePayoutDetails stores new payout details.
func (h *Handler) changePayoutDetails(r *http.Request, v *Visit) (area.Action, error) {
	d, err := h.Payouts.Details(r.Context(), v.Partner.ID)
	if err != nil {
		return area.Action{}, err
	}
	view := ui.Confirm{
		Heading: "Change the payout details",
		Says: []string{
			"Payouts use new details after 48 hours. Until then, no payout run includes you.",
			"All admins of " + v.Partner.Name + " get an email about the change.",
		},
		Form: ui.Form{Fields: []ui.Field{{
			Name: "details", Label: "Account", Type: "textarea", Rows: 5, Required: true, Autocomplete: "off",
			Hint: "Account holder, bank, country and BIC, and at the end the IBAN or account number: only its last " +
				"characters are shown afterwards.",
		}}},
		Button: ui.Button{Label: "Save", Busy: "Saving…"}, Cancel: v.Path(payoutDetailsPath),
	}
	return area.Action{Ask: view, Seen: seenPayoutDetails(d), Do: func(ctx context.Context) (string, error) {
		text := ui.FormText(r, "details")
		if text == "" {
			return "", fault.Field("details", "are missing. Enter the account that we pay you to.")
		}
		_, err := h.Payouts.SetDetails(ctx, v.Actor(), v.Partner.ID, v.User, text)
		return "The payout details are saved.", err
	}}, nil
}

// removePayoutDetails removes the payout details.
func (h *Handler) removePayoutDetails(r *http.Request, v *Visit) (area.Action, error) {
	d, err := h.Payouts.Details(r.Context(), v.Partner.ID)
	if err != nil {
		return area.Action{}, err
	}
	view := ui.Confirm{
		Heading: "Remove the payout details",
		Says: []string{
			"No payout run includes you until someone enters new details. Your balance stays as it is.",
			"All admins of " + v.Partner.Name + " get an email about it.",
		},
		Button: ui.Button{Label: "Remove", Busy: "Removing…", Kind: "danger"}, Cancel: v.Path(payoutDetailsPath),
	}
	return area.Action{Ask: view, Seen: seenPayoutDetails(d), Do: func(ctx context.Context) (string, error) {
		_, err := h.Payouts.SetDetails(ctx, v.Actor(), v.Partner.ID, v.User, "")
		return "The payout details are removed.", err
	}}, nil
}
