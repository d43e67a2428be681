package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// addTerms adds terms of a partner. The form begins with those that begin last.
func (l *Ledger) addTerms(r *http.Request, v *Visit) (area.Action, error) {
	one, err := l.partnerOf(r)
	if err != nil {
		return area.Action{}, err
	}
	plans, err := l.Partners.Plans(r.Context(), one.ID)
	if err != nil {
		return area.Action{}, err
	}
	list, err := ledger.History(r.Context(), l.Books.DB, one.ID)
	if err != nil {
		return area.Action{}, err
	}
	last := ledger.Terms{Bears: ledger.MarketplaceBears, Days: ledger.RefundDays}
	share := ""
	if len(list) > 0 {
		last = list[0]
		share = percentInput(last.ShareBP)
	}
	call := l.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/partners/%d/terms", one.ID))
	call.JSON = area.JSON(map[string]any{"share": 7000, "payable_after": 30})
	view := ui.Confirm{
		Heading: "Add terms of " + one.Name,
		Says: []string{
			"They divide the sales from their beginning on, and those that were never divided. Other sales keep " +
				"the terms of their time.",
		},
		Form:   ui.Form{Fields: termsFields(share, last, plans)},
		Button: ui.Button{Label: "Add terms", Busy: "Adding…"},
		Cancel: v.Path("%s", ofPartner(partnerLedgerPath, one.ID)), Call: &call,
	}
	return area.Action{Ask: view, Seen: seenTerms(list), Do: func(ctx context.Context) (string, error) {
		t, err := readTerms(r, plans)
		if err == nil {
			_, err = l.Books.AddTerms(ctx, v.Actor(), one.ID, t)
		}
		return "The terms are added.", err
	}}, nil
}

// seenTerms returns the state of the terms that a page showed.
func seenTerms(list []ledger.Terms) area.Seen {
	seen := area.Seen{Version: "none", Facts: []area.Fact{{Name: "Share", Value: ""}}}
	newest := int64(0)
	for _, t := range list {
		if t.ID > newest {
			newest = t.ID
			seen = area.Seen{Version: strconv.FormatInt(t.ID, 10), Facts: []area.Fact{
				{Name: "Share", Value: percent(t.ShareBP)},
				{Name: "Shares of plans", Value: planShares(t)},
				{Name: "Fees", Value: bearerWords(t.Bears)},
				{Name: "Payable", Value: payableWords(t.Days)},
				{Name: "Smallest payouts", Value: strings.Join(smallestLines(t), ", ")},
			}}
		}
	}
	return seen
}

// planField names the field with the share of a plan.
func planField(tier int) string { return "plan_" + strconv.Itoa(tier) }

// termsFields ask for terms. The last ones are the suggestion.
func termsFields(share string, last ledger.Terms, plans []partner.Plan) []ui.Field {
	list := []ui.Field{{
		Name: "share", Label: "The partner's share", Value: share, Required: true, Autocomplete: "off",
		Hint: "Percent of the price, such as 70 or 67.5.",
	}}
	for _, p := range plans {
		f := ui.Field{
			Name: planField(p.Tier), Label: "Share of " + p.DisplayName(), Autocomplete: "off",
			Hint: "Empty: the same as above.",
		}
		if bp, ok := last.Plans[p.Tier]; ok {
			f.Value = percentInput(bp)
		}
		list = append(list, f)
	}
	days := ""
	if last.Days != ledger.RefundDays {
		days = strconv.Itoa(last.Days)
	}
	return append(list, ui.Field{
		Name: "fees", Label: "Stripe's fees are borne by", Type: "select", Value: string(last.Bears), Required: true,
		Options: []ui.Option{
			{Value: string(ledger.MarketplaceBears), Label: "You"},
			{Value: string(ledger.PartnerBears), Label: "The partner"},
			{Value: string(ledger.ByShare), Label: "Both, by their shares"},
		},
	}, ui.Field{
		Name: "payable_after", Label: "Days until a share becomes payable", Value: days, Autocomplete: "off",
		Hint: "Empty: the refund days of the product.",
	}, ui.Field{
		Name: "smallest_payout", Label: "Smallest payouts", Type: "textarea", Rows: 3,
		Value: strings.Join(smallestLines(last), "\n"),
		Hint:  "One currency per line, such as 50.00 EUR. A smaller balance waits for the next payout.",
	}, ui.Field{Name: "begins_at", Label: "They begin", Type: "datetime-local", Hint: "Empty: now."})
}

// readTerms reads the form.
func readTerms(r *http.Request, plans []partner.Plan) (t ledger.Terms, err error) {
	t = ledger.Terms{
		Plans: map[int]int64{}, Bears: ledger.Bearer(ui.FormText(r, "fees")), Days: ledger.RefundDays,
		Smallest: map[string]int64{},
	}
	if t.ShareBP, err = readPercent(r, "share"); err != nil {
		return t, err
	}
	for _, p := range plans {
		if name := planField(p.Tier); ui.FormText(r, name) != "" {
			if t.Plans[p.Tier], err = readPercent(r, name); err != nil {
				return t, err
			}
		}
	}
	if days := ui.FormText(r, "payable_after"); days != "" {
		t.Days, err = strconv.Atoi(days)
		if err != nil || t.Days < 0 {
			return t, fault.Field("payable_after", "must be a whole number of days, or empty.")
		}
	}
	if t.BeginsAt, err = ui.FormTime(r, "begins_at"); err != nil {
		return t, err
	}
	for line := range strings.Lines(ui.FormText(r, "smallest_payout")) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		currency := strings.ToUpper(words[len(words)-1])
		units, ok := money.Parse(words[0], currency)
		_, twice := t.Smallest[currency]
		if len(words) != 2 || !ok || twice {
			return t, fault.Field(
				"smallest_payout",
				"must have an amount and a currency on each line, such as 50.00 EUR, and each currency once.",
			)
		}
		t.Smallest[currency] = units
	}
	return t, nil
}

// readPercent reads a share in percent, with at most two digits after the point.
func readPercent(r *http.Request, name string) (bp int64, err error) {
	text := strings.TrimSpace(strings.TrimSuffix(ui.FormText(r, name), "%"))
	bp, ok := money.Parse(text, "")
	if !ok || bp > ledger.Whole {
		return 0, fault.Field(name, "must be from 0 to 100 percent, such as 70 or 67.5.")
	}
	return bp, nil
}
