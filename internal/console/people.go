package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"claviger/internal/account"
	"claviger/internal/answers"
	"claviger/internal/license"
	"claviger/internal/merge"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/support"
	"claviger/internal/ui"
)

// People serves the pages about buyers, members of partners and operators.
type People struct {
	section
	Accounts *account.Store
	Merges   *merge.Store
	Partners *partner.Store
	Licenses *license.Store
	Support  *support.Store
	Payments *payment.Store
	Data     *answers.Person
}

const personPath = peoplePath + "/{person}"

func (p *People) table() []Route {
	return slices.Concat(
		[]Route{
			row(Page, peoplePath, account.Read, p.people),
			row(Page, personPath, account.Read, p.person),
			row(Page, personPath+"/data", account.Admin, p.data),
		},
		act(personPath+"/link", account.Support, p.link),
		act(endSessionsPath, account.Support, p.endSessions),
		act(endSessionPath, account.Support, p.endSession),
		act(personPath+"/email", account.Admin, p.setEmail),
		act(personPath+"/merge", account.Admin, p.merge),
		act(personPath+"/erase", account.Admin, p.erase),
	)
}

// perPage is the number of rows per page of the console's lists.
const perPage = 50

// listView is a list with filters.
type listView struct {
	Heading, Lead string
	Form          ui.Form
	Results       ui.Results
	Acts          []ui.Tab // acts on all matching rows
	Export        string   // page that exports the list, "" if it cannot be exported
	Curl          ui.Curl
}

// showList shows a list. Invalid filters have an error at their field.
func (s *Shell) showList(w http.ResponseWriter, r *http.Request, v *Visit, view listView) error {
	status := view.finish(r)
	return s.render(w, r, v, "list", ui.View{Title: view.Heading, Status: status, Data: view})
}

