package support

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/validate"
)

// Limits of a search.
const (
	maxText  = 255 // of the search text
	maxFound = 20  // of each kind
)

// Kind is a kind of thing that a search finds.
type Kind string

// The kinds.
const (
	KindLicense  Kind = "license"
	KindPerson   Kind = "person"
	KindPurchase Kind = "purchase"
	KindRefund   Kind = "refund"
	KindPartner  Kind = "partner"
	KindOrder    Kind = "order"
)

// Found is the result of a search.
type Found struct {
	Text      string   // the search text
	As        []string // how it was understood: "the end of a license key"
	Licenses  []license.License
	People    []account.User
	Purchases []license.Sale
	Refunds   []license.Refund
	Partners  []partner.Partner
	Orders    []payment.Checkout // by an id, or of the person with the email address
	Similar   []account.User     // recent buyers with a similar email address, if nobody has this one
	More      bool               // not all are listed

	vague bool // some match only in part of their name
}

// Count returns the number of results. The orders of a person belong to that person, and the
// purchase of an order, which has the same reference, to the order.
func (f Found) Count() int {
	n := len(f.Licenses) + len(f.People) + len(f.Refunds) + len(f.Partners) + len(f.Similar)
	if len(f.People) == 0 {
		n += len(f.Orders)
	}
	for _, s := range f.Purchases {
		if !slices.ContainsFunc(f.Orders, func(c payment.Checkout) bool { return c.PurchaseID == s.ID }) {
			n++
		}
	}
	return n
}

// Only returns the kind of the only result if it matches exactly; otherwise "".
func (f Found) Only() Kind {
	if f.Count() != 1 || f.More || f.vague {
		return ""
	}
	switch {
	case len(f.Similar) == 1:
		return ""
	case len(f.Licenses) == 1:
		return KindLicense
	case len(f.People) == 1:
		return KindPerson
	case len(f.Orders) == 1:
		return KindOrder
	case len(f.Purchases) == 1:
		return KindPurchase
	case len(f.Refunds) == 1:
		return KindRefund
	default:
		return KindPartner
	}
}

// Search looks up a text: a license by its key or the end of it, a person by email address or
// external id, a purchase or refund by its number or external id, a partner by name, number or
// external id, an order by its reference, an id of Stripe or the buyer's email address. All use an
// index, except the names of partners, which are few.
func (d *Store) Search(ctx context.Context, text string) (Found, error) {
	text, err := validate.Line("q", text, 1, maxText)
	if err != nil {
		return Found{}, fault.Parameter(
			"q",
			"must be one line of 1 to %d characters: a license key or its end, an email address, an external id, a "+
				"purchase reference, an id of Stripe or a partner's name.",
			maxText,
		)
	}
	f := Found{Text: text}
	for _, look := range []func(context.Context, *Found) error{
		d.searchLicenses, d.searchPeople, d.searchPurchases, d.searchPartners, d.searchOrders,
	} {
		if err := look(ctx, &f); err != nil {
			return Found{}, err
		}
	}
	return f, nil
}

// inURL matches the redemption id in the URL of a license's page.
var inURL = regexp.MustCompile(`/licensing/([0-9a-f-]{36})(/|$)`)

func (d *Store) searchLicenses(ctx context.Context, f *Found) error {
	key := strings.ToLower(f.Text)
	if m := inURL.FindStringSubmatch(key); m != nil {
		key = m[1]
	}
	const whole = len("00000000-0000-4000-8000-000000000000")
	switch {
	case !license.IsKey(key):
		return nil
	case len(key) < whole:
		f.As = append(f.As, "the end of a license key")
		list, err := d.Licenses.FindAny(ctx, license.FindAny{Find: license.Find{Key: key}}, 0, maxFound)
		f.Licenses = list.Licenses
		f.More = f.More || list.Next != 0
		return err
	}
	f.As = append(f.As, "a license key", "the id of a license's pages")
	for _, find := range []func(context.Context, string) (license.License, error){
		d.Licenses.ByKey, d.Licenses.ByRedemption,
	} {
		l, err := find(ctx, key)
		if err == nil {
			f.Licenses = append(f.Licenses, l)
		} else if !fault.Is(err, license.CodeUnknownLicense) {
			return err
		}
	}
	return nil
}

func (d *Store) searchPeople(ctx context.Context, f *Found) error {
	filter := account.Filter{ExternalID: f.Text}
	as := "the external id of a person"
	if strings.Contains(f.Text, "@") {
		filter = account.Filter{Email: f.Text}
		as = "an email address"
	}
	f.As = append(f.As, as)
	list, _, err := d.Accounts.List(ctx, filter, paging.First())
	f.People = list
	return err
}

func (d *Store) searchPurchases(ctx context.Context, f *Found) error {
	f.As = append(f.As, "the external id of a purchase, plan change or refund")
	list, err := d.Licenses.FindSales(ctx, license.FindSales{ExternalID: f.Text}, 0, maxFound)
	if err != nil {
		return err
	}
	f.Purchases = list.Sales
	f.More = f.More || list.Next != 0
	if f.Refunds, err = d.Licenses.RefundsByReference(ctx, f.Text); err != nil {
		return err
	}
	id, ok := number(f.Text)
	if !ok {
		return nil
	}
	f.As = append(f.As, "the number of a purchase")
	sale, err := d.Licenses.Sale(ctx, id)
	switch {
	case fault.Is(err, license.CodeUnknownPurchase):
		return nil
	case err != nil:
		return err
	}
	for _, s := range f.Purchases {
		if s.ID == id {
			return nil
		}
	}
	f.Purchases = append(f.Purchases, sale.Sale)
	return nil
}

func (d *Store) searchPartners(ctx context.Context, f *Found) error {
	f.As = append(f.As, "the name or external id of a partner")
	list, more, err := d.Partners.Named(ctx, f.Text, maxFound)
	if err != nil {
		return err
	}
	f.Partners = list
	f.More = f.More || more
	for _, p := range list {
		f.vague = f.vague || !strings.EqualFold(p.Name, f.Text) && p.ExternalID != f.Text
	}
	return nil
}

// number parses a number as people write it: "#1042" or "1042".
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "#"), 10, 64)
	return n, err == nil && n > 0
}
