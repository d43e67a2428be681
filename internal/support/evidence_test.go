package support_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/sqldb"
	"claviger/internal/support"
)

// disputed sells a license of Tide in the shop, which its buyer activates, and opens a dispute about
// it. The application confirmed the first event and failed the second.
func (m *market) disputed(buyer account.User) (payment.Checkout, string) {
	m.Helper()
	stripe := &fakestripe.Server{Secret: "whsec_test", Now: func() int64 { return m.Licenses.Now().Unix() }}
	server := httptest.NewServer(stripe)
	m.Cleanup(server.Close)
	stripe.URL = server.URL
	m.Payments.Stripe = payment.NewStripe(payment.StripeConfig{Key: "sk_test_1", WebhookSecrets: []string{"whsec_test"}, URL: server.URL})
	c, err := m.Payments.Begin(m.Context(), payment.Order{
		PartnerID: m.tide.ID, Partner: "Tide Planner Pro", Tier: 1, PlanName: "One", Amount: 4900, Currency: "EUR", UserID: buyer.ID, CancelPath: "/",
	})
	m.Must(err)
	stripe.Pay(c.SessionID)
	c, err = m.Payments.Look(m.Context(), c)
	m.Must(err)
	list, err := m.Licenses.OfSale(m.Context(), c.PurchaseID)
	m.Must(err)
	_, err = m.Licenses.Redeem(m.Context(), audit.Actor{Kind: audit.ByUser, ID: buyer.ID}, list[0].RedemptionID, buyer.ID)
	m.Must(err)
	m.letter(buyer.Address(), "Your receipt for Tide Planner Pro")
	m.Must(m.Payments.TellGuest(m.Context(), c))
	m.Exec(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, diagnosis, created_at, updated_at)
		SELECT id, '', CASE WHEN kind = 1 THEN 200 ELSE 500 END, '', 12, '', kind = 1, '', $1, $1 FROM events WHERE license_id = $2`, m.Licenses.Now(), list[0].ID)
	id := stripe.Dispute(c.SessionID, "needs_response")
	events := stripe.Events()
	e := events[len(events)-1]
	m.Must(m.Payments.Receive(m.Context(), e.Body, stripe.Sign(e.Body)))
	return c, id
}

func (m *market) dispute(id string) support.DisputeCase {
	m.Helper()
	c, err := m.Support.Dispute(m.Context(), id)
	m.Must(err)
	return c
}

// letter puts an email to an address on record as sent.
func (m *market) letter(to, subject string) {
	m.Helper()
	m.Must(m.DB.Write(m.Context(), func(tx *sqldb.Tx) error {
		box := *m.Mail
		box.Wake = nil
		box.Put(tx, mail.Message{Cause: subject, To: to, Subject: subject, Text: "-"}, m.Licenses.Now())
		tx.Queue(`UPDATE mails SET state = 2, sent_at = created_at WHERE cause = $1`, subject)
		return nil
	}))
}

// TestEvidence: the evidence of a dispute has what the service knows about the purchase, and nothing
// about other people.
func TestEvidence(t *testing.T) {
	m := newMarket(t)
	terms := "Within 14 days, no questions asked."
	tagline := "Tides for sailors"
	days := 14
	_, err := m.Partners.ChangeProduct(t.Context(), apptest.Tester, m.tide.ID, partner.ProductChange{RefundTerms: &terms, RefundDays: &days, Tagline: &tagline})
	m.Must(err)
	buyer := m.User("payer@example.com")
	c, id := m.disputed(buyer)
	m.letter(buyer.Email, "Your license for Tide Planner Pro is on hold")
	list, err := m.Licenses.OfSale(t.Context(), c.PurchaseID)
	m.Must(err)
	other := account.Person{Email: "other@example.com"}
	m.letter(other.Email, "You have a license for Tide Planner Pro")

	got := m.dispute(id)
	for name, want := range map[string][]string{
		payment.ProductDescription: {"Tide Planner Pro, One", "a software license for Tide Planner Pro", tagline, "there is no subscription"},
		payment.CustomerEmail:      {buyer.Email},
		payment.ServiceDate:        {m.Licenses.Now().UTC().Format("2006")},
		payment.ActivityLog:        {"The license was bought, tier 1", "The license was activated (event ", "The license was activated, by the buyer", "The server of Tide Planner Pro confirmed event "},
		payment.RefundPolicy:       {terms, "before the purchase", "The buyer could request a refund of this payment on the page of the license, until the end of "},
		payment.OtherText:          {c.Ref, "49.00 EUR", "Mail to the buyer: Your receipt for Tide Planner Pro", "ends in " + list[0].Key[len(list[0].Key)-4:]},
	} {
		for _, text := range want {
			if !strings.Contains(got.Evidence[name], text) {
				t.Errorf("%s lacks %q:\n%s", name, text, got.Evidence[name])
			}
		}
	}
	if got.License.Key != list[0].Key || got.Partner.ID != m.tide.ID || got.Buyer.ID != buyer.ID || got.DueBy.IsZero() {
		t.Errorf("the case: %+v", got)
	}
	// The hold is lifted so that the license can be transferred, and the new owner has emails.
	m.Exec(`DELETE FROM license_holds`)
	m.Exec(`UPDATE licenses SET held = 0, status = 1 WHERE id = $1`, list[0].ID)
	_, err = m.Licenses.Transfer(t.Context(), apptest.Tester, list[0].Key, other)
	m.Must(err)
	got = m.dispute(id)
	all := ""
	for _, text := range got.Evidence {
		all += text
	}
	for _, text := range []string{"on hold", "confirmed event 3 of the license", "did not accept"} {
		if strings.Contains(all, text) {
			t.Errorf("it has %q:\n%s", text, all)
		}
	}
	if strings.Contains(all, "You have a license") || strings.Contains(all, other.Email) || strings.Contains(all, list[0].Key) {
		t.Errorf("it tells of others, or the whole key:\n%s", all)
	}
	m.Must(m.Payments.SaveEvidence(t.Context(), apptest.Tester, id, payment.Evidence{payment.ActivityLog: "as edited"}))
	if got := m.dispute(id); got.Evidence[payment.ActivityLog] != "as edited" || got.Evidence[payment.RefundPolicy] != "" {
		t.Errorf("after an edit: %v", got.Evidence)
	}
	if _, err := m.Support.Dispute(t.Context(), "dp_none"); !fault.Is(err, "unknown_dispute") {
		t.Errorf("a dispute that is not there: %v", err)
	}
}

// TestEvidenceOfGuest: a guest's receipt is evidence, mails of others with the typed address are not. An
// account that takes over the license is the buyer who activated it.
func TestEvidenceOfGuest(t *testing.T) {
	m := newMarket(t)
	m.Payments.Accounts = m.Accounts
	guest, err := m.Accounts.StartGuest(t.Context(), account.GuestOrder{
		Email: "typed@example.com", Browser: "browser", PartnerID: m.tide.ID, Tier: 1,
	})
	m.Must(err)
	c, id := m.disputed(guest)
	for _, who := range []string{"the guest", "the account"} {
		got := m.dispute(id).Evidence
		if text := got[payment.OtherText]; !strings.Contains(text, "Your license for "+c.Item) ||
			who == "the guest" && strings.Contains(text, "Your receipt") {
			t.Errorf("the mails to %s:\n%s", who, text)
		}
		if log := got[payment.ActivityLog]; !strings.Contains(log, "The license was activated, by the buyer") {
			t.Errorf("what %s did:\n%s", who, log)
		}
		o, err := m.Support.Order(t.Context(), c.Ref)
		m.Must(err)
		if !slices.ContainsFunc(o.Entries, func(e support.Entry) bool { return strings.Contains(e.Title, "Your license for") }) {
			t.Errorf("the order of %s does not show the receipt: %+v", who, o.Entries)
		}
		if who == "the guest" {
			ann := m.User(guest.GuestEmail)
			m.Exec(`UPDATE users SET proven_at = $2 WHERE id = $1`, ann.ID, m.Licenses.Now())
			_, err = m.Merges.People(t.Context(), apptest.Tester, guest.ID, ann.ID)
			m.Must(err)
		}
	}
}

// TestEvidenceOfErased: without the buyer and without a license there is still a page.
func TestEvidenceOfErased(t *testing.T) {
	m := newMarket(t)
	buyer := m.User("payer@example.com")
	_, id := m.disputed(buyer)
	_, err := m.Licenses.EraseUser(t.Context(), apptest.Tester, buyer.ID)
	m.Must(err)
	got := m.dispute(id)
	if got.Buyer.ID != 0 || got.Evidence[payment.CustomerEmail] != "" || !strings.Contains(got.Evidence[payment.OtherText], "Paid: 49.00 EUR") {
		t.Errorf("after the erasure: %+v", got)
	}
	m.Exec(`UPDATE checkouts SET purchase_id = 0, partner_id = 99`)
	if got := m.dispute(id); got.License.Key != "" || !strings.Contains(got.Evidence[payment.ProductDescription], "the application") {
		t.Errorf("without a license: %+v", got)
	}
}

// TestEvidenceIsBounded: a license with a long history fits into the evidence, without its oldest
// entries.
func TestEvidenceIsBounded(t *testing.T) {
	m := newMarket(t)
	buyer := m.User("payer@example.com")
	_, id := m.disputed(buyer)
	long := strings.Repeat("long ", 1000)
	for i := range 20 {
		m.letter(buyer.Email, strings.Repeat("x", i+1)+" "+long)
	}
	m.Exec(`UPDATE mails SET created_at = created_at - 3600000000`) // before the dispute
	text := m.dispute(id).Evidence[payment.OtherText]
	if n := len(text); n > 60_000 || !strings.Contains(text, "Earlier entries are left out.") {
		t.Errorf("%d characters", n)
	}
}
