package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/plural"
	"claviger/internal/ui"
)

// partnerURL returns the page of a partner, or "" if the person may not see it.
func (s *Shell) partnerURL(v *Visit, id int64) string {
	for _, rt := range s.area.Table {
		rest, below := strings.CutPrefix(rt.Path, partnersPath+"/{")
		if below && strings.Count(rest, "/") == 0 && rt.Kind == Page && v.Meets(rt.Needs) {
			return v.Path(partnersPath+"/%d", id)
		}
	}
	return ""
}

// partnerNames returns the names of the partners of licenses and purchases.
func (s *Shell) partnerNames(
	ctx context.Context, licenses []license.License, sales []license.Sale,
) (map[int64]string, error) {
	list := ids(licenses, func(l *license.License) int64 { return l.PartnerID })
	return s.Site.Partners.Names(ctx, append(list, ids(sales, func(s *license.Sale) int64 { return s.PartnerID })...))
}

func licensesTable(v *Visit, list []license.License, partners map[int64]string) ui.Table {
	t := ui.Table{
		ID: "licenses", Caption: "Licenses", Cards: true,
		Columns: []ui.Column{
			{Label: "License key"},
			{Label: "Application"},
			{Label: "Status"},
			{Label: "Tier", Number: true},
			{Label: "Purchased", Named: true},
			{Label: "Last change", Named: true},
		},
	}
	below := v.Path(licensesPath) + "/"
	t.Fill(len(list), func(i int, r *ui.Row) {
		l := &list[i]
		status := ui.Cell{Status: l.Status.String()}
		if l.Held != 0 {
			status.Note = "on hold"
		}
		r.ID = "license-" + l.Key
		r.Cells = append(
			r.Cells,
			ui.Cell{Text: l.Key, Code: true, URL: below + l.Key},
			ui.Cell{Text: partners[l.PartnerID]},
			status,
			ui.Cell{Text: strconv.Itoa(l.Tier)},
			ui.Cell{At: l.CreatedAt},
			ui.Cell{At: l.UpdatedAt},
		)
	})
	return t
}

func peopleTable(v *Visit, list []account.User) ui.Table {
	t := ui.Table{
		ID: "people", Caption: "People", Cards: true,
		Columns: []ui.Column{{Label: "Person"}, {Label: "Name"}, {Label: "External id"}, {Label: "Since"}},
	}
	below := v.Path(peoplePath) + "/"
	t.Fill(len(list), func(i int, r *ui.Row) {
		u := &list[i]
		id := strconv.FormatInt(u.ID, 10)
		r.ID = "person-" + id
		r.Cells = append(
			r.Cells,
			ui.Cell{Text: personName(*u), URL: below + id},
			ui.Cell{Text: dash(u.Name)},
			ui.Cell{Text: dash(u.ExternalID)},
			ui.Cell{At: u.CreatedAt},
		)
	})
	return t
}

// personName returns the name of a person in lists.
func personName(u account.User) string {
	switch {
	case u.MergedInto != 0:
		return fmt.Sprintf("Person %d (merged into %d)", u.ID, u.MergedInto)
	case !u.ErasedAt.IsZero():
		return fmt.Sprintf("Person %d (erased)", u.ID)
	case u.Guest():
		return u.GuestEmail + " (guest)"
	case u.Email != "":
		return u.Email
	}
	return fmt.Sprintf("Person %d", u.ID)
}

// paid formats the amount of a purchase; "–" if none was recorded.
func paid(s *license.Sale) string {
	if s.AmountCents == 0 && s.Currency == "" {
		return "–"
	}
	return money.Printed(s.AmountCents, s.Currency, s.Hundredths)
}

func purchasesTable(v *Visit, list []license.Sale, partners map[int64]string) ui.Table {
	t := ui.Table{
		ID: "purchases", Caption: "Purchases", Cards: true,
		Columns: []ui.Column{
			{Label: "Purchase"},
			{Label: "Application"},
			{Label: "What"},
			{Label: "Amount", Number: true},
			{Label: "Reference", Wrap: true},
			{Label: "Time"},
		},
	}
	below := v.Path(purchasesPath) + "/"
	t.Fill(len(list), func(i int, r *ui.Row) {
		s := &list[i]
		id := strconv.FormatInt(s.ID, 10)
		r.ID = "purchase-" + id
		r.Cells = append(
			r.Cells,
			ui.Cell{Text: "Purchase " + id, URL: below + id},
			ui.Cell{Text: partners[s.PartnerID]},
			ui.Cell{Text: saleWords(s)},
			ui.Cell{Text: paid(s)},
			ui.Cell{Text: dash(s.ExternalID)},
			ui.Cell{At: s.CreatedAt},
		)
	})
	return t
}

// saleWords describes a purchase.
func saleWords(s *license.Sale) string {
	tier := strconv.Itoa(s.Tier)
	switch {
	case s.Kind == license.PlanUpgrade:
		return "plan change to tier " + tier
	case s.Quantity > 1:
		return plural.Of(s.Quantity, "license") + " of tier " + tier
	}
	return "license of tier " + tier
}

func refundsTable(v *Visit, list []license.Refund) ui.Table {
	t := ui.Table{
		ID: "refunds", Caption: "Refunds", Cards: true,
		Columns: []ui.Column{{Label: "Refund"}, {Label: "Reference", Wrap: true}, {Label: "Time"}, {Label: "State"}},
	}
	for _, f := range list {
		state := ui.Cell{Text: "stands"}
		if !f.ReversedAt.IsZero() {
			state = ui.Cell{Text: "reversed"}
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("refund-%d", f.ID), Cells: []ui.Cell{
			{Text: fmt.Sprintf("Refund %d", f.ID), URL: v.Path(refundsPath+"/%d", f.ID)},
			{Text: dash(f.ExternalID)},
			{At: f.CreatedAt},
			state,
		}})
	}
	return t
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// before reads the cursor of a list's page; anything but a number means the first page.
func before(r *http.Request) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// pager returns links to the next page of a list and to the first.
func pager(r *http.Request, label string, next int64) ui.Pager {
	p := ui.Pager{Label: label}
	if next > 0 {
		p.Next = area.WithParam(r, "before", strconv.FormatInt(next, 10))
	}
	if before(r) > 0 {
		p.Prev = area.WithParam(r, "before", "")
		p.Showing = "Older ones"
	}
	return p
}

// narrowed reports whether a filter of the query is set.
func narrowed(r *http.Request) bool {
	for name, values := range r.URL.Query() {
		if name != "before" && strings.Join(values, "") != "" {
			return true
		}
	}
	return false
}
