package support_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
	"claviger/internal/support"
)

// market is a marketplace with two partners and their sales.
type market struct {
	*apptest.Harness
	tide, moon partner.Partner
	sale       license.Sale
}

func newMarket(t *testing.T) *market {
	t.Helper()
	m := &market{Harness: apptest.New(t)}
	m.tide, _ = m.Partner("Tide Planner Pro", profile.URLs{})
	m.moon, _ = m.Partner("Moon", profile.URLs{})
	for _, p := range []partner.Partner{m.tide, m.moon} {
		m.Plans(p.ID, 3, partner.Plan{PriceCents: 100, Currency: "EUR"})
	}
	m.sale = m.sell(m.tide, "order-1", account.Person{Email: "Ada@Example.com", ExternalID: "customer-7"})
	return m
}

func (m *market) sell(p partner.Partner, externalID string, who account.Person) license.Sale {
	m.Helper()
	s, err := m.Licenses.Purchase(m.Context(), apptest.Tester, license.Purchase{
		PartnerID: p.ID, Tier: 1, Quantity: 1, ExternalID: externalID, Buyer: &who, AmountCents: 4900, Currency: "EUR",
	})
	m.Must(err)
	return s
}

// names describes the results of a search.
func names(f support.Found) []string {
	list := []string{}
	for _, l := range f.Licenses {
		list = append(list, "license "+l.Key)
	}
	for _, u := range f.People {
		list = append(list, "person "+u.Email)
	}
	for _, s := range f.Purchases {
		list = append(list, "purchase "+s.ExternalID)
	}
	for _, r := range f.Refunds {
		list = append(list, "refund "+r.ExternalID)
	}
	for _, p := range f.Partners {
		list = append(list, "partner "+p.Name)
	}
	return list
}

// TestSearchFindsEachKindOfKey: each thing is found by all its names, and a single exact match
// leads to its page.
func TestSearchFindsEachKindOfKey(t *testing.T) {
	m := newMarket(t)
	m.sell(m.moon, "order-1", account.Person{Email: "bob@example.com"})
	last := m.sell(m.moon, "1042", account.Person{Email: "bob@example.com"})
	l := m.sale.Licenses[0]
	_, err := m.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{LicenseKey: last.Licenses[0].Key, ExternalID: "refund-9"})
	m.Must(err)
	for text, c := range map[string]struct {
		want []string
		only support.Kind
	}{
		l.Key: {[]string{"license " + l.Key}, support.KindLicense}, " " + strings.ToUpper(l.Key) + " ": {[]string{"license " + l.Key}, support.KindLicense},
		l.Key[28:]: {[]string{"license " + l.Key}, support.KindLicense},
		"https://market.example/licensing/" + l.RedemptionID + "/redeem/": {[]string{"license " + l.Key}, support.KindLicense},
		l.RedemptionID:    {[]string{"license " + l.Key}, support.KindLicense},
		"ADA@example.COM": {[]string{"person Ada@Example.com"}, support.KindPerson}, "customer-7": {[]string{"person Ada@Example.com"}, support.KindPerson},
		"order-1":  {[]string{"purchase order-1", "purchase order-1"}, ""},
		"refund-9": {[]string{"refund refund-9"}, support.KindRefund},
		"#3":       {[]string{"purchase 1042"}, support.KindPurchase},
		"moon":     {[]string{"partner Moon"}, support.KindPartner}, "tide": {[]string{"partner Tide Planner Pro"}, ""},
		"pro plan": {[]string{"partner Tide Planner Pro"}, ""}, "planner planner": {[]string{}, ""}, "lanner": {[]string{}, ""},
		"nobody@example.com": {[]string{}, ""}, "order-": {[]string{}, ""}, "%": {[]string{}, ""},
		"00000000-0000-4000-8000-000000000000": {[]string{}, ""},
	} {
		f, err := m.Support.Search(t.Context(), text)
		if diff := cmp.Diff(c.want, names(f)); err != nil || diff != "" || f.Only() != c.only || len(f.As) == 0 {
			t.Errorf("%q: %v, leads to %q, looked for as %v:\n%s", text, err, f.Only(), f.As, diff)
		}
	}
	for _, bad := range []string{"", "  ", "a\nb", "a\x00b", "\xff", strings.Repeat("a", 256)} {
		if _, err := m.Support.Search(t.Context(), bad); fault.Of(err) == nil || fault.Of(err).Field != "q" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestCaseTellsWhatHappened: the timeline has the data of every package, in order; its text for a
// reply names no one.
func TestCaseTellsWhatHappened(t *testing.T) {
	m := newMarket(t)
	l := m.sale.Licenses[0]
	olga := m.User("olga@market.example")
	by := audit.Actor{Kind: audit.ByUser, ID: olga.ID, Session: "s", Client: "192.0.2.7"}
	_, err := m.Licenses.ChangePlan(t.Context(), by, l.Key, license.PlanChange{Tier: 2, ExternalID: "order-2"})
	m.Must(err)
	_, err = m.Licenses.Hold(t.Context(), by, l.Key, license.HoldChargeback)
	m.Must(err)
	_, err = m.Licenses.Refund(t.Context(), by, license.RefundOrder{LicenseKey: l.Key, ExternalID: "refund-1", Reason: "a secret note about Ada"})
	m.Must(err)
	m.Must(m.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		m.Mail.Put(tx, mail.Message{Cause: "test", To: "ada@example.com", Subject: "Sign in to the market", Text: "a secret link"}, m.Licenses.Now())
		return nil
	}))
	c, err := m.Support.Case(t.Context(), l.Key)
	m.Must(err)
	var got []string
	for _, e := range slices.Backward(c.Entries) {
		got = append(got, strings.TrimSpace(string(e.Kind)+": "+e.Title+" "+e.By))
	}
	want := []string{
		"purchase: The license was bought, tier 1 (purchase 1)", "event: The license became inactive, tier 1 (event 1, purchase)",
		"purchase: The plan was changed to tier 2 (purchase 2) olga@market.example", "event: The license became inactive, tier 2 (event 2, purchase)",
		"act: The license was put on hold olga@market.example", "event: The license became deactivated, tier 2 (event 3, deactivate)",
		"act: A purchase of the license was refunded olga@market.example", "mail: Mail to the buyer: Sign in to the market",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text := c.Text()
	for _, secret := range []string{"olga", "ada@", "secret", "192.0.2.7", l.Key, "Ada"} {
		if strings.Contains(text, secret) {
			t.Errorf("the text for a reply has %q:\n%s", secret, text)
		}
	}
	for _, part := range []string{"License ending in " + l.Key[32:], "Tide Planner Pro", "put on hold, by the marketplace", "order-2", "disputed", "Every purchase of it was refunded"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text for a reply lacks %q:\n%s", part, text)
		}
	}
	if _, err := m.Support.Case(t.Context(), "no key"); !fault.Is(err, license.CodeUnknownLicense) {
		t.Error(err)
	}
}

