package console

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/accounting"
	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

// Ledger serves the pages about the earnings of partners.
type Ledger struct {
	section

	Books    *accounting.Store
	Partners *partner.Store
}

const (
	ledgerFromPath    = ledgerPath + "/from"
	partnerLedgerPath = partnerPath + "/ledger"
	addTermsPath      = partnerLedgerPath + "/terms"
	adjustPath        = partnerLedgerPath + "/adjust"
)

func (l *Ledger) table() []Route {
	return slices.Concat(
		[]Route{
			row(Page, ledgerPath, account.Read, l.postings),
			row(Page, partnerLedgerPath, account.Read, l.partner),
		},
		act(ledgerFromPath, account.Admin, l.moveFrom),
		act(addTermsPath, account.Admin, l.addTerms),
		act(adjustPath, account.Admin, l.adjust),
	)
}

// accounts describes the accounts, in the order of the page. Those of money have the buyers' payments; the
// others have their owners.
var accounts = []struct {
	name  ledger.Account
	label string
	why   string
	money bool
}{
	{ledger.Share, "Earned", "by the partner, and not payable yet", false},
	{ledger.Payable, "Payable", "to the partner", false},
	{ledger.InPayout, "In a payout run", "reserved for the partner", false},
	{ledger.Paid, "Paid", "to the partner", false},
	{ledger.Disputed, "Disputed", "the partner's part of money that a bank examines", false},
	{ledger.Undivided, "Undivided", "sales without terms", false},
	{ledger.Margin, "Margin", "what you earned", false},
	{ledger.Fees, "Fees", "that you bear", false},
	{ledger.Adjustments, "Adjustments", "of the balance by admins, at your cost", false},
	{ledger.Provider, "At Stripe", "the money of buyers", true},
	{ledger.External, "In your own checkout", "the money of buyers", true},
	{ledger.Held, "Held by the partner", "the money of buyers, while it is undivided", true},
}

// shownAmount returns a line as people read it: money is positive, and so is an amount that belongs to
// someone, which the ledger writes as a debt.
func shownAmount(b ledger.Balance) (label, why, amount string) {
	for _, a := range accounts {
		if a.name == b.Account {
			if !a.money {
				b.Amount = -b.Amount
			}
			return a.label, a.why, money.Text(b.Amount, b.Currency)
		}
	}
	return string(b.Account), "", money.Text(b.Amount, b.Currency)
}

