package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/ui"
)

// planFields returns the fields that ask for another plan.
func planFields(l *Licenses, r *http.Request, d license.Detail) ([]ui.Field, error) {
	plans, err := l.Partners.Plans(r.Context(), d.PartnerID)
	if err != nil {
		return nil, err
	}
	tiers := ui.Field{Name: "tier", Label: "New plan", Type: "select", Required: true}
	currency := ""
	for _, p := range plans {
		if p.Tier != d.Tier {
			tiers.Options = append(
				tiers.Options,
				ui.Option{Value: strconv.Itoa(p.Tier), Label: fmt.Sprintf("Tier %d: %s", p.Tier, p.Name)},
			)
			currency = p.Currency
		}
	}
	if len(tiers.Options) == 0 {
		return nil, fault.New(
			fault.Conflict, CodeNeedsStep, "The partner sells no other plan. Add one to the partner first.",
		)
	}
	tiers.Value = tiers.Options[0].Value
	return []ui.Field{
		tiers,
		{Name: "amount", Label: "Amount that was paid, such as 49.00", Value: "0.00"},
		{Name: "currency", Label: "Currency", Value: currency},
		{Name: "external_id", Label: "Your reference"},
	}, nil
}

// amount parses an amount of money as people type it.
func amount(field, text, currency string) (units int64, code string, err error) {
	code = strings.ToUpper(currency)
	if code != "" && (len(code) != 3 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
		return 0, "", fault.Field("currency", "must be three letters, such as EUR.")
	}
	units, ok := money.Parse(text, code)
	if !ok {
		return 0, "", fault.Field(field, "must be an amount such as %s.", money.Text(4900, code))
	}
	return units, code, nil
}
