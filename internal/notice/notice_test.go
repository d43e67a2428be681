package notice_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var tester = audit.System("test")

// market is a marketplace with one application with three plans.
type market struct {
	testing.TB
	db       *sqldb.DB
	harness  *notice.Mailer
	licenses *license.Store
	accounts *account.Store
	partner  int64
	seen     int // emails already seen
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func newMarket(t testing.TB) *market {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	db := sqldbtest.Open(t)
	m := &market{TB: t, db: db, accounts: &account.Store{DB: db, Now: now}}
	m.harness = &notice.Mailer{
		Mail: &mail.Outbox{Sealer: box, Look: mail.Look{Name: "Acme", SupportURL: "mailto:help@acme.example"}}, Audience: notice.Shop, PublicURL: "https://acme.example", Marketplace: "Acme",
		LegalName: "Acme Ltd",
	}
	m.licenses = &license.Store{DB: db, Now: now, Gather: &license.Gatherer{}, Tell: m.harness.Tell}
	partners := &partner.Store{DB: db, Sealer: box, Now: now}
	var p partner.Partner
	err = db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
		p, _, err = partners.Create(t.Context(), tx, tester, partner.Draft{Name: "Tide Tables"}, partner.Credentials{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.partner = p.ID
	for tier, name := range []string{"Solo", "Team", "Fleet"} {
		if _, _, err := partners.PutPlan(t.Context(), tester, p.ID, partner.Plan{Tier: tier + 1, Name: name, PriceCents: 5900, Currency: "USD"}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// ada returns the buyer.
func ada() *account.Person { return &account.Person{Email: "ada@example.com", Name: "Ada"} }

// order returns a purchase in the shop, for 59 dollars.
func (m *market) order() license.Purchase {
	return license.Purchase{PartnerID: m.partner, Tier: 1, Buyer: ada(), Quantity: 1, AmountCents: 5900, Currency: "USD", ExternalID: secret.UUID(), Shop: true}
}

func (m *market) sell(p license.Purchase) license.Sale {
	m.Helper()
	sale, err := m.licenses.Purchase(m.Context(), tester, p)
	if err != nil {
		m.Fatal(err)
	}
	return sale
}

// buy returns a license sold by the shop, with its emails already seen.
func (m *market) buy() license.License {
	m.Helper()
	l := m.sell(m.order()).Licenses[0]
	m.mails()
	return l
}

func (m *market) must(_ any, err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// mails returns the emails since the last call, oldest first.
func (m *market) mails() []mail.Record {
	m.Helper()
	list, err := m.harness.Mail.Recent(m.Context(), m.db, 100)
	if err != nil {
		m.Fatal(err)
	}
	slices.Reverse(list)
	list, m.seen = list[m.seen:], len(list)
	return list
}

// want checks the recipients and subjects of the emails since the last call.
func (m *market) want(want ...string) []mail.Record {
	m.Helper()
	list := m.mails()
	var got []string
	for _, r := range list {
		got = append(got, r.To+": "+r.Subject)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.Errorf("mails (-want +got):\n%s", diff)
	}
	return list
}

// has checks that an email contains texts in both of its forms.
func has(t testing.TB, r mail.Record, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if flat := strings.Join(strings.Fields(r.Text), " "); !strings.Contains(flat, s) || !strings.Contains(r.HTML, s) {
			t.Errorf("the mail %q does not say %q:\n%s\n%s", r.Subject, s, r.Text, r.HTML)
		}
	}
}

// TestSale: a sale in the shop sends an email that links to the license, and a receipt; a repeated
// or free sale, or one without a buyer, sends none.
func TestSale(t *testing.T) {
	m := newMarket(t)
	order := m.order()
	sale := m.sell(order)
	list := m.want("ada@example.com: Your license for Tide Tables is ready", "ada@example.com: Your receipt for Tide Tables")
	has(t, list[0], "Hello Ada,", "Solo", "https://acme.example/licensing/"+sale.Licenses[0].RedemptionID+"/redeem/")
	has(t, list[1], "Acme Ltd", "$59.00", fmt.Sprintf("https://acme.example/receipts/%d", sale.ID), "Tide Tables, Solo")
	m.sell(order)
	m.want()
	order = m.order()
	order.AmountCents, order.Quantity = 0, 3
	m.sell(order)
	list = m.want("ada@example.com: Your 3 licenses for Tide Tables are ready")
	has(t, list[0], "https://acme.example/licenses")
	order = m.order()
	order.Buyer = nil
	m.sell(order)
	order = m.order()
	order.Buyer = &account.Person{ExternalID: "no-address"}
	m.sell(order)
	m.want()
}

// TestAudience: sales by the operator's programs are emailed only with the audience All.
func TestAudience(t *testing.T) {
	m := newMarket(t)
	byProgram := func() license.License {
		order := m.order()
		order.Shop = false
		return m.sell(order).Licenses[0]
	}
	l := byProgram()
	m.must(m.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther))
	m.want()
	// A license changed in the shop belongs to the shop from then on.
	m.must(m.licenses.Reinstate(t.Context(), tester, l.Key))
	m.must(m.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 2, AmountCents: 100, Currency: "USD", ExternalID: "c", Shop: true}))
	m.want("ada@example.com: Your plan for Tide Tables is now Team", "ada@example.com: Your receipt for Tide Tables")
	m.must(m.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther))
	m.want("ada@example.com: Your license for Tide Tables is on hold")
	m.harness.Audience = notice.All
	byProgram()
	m.want("ada@example.com: Your license for Tide Tables is ready", "ada@example.com: Your receipt for Tide Tables")
	m.harness.Audience = notice.Nobody
	m.sell(m.order())
	m.want()
	m.harness.Audience, m.harness.Mail.Off = notice.Shop, []mail.Kind{mail.LicenseReady}
	m.sell(m.order())
	m.want("ada@example.com: Your receipt for Tide Tables")
}

// TestPlanChange: paying for the same plan again sends only a receipt.
func TestPlanChange(t *testing.T) {
	m := newMarket(t)
	l := m.buy()
	change := license.PlanChange{Tier: 3, AmountCents: 6000, Currency: "JPY", ExternalID: "a", Shop: true}
	m.must(m.licenses.ChangePlan(t.Context(), tester, l.Key, change))
	list := m.want("ada@example.com: Your plan for Tide Tables is now Fleet", "ada@example.com: Your receipt for Tide Tables")
	has(t, list[1], "6,000 JPY", "change to Fleet")
	m.must(m.licenses.ChangePlan(t.Context(), tester, l.Key, change))
	m.want()
	change.ExternalID = "b"
	m.must(m.licenses.ChangePlan(t.Context(), tester, l.Key, change))
	m.want("ada@example.com: Your receipt for Tide Tables")
}

// TestHold: the email mentions a payment only if that is the cause of the hold; a repeated hold
// sends nothing, and each new hold sends one.
func TestHold(t *testing.T) {
	m := newMarket(t)
	l := m.buy()
	m.must(m.licenses.Hold(t.Context(), tester, l.Key, license.HoldOther))
	list := m.want("ada@example.com: Your license for Tide Tables is on hold")
	has(t, list[0], "mailto:help@acme.example")
	if strings.Contains(list[0].Text+list[0].HTML, "payment") {
		t.Errorf("a hold of the operator speaks of a payment:\n%s", list[0].Text)
	}
	m.must(m.licenses.Hold(t.Context(), tester, l.Key, license.HoldChargeback))
	m.want()
	m.must(m.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 2, ExternalID: "while held", Shop: true, Paid: true, PlanName: "Team"}))
	m.want("ada@example.com: Your plan for Tide Tables is now Team")
	m.must(m.licenses.Reinstate(t.Context(), tester, l.Key))
	list = m.want("ada@example.com: Your license for Tide Tables is no longer on hold")
	has(t, list[0], "Activate it", "/redeem/")
	m.must(m.licenses.Redeem(t.Context(), tester, l.RedemptionID, l.OwnerID))
	m.must(m.licenses.Hold(t.Context(), tester, l.Key, license.HoldChargeback))
	list = m.want("ada@example.com: Your license for Tide Tables is on hold")
	has(t, list[0], "The payment for the license is disputed.")
	m.must(m.licenses.Reinstate(t.Context(), tester, l.Key))
	list = m.want("ada@example.com: Your license for Tide Tables is no longer on hold")
	has(t, list[0], "you need not do anything")
}

