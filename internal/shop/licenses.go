package shop

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/payment"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// licensesPerPage is the number of licenses per page; with more there are pages and a search.
const licensesPerPage = 10

// licensesView is the list of a person's licenses.
type licensesView struct {
	Licenses []ownedView
	Pager    ui.Pager
	Waiting  []payment.Checkout // orders that wait for a payment
	Search   bool               // there is a search field
	Text     string             // the search text
}

func (s *Shop) licenses(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	list, err := s.Licenses.Owned(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	all, err := s.namedViews(r, list)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	view := licensesView{Text: searchText(q.Get("q")), Search: len(all) > licensesPerPage}
	view.choose(matching(all, view.Text), q.Get("page"))
	if view.Text == "" && view.Pager.Prev == "" {
		if view.Waiting, err = s.Payments.Waiting(r.Context(), v.User.ID); err != nil {
			return err
		}
	}
	if err := s.addStates(r, view.Licenses); err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "licenses", ui.View{Title: "My licenses", Wide: true, Data: view})
}

// matching returns the licenses with a text in the name of the application or of the plan, or at
// the end of the key.
func matching(all []ownedView, text string) []ownedView {
	var found []ownedView
	text = strings.ToLower(text)
	for _, o := range all {
		if strings.Contains(strings.ToLower(o.Partner.Name+"\n"+o.Plan.DisplayName()), text) ||
			strings.HasSuffix(o.License.Key, text) {
			found = append(found, o)
		}
	}
	return found
}

// choose selects one page of the licenses. A number too high means the last page.
func (v *licensesView) choose(all []ownedView, page string) {
	last := max(1, (len(all)+licensesPerPage-1)/licensesPerPage)
	n, err := strconv.Atoi(page)
	if err != nil || n < 1 {
		n = 1
	}
	n = min(n, last)
	v.Licenses = all[min(len(all), (n-1)*licensesPerPage):min(len(all), n*licensesPerPage)]
	at := func(number int) string {
		to := url.Values{"page": {strconv.Itoa(number)}}
		if v.Text != "" {
			to.Set("q", v.Text)
		}
		return "/licenses?" + to.Encode()
	}
	if n > 1 {
		v.Pager.Prev = at(n - 1)
	}
	if n < last {
		v.Pager.Next = at(n + 1)
	}
}