// TestTextIsForTheBuyer: the text for a reply has no advice for staff and no unrelated email; the
// page has both.
func TestTextIsForTheBuyer(t *testing.T) {
	m := newMarket(t)
	l := m.sale.Licenses[0]
	m.Must(m.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		m.Mail.Put(tx, mail.Message{Cause: "invitation 1", To: "ada@example.com", Subject: "You are invited to a team", Text: "x"}, m.Licenses.Now())
		m.Mail.Put(tx, mail.Message{Cause: "support visit 1:2", To: "ada@example.com", Subject: "Support visited", Text: "x"}, m.Licenses.Now())
		m.Mail.Put(tx, mail.Message{Cause: "sign-in link 1", To: "ada@example.com", Subject: "Your way in", Text: "x"}, m.Licenses.Now())
		return nil
	}))
	for _, released := range []bool{false, true} {
		if released {
			_, err := m.Licenses.Activate(t.Context(), apptest.Tester, l.Key, nil)
			m.Must(err)
			_, err = m.Licenses.Release(t.Context(), apptest.Tester, l.Key)
			m.Must(err)
		}
		c, err := m.Support.Case(t.Context(), l.Key)
		m.Must(err)
		text := c.Text()
		for _, part := range []string{"license_redemption_url", "Send the buyer", "invited to a team", "Support visited"} {
			if strings.Contains(text, part) {
				t.Errorf("the text for a reply has %q:\n%s", part, text)
			}
		}
		if !strings.Contains(text, "Your way in") || !slices.Contains(c.Explain, license.RedeemAdvice) || !slices.ContainsFunc(c.Entries, func(e support.Entry) bool { return strings.Contains(e.Title, "invited") }) {
			t.Errorf("too much is left out: %q\n%s", c.Explain, text)
		}
	}
}