// kindWords returns the kind of a posting in words.
func kindWords(k ledger.Kind) string {
	switch k { //nolint:exhaustive // the others say what they are
	case ledger.Sold:
		return "Sale"
	case ledger.WasSettled:
		return "Settled before the ledger"
	case ledger.NotSettled:
		return "Counts again"
	case ledger.BecamePayable:
		return "Became payable"
	}
	words := strings.ReplaceAll(string(k), "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// kindField asks for a kind of postings.
func kindField(r *http.Request) ui.Field {
	f := ui.Field{
		Name: "kind", Label: "Kind", Type: "select", Value: r.URL.Query().Get("kind"),
		Options: []ui.Option{{Label: "All"}},
	}
	for _, k := range ledger.Kinds() {
		f.Options = append(f.Options, ui.Option{Value: string(k), Label: kindWords(k)})
	}
	return f
}

// find reads the filter of the query.
func (l *Ledger) find(r *http.Request, form *ui.Form) ledger.Find {
	form.Fields = append(
		form.Fields, kindField(r),
		ui.Field{Name: "from", Label: "Posted from", Type: "datetime-local"},
		ui.Field{Name: "to", Label: "Posted to", Type: "datetime-local"},
	)
	var f ledger.Find
	var err error
	if f.Kind, err = ledger.ParseKind(r.URL.Query().Get("kind")); err != nil {
		form.Refuse(err)
	}
	f.From, f.To = span(r, form)
	return f
}

// ledgerView is the page of all postings.
type ledgerView struct {
	listView
	Beginning ledger.Beginning
	Move      string // the page that changes it; "": the person may not, or it is final
}

func (l *Ledger) postings(w http.ResponseWriter, r *http.Request, v *Visit) error {
	form := ui.Form{Fields: []ui.Field{
		{Name: "partner_id", Label: "Partner's number", Value: r.URL.Query().Get("partner_id")},
	}}
	partnerID := number(r, &form, "partner_id")
	f := l.find(r, &form)
	f.PartnerID = partnerID
	results, err := l.results(r, v, f, form, ledgerPath)
	if err != nil {
		return err
	}
	view := ledgerView{listView: listView{
		Heading: "Ledger", Lead: "Every sale, refund, dispute, fee and payout, by partner, newest first.",
		Form: form, Results: results,
		Curl: l.call("The same by API", http.MethodGet, "/operator/v1/ledger",
			ui.Param{Name: "partner_id", Value: orNil(f.PartnerID)}, ui.Param{Name: "kind", Value: string(f.Kind)},
			ui.Param{Name: "from", Value: f.From}, ui.Param{Name: "to", Value: f.To}),
	}}
	if view.Beginning, err = ledger.ReadBeginning(r.Context(), l.Books.DB); err != nil {
		return err
	}
	if v.May(account.Admin) && view.Beginning.Final() == nil {
		view.Move = v.Path(ledgerFromPath)
	}
	status := view.finish(r)
	return l.render(w, r, v, "ledger", ui.View{Title: view.Heading, Status: status, Data: view})
}

// results finds a page of postings. Only the page of all partners names them.
func (l *Ledger) results(
	r *http.Request, v *Visit, f ledger.Find, form ui.Form, path string,
) (ui.Results, error) {
	var found ledger.Found
	var err error
	if !form.Failed() {
		found, err = ledger.FindPostings(r.Context(), l.Books.DB, f, before(r), perPage)
	}
	if err != nil {
		return ui.Results{}, err
	}
	var names map[int64]string
	if path == ledgerPath {
		partners := ids(found.Postings, func(p *ledger.Posting) int64 { return p.PartnerID })
		names, err = l.Partners.Names(r.Context(), partners)
		if err != nil {
			return ui.Results{}, err
		}
	}
	return ui.Results{
		Filters: ui.Filters{Label: "Search postings", URL: v.Path("%s", path)},
		Table:   postingsTable(v, found.Postings, names),
		Pager:   pager(r, "Pages of postings", found.Next), SearchedTo: found.SearchedTo,
		Nothing: ui.Empty{Title: "No postings yet", Text: "Each sale with an amount and a currency is posted."},
	}, nil
}

// postingsTable lists postings with their lines. Without names it is about one partner.
func postingsTable(v *Visit, list []ledger.Posting, names map[int64]string) ui.Table {
	t := ui.Table{
		ID: "postings", Caption: "Postings, newest first", Cards: true,
		Columns: []ui.Column{{Label: "Time"}, {Label: "Kind", Wrap: true}},
	}
	if names != nil {
		t.Columns = append(t.Columns, ui.Column{Label: "Partner"})
	}
	t.Columns = append(t.Columns, ui.Column{Label: "Purchase"}, ui.Column{Label: "Amounts", Wrap: true})
	t.Fill(len(list), func(i int, r *ui.Row) {
		p := &list[i]
		r.ID = "posting-" + strconv.FormatInt(p.ID, 10)
		r.Cells = append(r.Cells, ui.Cell{At: p.At}, ui.Cell{Text: kindWords(p.Kind), Note: p.Reason})
		if names != nil {
			r.Cells = append(r.Cells, ui.Cell{
				Text: names[p.PartnerID], URL: v.Path("%s", ofPartner(partnerLedgerPath, p.PartnerID)),
			})
		}
		purchase := ui.Cell{}
		if p.PurchaseID != 0 {
			purchase.Text = fmt.Sprintf("Purchase %d", p.PurchaseID)
			purchase.URL = v.Path(purchasesPath+"/%d", p.PurchaseID)
		}
		r.Cells = append(r.Cells, purchase, ui.Cell{Text: linesText(p.Lines)})
	})
	return t
}

// linesText lists the lines of a posting.
func linesText(lines []ledger.Balance) string {
	parts := make([]string, len(lines))
	for i, line := range lines {
		label, _, amount := shownAmount(line)
		// A line breaks between the parts only.
		parts[i] = strings.ReplaceAll(label+" "+strings.Replace(amount, "−", "−\u2060", 1), " ", "\u00a0")
	}
	return strings.Join(parts, " · ")
}