// TestRefund: a refund of several licenses of one owner is one email, with the amount if it is
// known and the owner paid it.
func TestRefund(t *testing.T) {
	m := newMarket(t)
	l := m.buy()
	m.must(m.licenses.ChangePlan(t.Context(), tester, l.Key, license.PlanChange{Tier: 2, AmountCents: 1000, Currency: "USD", ExternalID: "c", Shop: true}))
	m.mails()
	m.must(m.licenses.Refund(t.Context(), tester, license.RefundOrder{PartnerID: m.partner, PurchaseExternalID: "c"}))
	list := m.want("ada@example.com: Your plan change for Tide Tables was refunded")
	has(t, list[0], "$10.00", "goes on with the plan Solo")
	f, err := m.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key})
	m.must(f, err)
	list = m.want("ada@example.com: Your license for Tide Tables was refunded")
	has(t, list[0], "$59.00", "no longer works")
	m.must(m.licenses.ReverseRefund(t.Context(), tester, f.ID))
	m.must(m.licenses.ReverseRefund(t.Context(), tester, f.ID))
	m.want("ada@example.com: The refund for Tide Tables was reversed")

	order := m.order()
	order.Quantity = 2
	sale := m.sell(order)
	m.mails()
	m.must(m.licenses.Refund(t.Context(), tester, license.RefundOrder{PartnerID: m.partner, PurchaseID: sale.ID}))
	m.want("ada@example.com: Your 2 licenses for Tide Tables were refunded")
}

