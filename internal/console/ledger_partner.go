package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/ui"
)

// partnerLedgerView is the ledger of a partner.
type partnerLedgerView struct {
	listView
	Tabs     ui.Tabs
	Balances ui.Table
	Terms    ui.Table
	Without  string // the effect of having no terms; "": the partner has some
	AddTerms string // "" if the person may not
	Adjust   string // likewise
	Calls    []ui.Curl
}

// partnerOf reads the partner of the path.
func (l *Ledger) partnerOf(r *http.Request) (partner.Partner, error) {
	one, err := l.Partners.Get(r.Context(), area.ID(r, "partner"))
	return one, area.Missing(err)
}

// partner shows the balances, the terms and the postings of a partner.
func (l *Ledger) partner(w http.ResponseWriter, r *http.Request, v *Visit) error {
	one, err := l.partnerOf(r)
	if err != nil {
		return err
	}
	form := ui.Form{}
	f := l.find(r, &form)
	f.PartnerID = one.ID
	results, err := l.results(r, v, f, form, ofPartner(partnerLedgerPath, one.ID))
	if err != nil {
		return err
	}
	view := partnerLedgerView{
		listView: listView{
			Heading: "Ledger of " + one.Name, Form: form, Results: results,
			Curl: l.call("List these postings by API", http.MethodGet, "/operator/v1/ledger",
				ui.Param{Name: "partner_id", Value: one.ID}, ui.Param{Name: "kind", Value: string(f.Kind)}),
		},
		Tabs: l.tabs(v, one, partnerLedgerPath),
		Calls: []ui.Curl{
			l.call("Its balances by API", http.MethodGet, fmt.Sprintf("/operator/v1/partners/%d/balances", one.ID)),
			l.call("Its terms by API", http.MethodGet, fmt.Sprintf("/operator/v1/partners/%d/terms", one.ID)),
		},
	}
	balances, err := ledger.Balances(r.Context(), l.Books.DB, one.ID)
	if err != nil {
		return err
	}
	view.Balances = balancesTable(balances)
	terms, err := ledger.History(r.Context(), l.Books.DB, one.ID)
	if err != nil {
		return err
	}
	now := l.Now()
	view.Terms = termsTable(terms, ledger.Current(terms, l.Books.Defaults, now), now)
	view.Without = l.without(terms, now)
	if v.May(account.Admin) {
		view.AddTerms = v.Path("%s", ofPartner(addTermsPath, one.ID))
		view.Adjust = v.Path("%s", ofPartner(adjustPath, one.ID))
	}
	status := view.finish(r)
	return l.render(w, r, v, "partner-ledger", ui.View{Title: view.Heading, Status: status, Data: view})
}

// without says what happens to sales without terms; "": some terms count.
func (l *Ledger) without(list []ledger.Terms, now time.Time) string {
	d := l.Books.Defaults
	switch {
	case slices.ContainsFunc(list, func(t ledger.Terms) bool { return !t.BeginsAt.After(now) }):
		return ""
	case d.Set:
		return "No terms count now. The setting default-share divides the sales: the partner earns " +
			percent(d.ShareBP) + "."
	}
	return "No terms count now, and the setting default-share is not there: the sales are undivided."
}

// balancesTable lists balances by currency.
func balancesTable(list []ledger.Balance) ui.Table {
	order := map[ledger.Account]int{}
	for i, a := range accounts {
		order[a.name] = i
	}
	slices.SortStableFunc(list, func(x, y ledger.Balance) int {
		return cmp.Or(cmp.Compare(x.Currency, y.Currency), cmp.Compare(order[x.Account], order[y.Account]))
	})
	t := ui.Table{
		ID: "balances", Caption: "Balances", Cards: true,
		Columns: []ui.Column{{Label: "Account"}, {Label: "Amount", Number: true}},
	}
	for _, b := range list {
		label, why, amount := shownAmount(b)
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("balance-%s-%s", b.Currency, b.Account), Cells: []ui.Cell{
			{Text: label, Note: why}, {Text: amount},
		}})
	}
	return t
}

// percent formats basis points: "70 %", "67.5 %".
func percent(bp int64) string { return percentInput(bp) + " %" }

// percentInput formats basis points for a form.
func percentInput(bp int64) string {
	s := strconv.FormatInt(bp/100, 10)
	if rest := bp % 100; rest != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%02d", rest), "0")
	}
	return s
}

// termsTable lists the terms of a partner, the latest first. One of them may count now.
func termsTable(list []ledger.Terms, current *ledger.Terms, now time.Time) ui.Table {
	t := ui.Table{
		ID: "terms", Caption: "Terms, the latest first", Cards: true,
		Columns: []ui.Column{
			{Label: "Begins"},
			{Label: "Share", Wrap: true, Named: true},
			{Label: "Fees borne by", Named: true},
			{Label: "Payable", Wrap: true, Named: true},
			{Label: "Smallest payout", Wrap: true, Named: true},
			{Label: "Added", Named: true},
		},
	}
	for _, terms := range list {
		begins := ui.Cell{At: terms.BeginsAt}
		switch {
		case current != nil && terms.ID == current.ID:
			begins.Note = "counts now"
		case terms.BeginsAt.After(now):
			begins.Note = "later"
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("terms-%d", terms.ID), Cells: []ui.Cell{
			begins,
			{Text: percent(terms.ShareBP), Note: planShares(terms)},
			{Text: bearerWords(terms.Bears)},
			{Text: payableWords(terms.Days)},
			{Text: strings.Join(smallestLines(terms), ", ")},
			{At: terms.CreatedAt},
		}})
	}
	return t
}

// planShares lists the shares of single plans.
func planShares(t ledger.Terms) string {
	var list []string
	for _, tier := range slices.Sorted(maps.Keys(t.Plans)) {
		list = append(list, fmt.Sprintf("tier %d: %s", tier, percent(t.Plans[tier])))
	}
	return strings.Join(list, ", ")
}

// smallestLines lists the smallest payouts by currency.
func smallestLines(t ledger.Terms) []string {
	var list []string
	for _, currency := range slices.Sorted(maps.Keys(t.Smallest)) {
		list = append(list, money.Input(t.Smallest[currency], currency)+" "+currency)
	}
	return list
}

func bearerWords(b ledger.Bearer) string {
	switch b {
	case ledger.PartnerBears:
		return "The partner"
	case ledger.ByShare:
		return "By share"
	case ledger.MarketplaceBears:
	}
	return "You"
}

func payableWords(days int) string {
	switch days {
	case ledger.RefundDays:
		return "After the refund days of the product"
	case 0:
		return "Immediately"
	}
	return "After " + plural.Of(days, "day")
}