// finish completes the filters of a list and returns the status of its page.
func (view *listView) finish(r *http.Request) int {
	f := &view.Results.Filters
	f.Fields = view.Form.Fields
	f.Active = narrowed(r)
	f.Fold = true
	if !view.Results.SearchedTo.IsZero() { // it is the same page
		view.Results.GoOn = view.Results.Pager.Next
		view.Results.Pager.Next = ""
	}
	if view.Form.Failed() {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (p *People) people(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q := r.URL.Query()
	f := account.Filter{Email: strings.TrimSpace(q.Get("email")), ExternalID: strings.TrimSpace(q.Get("external_id"))}
	view := listView{
		Heading: "People", Lead: "Buyers, members of partners, and operators.",
		Form: ui.Form{Fields: []ui.Field{
			{Name: "email", Label: "Email address", Value: f.Email},
			{Name: "external_id", Label: "External id", Value: f.ExternalID},
		}},
		Results: ui.Results{
			Filters: ui.Filters{Label: "Search people", URL: v.Path(peoplePath)},
			Nothing: ui.Empty{
				Title: "Nobody yet",
				Text:  "People appear with their first purchase, or when they sign up.",
			},
		},
		Curl: p.call("The same by API", http.MethodGet, "/operator/v1/users",
			ui.Param{Name: "email", Value: f.Email}, ui.Param{Name: "external_id", Value: f.ExternalID}),
	}
	f.Email = storable(f.Email)
	f.ExternalID = storable(f.ExternalID)
	list, more, err := p.Accounts.Before(r.Context(), f, before(r), perPage)
	if err != nil {
		return err
	}
	view.Results.Table = peopleTable(v, list)
	next := int64(0)
	if more {
		next = list[len(list)-1].ID
	}
	view.Results.Pager = pager(r, "Pages of people", next)
	return p.showList(w, r, v, view)
}

// storable replaces the characters of a query that the databases reject; no stored text contains
// them.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// personView is the page of a person.
type personView struct {
	User      account.User
	Name      string
	Facts     []factView
	Teams     []teamView
	Licenses  ui.Table
	Purchases ui.Table
	Orders    ui.Table
	Timeline  ui.Timeline
	AllOf     [3]string // licenses, purchases, orders
	Sessions  sessionsView
	Acts      []choice
	Curl      ui.Curl
}

// factView is one known fact.
type factView struct {
	Name string
	ui.Cell
}

// teamView is the membership of a person in a partner's team.
type teamView struct{ Name, Role, URL string }

func (p *People) person(w http.ResponseWriter, r *http.Request, v *Visit) error {
	u, err := p.find(r)
	if err != nil {
		return err
	}
	view := personView{
		User: u,
		Name: personName(u),
		Curl: p.call("Read this person by API", http.MethodGet, fmt.Sprintf("/operator/v1/users/%d", u.ID)),
	}
	view.Facts = personFacts(u)
	teams, err := p.Partners.Accesses(r.Context(), u.ID, perPage)
	if err != nil {
		return err
	}
	for _, a := range teams {
		view.Teams = append(view.Teams, teamView{a.Partner.Name, string(a.Role), p.partnerURL(v, a.Partner.ID)})
	}
	licenses, err := p.Licenses.FindAny(r.Context(), license.FindAny{Owners: []int64{u.ID}}, 0, perPage)
	if err != nil {
		return err
	}
	sales, err := p.Licenses.FindSales(r.Context(), license.FindSales{Users: []int64{u.ID}}, 0, perPage)
	if err != nil {
		return err
	}
	names, err := p.partnerNames(r.Context(), licenses.Licenses, sales.Sales)
	if err != nil {
		return err
	}
	view.Licenses = licensesTable(v, licenses.Licenses, names)
	view.Purchases = purchasesTable(v, sales.Sales, names)
	if u.Email != "" && licenses.Next != 0 {
		view.AllOf[0] = v.Path(licensesPath) + "?email=" + url.QueryEscape(u.Email)
	}
	if u.Email != "" && sales.Next != 0 {
		view.AllOf[1] = v.Path(purchasesPath) + "?email=" + url.QueryEscape(u.Email)
	}
	if err := p.addOrders(r, v, &view); err != nil {
		return err
	}
	entries, err := p.Support.Person(r.Context(), u)
	if err != nil {
		return err
	}
	view.Timeline = timelineOf(v, "Sign-ins and mails, newest first", entries)
	if view.Sessions, err = p.sessions(r, v, u, len(teams) > 0); err != nil {
		return err
	}
	if view.Acts, err = p.acts(r, v, u, len(teams) > 0); err != nil {
		return err
	}
	return p.render(w, r, v, "person", ui.View{Title: view.Name, Data: view})
}

// addOrders adds the person's orders.
func (p *People) addOrders(r *http.Request, v *Visit, view *personView) error {
	found, err := p.Payments.FindOrders(r.Context(), payment.FindOrders{Users: []int64{view.User.ID}}, 0, perPage)
	if err != nil {
		return err
	}
	if view.User.Email != "" && found.Next != 0 {
		view.AllOf[2] = v.Path(paymentsPath) + "?email=" + url.QueryEscape(view.User.Email)
	}
	view.Orders, err = ordersTable(r.Context(), v, p.Accounts, p.Payments, found.Orders)
	return err
}

func personFacts(u account.User) []factView {
	facts := []factView{
		{"Number", ui.Cell{Text: fmt.Sprint(u.ID)}},
		{"Name", ui.Cell{Text: dash(u.Name)}},
		{"External id", ui.Cell{Text: dash(u.ExternalID)}},
		{"Known since", ui.Cell{At: u.CreatedAt, Exact: true}},
	}
	switch {
	case u.MergedInto != 0:
		return append(facts, factView{"Merged", ui.Cell{At: u.ErasedAt, Exact: true}},
			factView{"Into", ui.Cell{Text: fmt.Sprintf("Person %d", u.MergedInto)}})
	case !u.ErasedAt.IsZero():
		return append(facts, factView{"Erased", ui.Cell{At: u.ErasedAt, Exact: true}})
	case u.Guest():
		facts = append(
			facts,
			factView{"Guest", ui.Cell{Text: "paid without an account: nobody has opened the link that was mailed"}},
		)
	case u.ProvenAt.IsZero():
		facts = append(
			facts, factView{"Address", ui.Cell{Text: "not proven yet: nobody has opened a link that was mailed to it"}},
		)
	default:
		facts = append(facts, factView{"Address proven", ui.Cell{At: u.ProvenAt, Exact: true}})
	}
	if u.Role != "" {
		facts = append(facts, factView{"Operator", ui.Cell{Text: string(u.Role)}})
	}
	return facts
}