// TestOthers: a transfer is emailed only to the new owner, with nothing about the previous one or
// the price. An erased owner gets nothing.
func TestOthers(t *testing.T) {
	m := newMarket(t)
	l := m.buy()
	m.must(m.licenses.Transfer(t.Context(), tester, l.Key, account.Person{Email: "bob@example.com"}))
	list := m.want("bob@example.com: You have a license for Tide Tables")
	f, err := m.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: l.Key})
	m.must(f, err)
	list = append(list, m.want("bob@example.com: Your license for Tide Tables was refunded")...)
	for _, r := range list {
		// A license key may contain 59.
		if text := r.Text + r.HTML; strings.Contains(text, "Ada") || strings.Contains(text, "ada@") || strings.Contains(text, "59.00") {
			t.Errorf("the mail tells of somebody else:\n%s", r.Text)
		}
	}
	kept := m.buy()
	m.must(m.licenses.EraseUser(t.Context(), tester, kept.OwnerID))
	m.seen = 0 // erasing deleted emails
	m.mails()
	m.must(m.licenses.Hold(t.Context(), tester, kept.Key, license.HoldOther))
	m.must(m.licenses.Refund(t.Context(), tester, license.RefundOrder{LicenseKey: kept.Key}))
	m.want()
}

// TestNotDone: a preview, or a change undone in its transaction, sends nothing.
func TestNotDone(t *testing.T) {
	m := newMarket(t)
	l := m.buy()
	m.must(m.licenses.Preview(func(dry *license.Store) error {
		_, err := dry.Hold(t.Context(), tester, l.Key, license.HoldOther)
		return err
	}))
	stop := errors.New("stop")
	_, err := m.licenses.HoldNew(t.Context(), tester, l.Key, license.HoldOther, func(*sqldb.Tx, license.License) error { return stop })
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	m.want()
}
