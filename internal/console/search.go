package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/payment"
	"claviger/internal/support"
	"claviger/internal/ui"
)

// Search serves the search box and its results.
type Search struct {
	section
	Support  *support.Store
	Accounts *account.Store
	Payments *payment.Store
}

func (s *Search) table() []Route {
	return []Route{row(Page, searchPath, account.Read, s.search)}
}

// searchView is the results of a search.
type searchView struct {
	Form   ui.Form
	Text   string
	As     string // kinds that were searched
	Tables []ui.Table
	More   bool
	Curl   ui.Curl
}

// search finds things by a text. A single exact match redirects to its page.
func (s *Search) search(w http.ResponseWriter, r *http.Request, v *Visit) error {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	view := searchView{
		Text: text,
		Curl: s.call("The same by API", http.MethodGet, "/operator/v1/search", ui.Param{Name: "q", Value: text}),
		Form: ui.Form{Fields: []ui.Field{{Name: "q", Label: "Search", Value: text}}},
	}
	if text == "" {
		return s.render(w, r, v, "search", ui.View{Title: "Search", Data: view})
	}
	found, err := s.Support.Search(r.Context(), text)
	if err != nil {
		if !view.Form.Refuse(err) {
			return err
		}
		view.Text = ""
		return s.render(w, r, v, "search", ui.View{Title: "Search", Status: http.StatusBadRequest, Data: view})
	}
	if to := s.only(v, found); to != "" {
		ui.SeeOther(w, r, to)
		return nil
	}
	names, err := s.partnerNames(r.Context(), found.Licenses, found.Purchases)
	if err != nil {
		return err
	}
	orders, err := ordersTable(r.Context(), v, s.Accounts, s.Payments, found.Orders)
	if err != nil {
		return err
	}
	similar := peopleTable(v, found.Similar)
	similar.ID = "similar"
	similar.Caption = "Nobody has this address. Recent buyers with a similar one"
	view.As = words(found.As)
	view.More = found.More
	for _, t := range []ui.Table{
		licensesTable(v, found.Licenses, names), peopleTable(v, found.People), similar, orders,
		purchasesTable(v, found.Purchases, names),
		refundsTable(v, found.Refunds), s.partnersTable(v, found),
	} {
		if t.Len() > 0 {
			view.Tables = append(view.Tables, t)
		}
	}
	return s.render(w, r, v, "search", ui.View{Title: "Search: " + text, Data: view})
}

// only returns the page of the single match, or "".
func (s *Search) only(v *Visit, found support.Found) string {
	switch found.Only() {
	case support.KindLicense:
		return v.Path(licensesPath+"/%s", found.Licenses[0].Key)
	case support.KindPerson:
		return v.Path(peoplePath+"/%d", found.People[0].ID)
	case support.KindPurchase:
		return v.Path(purchasesPath+"/%d", found.Purchases[0].ID)
	case support.KindRefund:
		return v.Path(refundsPath+"/%d", found.Refunds[0].ID)
	case support.KindOrder:
		return v.Path(ordersPath+"/%s", found.Orders[0].Ref)
	case support.KindPartner:
		return s.partnerURL(v, found.Partners[0].ID)
	}
	return ""
}

func (s *Search) partnersTable(v *Visit, found support.Found) ui.Table {
	t := ui.Table{
		ID:      "partners",
		Caption: "Partners",
		Columns: []ui.Column{{Label: "Name"}, {Label: "Number", Number: true}, {Label: "State"}},
	}
	for _, p := range found.Partners {
		state := "active"
		if !p.PausedAt.IsZero() {
			state = "paused"
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("partner-%d", p.ID), Cells: []ui.Cell{
			{Text: p.Name, URL: s.partnerURL(v, p.ID)}, {Text: strconv.FormatInt(p.ID, 10)}, {Status: state},
		}})
	}
	return t
}

// words joins a list: "a, b or c".
func words(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}