// TestCaseHasNoMailsAboutOthers: the timeline has the emails about the license and none about the
// buyer's other licenses, even if there are many.
func TestCaseHasNoMailsAboutOthers(t *testing.T) {
	m := newMarket(t)
	m.Licenses.Tell = (&notice.Mailer{Mail: &mail.Outbox{Sealer: m.Mail.Sealer}, Audience: notice.All, PublicURL: "https://acme.example", Marketplace: "Acme"}).Tell
	person := account.Person{Email: "ada@example.com", ExternalID: "customer-7"}
	first := m.sell(m.tide, "order-2", person).Licenses[0]
	_, err := m.Licenses.Hold(t.Context(), apptest.Tester, first.Key, license.HoldChargeback)
	m.Must(err)
	_, err = m.Licenses.Refund(t.Context(), apptest.Tester, license.RefundOrder{LicenseKey: first.Key, ExternalID: "refund-1"})
	m.Must(err)
	for i := range 15 { // two emails each, which are newer
		other := m.sell(m.moon, fmt.Sprintf("order-%d", i+3), person).Licenses[0]
		_, err := m.Licenses.Hold(t.Context(), apptest.Tester, other.Key, license.HoldChargeback)
		m.Must(err)
	}
	c, err := m.Support.Case(t.Context(), first.Key)
	m.Must(err)
	var got []string
	for _, e := range c.Entries {
		if e.Kind == support.Mail {
			got = append(got, e.Title)
		}
	}
	want := []string{
		"Mail to the buyer: Your license for Tide Planner Pro was refunded", "Mail to the buyer: Your license for Tide Planner Pro is on hold",
		"Mail to the buyer: Your receipt for Tide Planner Pro", "Mail to the buyer: Your license for Tide Planner Pro is ready",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPreviewErase: it lists the data to delete, and deletes nothing.
func TestPreviewErase(t *testing.T) {
	m := newMarket(t)
	ada := m.sale.UserID
	_, err := m.Partners.AddMember(t.Context(), apptest.Tester, m.moon.ID, ada, partner.Viewer)
	m.Must(err)
	_, err = m.Profiles.AddContact(t.Context(), apptest.Tester, m.moon.ID, "Ada", "ada@example.com")
	m.Must(err)
	e, err := m.Support.PreviewErase(t.Context(), apptest.Tester, ada)
	m.Must(err)
	if len(e.Licenses) != 1 || e.Licenses[0].After.Status.String() != "deactivated" || len(e.Teams) != 1 || e.Contacts != 1 || e.User.ID != ada {
		t.Errorf("it would take %+v", e)
	}
	if u, err := m.Accounts.Get(t.Context(), ada); err != nil || u.Email == "" || !u.ErasedAt.IsZero() {
		t.Errorf("the preview left %+v, %v", u, err)
	}
	_, err = m.Licenses.EraseUser(t.Context(), apptest.Tester, ada)
	m.Must(err)
	if _, err := m.Support.PreviewErase(t.Context(), apptest.Tester, ada); !fault.Is(err, account.CodeUserErased) {
		t.Error(err)
	}
}

// TestEraseGuest: the erasure of a guest deletes the guest's emails, and not those of the account with the
// same address. A guest who did not pay does not keep any.
func TestEraseGuest(t *testing.T) {
	for _, other := range []string{"account", "paid guest", "unpaid guest"} {
		t.Run(other, func(t *testing.T) { eraseGuest(t, other) })
	}
}

func eraseGuest(t *testing.T, other string) {
	t.Helper()
	const address = "typed@example.com"
	m := newMarket(t)
	m.Payments.Accounts = m.Accounts
	guest := func(browser string) account.User {
		u, err := m.Accounts.StartGuest(t.Context(), account.GuestOrder{
			Email: address, Browser: browser, PartnerID: m.tide.ID, Tier: 1,
		})
		m.Must(err)
		return u
	}
	switch other {
	case "account":
		m.User(address)
	case "paid guest":
		m.Exec(`UPDATE guests SET paid_at = $2 WHERE user_id = $1`, guest("other").ID, m.Licenses.Now())
	default:
		guest("other")
	}
	gone := guest("browser")
	m.disputed(gone) // which emails the guest, too
	kept := 1
	if other == "unpaid guest" {
		kept = 0
	}
	e, err := m.Support.PreviewErase(t.Context(), apptest.Tester, gone.ID)
	m.Must(err)
	if e.Mails != 2-kept {
		t.Errorf("it would take %d emails", e.Mails)
	}
	_, err = m.Licenses.EraseUser(t.Context(), apptest.Tester, gone.ID)
	m.Must(err)
	left, err := mail.To(t.Context(), m.DB, address, 10)
	m.Must(err)
	if len(left) != kept || kept == 1 && left[0].Subject != "Your receipt for Tide Planner Pro" {
		t.Errorf("left are %+v", left)
	}
}

// TestSimilarGuest: support that searches the right address finds the guest who mistyped it.
func TestSimilarGuest(t *testing.T) {
	m := newMarket(t)
	guest, err := m.Accounts.StartGuest(t.Context(), account.GuestOrder{
		Email: "annn@example.com", Browser: "browser", PartnerID: m.tide.ID, Tier: 1,
	})
	m.Must(err)
	m.disputed(guest)
	f, err := m.Support.Search(t.Context(), "ann@example.com")
	m.Must(err)
	if len(f.Similar) != 1 || f.Similar[0].ID != guest.ID {
		t.Errorf("found %+v", f.Similar)
	}
}
