package console

import (
	"context"
	"net/http"
	"time"

	"claviger/internal/accounting"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/ui"
)

// The directions of an adjustment.
const (
	adjustUp   = "up"
	adjustDown = "down"
)

// adjust changes the balance of a partner.
func (l *Ledger) adjust(r *http.Request, v *Visit) (area.Action, error) {
	one, err := l.partnerOf(r)
	if err != nil {
		return area.Action{}, err
	}
	back := v.Path("%s", ofPartner(partnerLedgerPath, one.ID))
	call := l.call("The same by API", http.MethodPost, "/operator/v1/ledger/adjustments")
	call.JSON = area.JSON(map[string]any{
		"partner_id": one.ID, "amount": 1500, "currency": "EUR", "reason": "A prize",
	})
	view := ui.Confirm{
		Heading: "Adjust the balance of " + one.Name,
		Says: []string{
			"The amount is payable immediately, or owed by the partner. Only another adjustment takes it back.",
		},
		Form: ui.Form{Fields: []ui.Field{
			{
				Name: "direction", Label: "The partner is owed", Type: "select", Value: adjustUp, Required: true,
				Options: []ui.Option{{Value: adjustUp, Label: "More"}, {Value: adjustDown, Label: "Less"}},
			},
			{Name: "amount", Label: "Amount", Required: true, Autocomplete: "off", Hint: "Such as 15.00."},
			{
				Name: "currency", Label: "Currency", Required: true, Autocomplete: "off",
				Hint: "Three letters, such as USD.",
			},
			{
				Name: "reason", Label: "Reason", Required: true, Autocomplete: "off",
				Hint: "The partner reads it: name no buyer.",
			},
		}},
		Hidden: []ui.Param{area.Nonce()},
		Button: ui.Button{Label: "Adjust the balance", Busy: "Adjusting…"}, Cancel: back, Call: &call,
	}
	return area.Action{Ask: view, Do: func(ctx context.Context) (string, error) {
		a, err := readAdjustment(r)
		if err == nil {
			a.PartnerID = one.ID
			a.Idempotency, err = l.area.Once(r, v)
		}
		if err == nil {
			_, err = l.Books.Adjust(ctx, v.Actor(), a)
		}
		return "The balance is adjusted.", err
	}}, nil
}

// readAdjustment reads the form.
func readAdjustment(r *http.Request) (a accounting.Adjustment, err error) {
	a.Amount, a.Currency, err = amount("amount", ui.FormText(r, "amount"), ui.FormText(r, "currency"))
	if err != nil {
		return a, err
	}
	a.Reason = ui.FormText(r, "reason")
	switch ui.FormText(r, "direction") {
	case adjustUp:
	case adjustDown:
		a.Amount = -a.Amount
	default:
		return a, fault.Field("direction", "must be more or less.")
	}
	return a, nil
}

// moveFrom changes the moment from which sales count.
func (l *Ledger) moveFrom(r *http.Request, v *Visit) (area.Action, error) {
	b, err := ledger.ReadBeginning(r.Context(), l.Books.DB)
	if err != nil {
		return area.Action{}, err
	}
	call := l.call("The same by API", http.MethodPut, "/operator/v1/ledger/from")
	call.JSON = area.JSON(map[string]any{"from": "2026-11-01T00:00:00Z"})
	now := ui.FormatTime(b.From.In(ui.Zone(r)), "2006-01-02 15:04:05 UTC")
	from := ui.Field{
		Name: "from", Label: "Sales count from", Type: "datetime-local", Required: true, Hint: "Now it is " + now + ".",
	}
	view := ui.Confirm{
		Heading: "Change from when sales count",
		Says: []string{
			"Earlier sales are settled: they add nothing to a balance, and only their refunds and lost disputes " +
				"since that moment do. Later sales count.",
			"Choose no moment before your last payment to partners outside of this service: they would be paid twice.",
			"Balances change in the background, and no payout run starts before that is done. The first payout run " +
				"makes the moment final.",
		},
		Form:   ui.Form{Fields: []ui.Field{from}},
		Button: ui.Button{Label: "Change the moment", Busy: "Changing…"}, Cancel: v.Path(ledgerPath), Call: &call,
	}
	seen := area.Seen{
		Version: b.From.Format(time.RFC3339Nano),
		Facts:   []area.Fact{{Name: "Sales count from", Value: now}},
	}
	return area.Action{Ask: view, Seen: seen, Refused: b.Final(), Do: func(ctx context.Context) (string, error) {
		at, err := ui.FormTime(r, "from")
		if err == nil && at.IsZero() {
			err = fault.Field("from", "is missing. Choose the moment from which sales count.")
		}
		if err == nil {
			_, err = l.Books.MoveFrom(ctx, v.Actor(), at)
		}
		return "The moment is changed. Balances follow in the background.", err
	}}, nil
}
