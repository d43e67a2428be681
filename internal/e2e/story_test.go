package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// story is the history of one partner, told in chapters.
type story struct {
	*testing.T
	operator caller
	partner  caller
	id       int64 // of the partner
	keys     []string
	refund   int64
	told     []string // expected kinds of events so far, in the partner's view
}

// TestPartnersStory walks an operator and a partner through a license's life.
func TestPartnersStory(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	s := &story{T: t, operator: h.operator}
	s.operatorMakesThePartner()
	s.operatorPutsPlansOnSale()
	s.buyerBuys()
	s.partnerLooksAtLicenses()
	s.buyerRedeems()
	s.buyerTakesAnotherPlan()
	s.buyersBankTakesTheMoneyBack()
	s.operatorRefundsAndThinksBetter()
	s.partnerReadsWhatHappened()
	s.partnerKeepsContacts()
	s.operatorReadsTheFeed()
	s.strangersSeeNothing()
	s.operatorErasesTheBuyer()
	s.operatorLooksBack()
}

func (s *story) operatorMakesThePartner() {
	a := s.operator.must(s, 201, "POST", "/operator/v1/partners", object{"name": "Acme Notes", "brand": "Acme", "external_id": "app-1"})
	made := read[struct {
		ID            int64  `json:"id"`
		APIKey        string `json:"api_key"`
		ClientSecret  string `json:"client_secret"`
		WebhookSecret string `json:"webhook_secret"`
	}](s, a)
	if made.APIKey == "" || made.ClientSecret == "" || !strings.HasPrefix(made.WebhookSecret, "whsec_") {
		s.Fatalf("the credentials are not whole: %s", a.body)
	}
	s.id = made.ID
	s.partner = s.operator.with(made.APIKey)

	again := s.operator.must(s, 200, "GET", fmt.Sprintf("/operator/v1/partners/%d", s.id), nil)
	for _, secret := range []string{made.APIKey, made.ClientSecret, made.WebhookSecret} {
		if strings.Contains(string(again.body), secret) {
			s.Errorf("a credential is shown a second time: %s", again.body)
		}
	}
	if got := read[list[licenseLine]](s, s.partner.must(s, 200, "GET", "/v2/licenses", nil)); got.Size != 0 || got.Items == nil {
		s.Errorf("a new partner has licenses %+v", got)
	}
}

func (s *story) operatorPutsPlansOnSale() {
	for tier := 1; tier <= 3; tier++ {
		s.operator.must(s, 201, "PUT", fmt.Sprintf("/operator/v1/partners/%d/plans/%d", s.id, tier),
			object{"name": fmt.Sprintf("Tier %d", tier), "price_cents": 1000 * tier, "currency": "EUR"})
	}
	s.refused(422, "unknown_tier", "POST", "/operator/v1/purchases", object{"partner_id": s.id, "tier": 9, "external_id": "order-0"})
}

func (s *story) buyerBuys() {
	order := object{
		"partner_id": s.id, "tier": 1, "quantity": 2, "external_id": "order-1", "amount_cents": 2000, "currency": "EUR",
		"user": object{"email": "buyer@acme.example", "name": "Bea"},
	}
	first := s.operator.must(s, 201, "POST", "/operator/v1/purchases", order)
	again := s.operator.must(s, 201, "POST", "/operator/v1/purchases", order)
	if diff := cmp.Diff(string(first.body), string(again.body)); diff != "" {
		s.Errorf("the repeated order was answered otherwise (-first +again):\n%s", diff)
	}
	sold := read[sale](s, first)
	if sold.Licenses.Size != 2 {
		s.Fatalf("sold %d licenses, want 2: %s", sold.Licenses.Size, first.body)
	}
	for _, l := range sold.Licenses.Items {
		s.keys = append(s.keys, l.Key)
		s.told = append(s.told, "purchase 1")
	}
	order["tier"] = 2
	s.refusedBy(s.operator, 409, "", "POST", "/operator/v1/purchases", order)
}

func (s *story) partnerLooksAtLicenses() {
	a := s.partner.must(s, 200, "GET", "/v2/licenses?limit=1&page=2&order=asc", nil)
	got := read[list[licenseLine]](s, a)
	if got.Size != 1 || got.Items[0].Key != s.keys[1] {
		s.Errorf("page 2 of 1 oldest first is %+v, want %s", got, s.keys[1])
	}
	if n := a.header.Get("X-Total-Count"); n != "2" {
		s.Errorf("X-Total-Count is %q, want 2", n)
	}
	one := read[licenseLine](s, s.partner.must(s, 200, "GET", "/v2/licenses/"+s.keys[0]+"/", nil))
	if one.Status != "inactive" || !strings.HasPrefix(one.RedeemURL, s.operator.base+"/licensing/") || strings.Contains(one.RedeemURL, one.Key) {
		s.Errorf("a bought license is %+v", one)
	}
}

func (s *story) buyerRedeems() {
	s.operator.must(s, 200, "POST", "/operator/v1/licenses/"+s.keys[0]+"/activate", object{})
	s.operator.must(s, 200, "POST", "/operator/v1/licenses/"+s.keys[0]+"/activate", object{}) // Again: no second event.
	s.is(s.keys[0], "active", 1)
	s.told = append(s.told, "activate 1")
}

func (s *story) buyerTakesAnotherPlan() {
	s.operator.must(s, 200, "POST", "/operator/v1/licenses/"+s.keys[0]+"/plan", object{"tier": 3, "external_id": "order-2"})
	s.is(s.keys[0], "active", 3)
	s.told = append(s.told, "activate 3")
}

func (s *story) buyersBankTakesTheMoneyBack() {
	s.operator.must(s, 200, "POST", "/operator/v1/licenses/"+s.keys[0]+"/hold", object{"reason": "chargeback"})
	s.is(s.keys[0], "deactivated", 3)
	why := s.partner.must(s, 200, "GET", "/v2/licenses/"+s.keys[0]+"/explain", nil)
	if !strings.Contains(string(why.body), "disputed") {
		s.Errorf("the explanation does not name the dispute: %s", why.body)
	}
	s.operator.must(s, 200, "POST", "/operator/v1/licenses/"+s.keys[0]+"/reinstate", object{})
	s.is(s.keys[0], "active", 3)
	s.told = append(s.told, "deactivate 3", "activate 3")
}

func (s *story) operatorRefundsAndThinksBetter() {
	// The newest purchase of the chain is refunded first, then the rest.
	s.operator.must(s, 201, "POST", "/operator/v1/refunds", object{"partner_id": s.id, "purchase_external_id": "order-2", "external_id": "refund-1"})
	s.is(s.keys[0], "active", 1)
	a := s.operator.must(s, 201, "POST", "/operator/v1/refunds", object{"license_key": s.keys[0], "external_id": "refund-2", "reason": "did not like it"})
	s.is(s.keys[0], "deactivated", 1)
	s.refund = read[struct {
		Refund struct {
			ID int64 `json:"id"`
		} `json:"refund"`
	}](s, a).Refund.ID
	s.refused(409, "already_refunded", "POST", "/operator/v1/refunds", object{"license_key": s.keys[0], "external_id": "refund-3"})
	s.refused(409, "license_refunded", "POST", "/operator/v1/licenses/"+s.keys[0]+"/plan", object{"tier": 2, "external_id": "order-3"})
	s.operator.must(s, 200, "POST", fmt.Sprintf("/operator/v1/refunds/%d/reverse", s.refund), nil)
	s.is(s.keys[0], "active", 1)
	s.told = append(s.told, "activate 1", "deactivate 1", "activate 1")
}

func (s *story) partnerReadsWhatHappened() {
	all := read[list[eventLine]](s, s.partner.must(s, 200, "GET", "/v2/licenses/events?order=asc", nil))
	if diff := cmp.Diff(s.told, kinds(all.Items)); diff != "" {
		s.Errorf("events (-want +got):\n%s", diff)
	}
	one := read[list[eventLine]](s, s.partner.must(s, 200, "GET", "/v2/licenses/"+s.keys[1]+"/events", nil))
	if diff := cmp.Diff([]string{"purchase 1"}, kinds(one.Items)); diff != "" {
		s.Errorf("events of the second license (-want +got):\n%s", diff)
	}
	active := read[list[eventLine]](s, s.partner.must(s, 200, "GET", "/v2/licenses/events?status=inactive", nil))
	if diff := cmp.Diff([]string{"purchase 1"}, kinds(active.Items)); diff != "" {
		s.Errorf("events of licenses that are inactive now (-want +got):\n%s", diff)
	}
	after := read[list[eventLine]](s, s.partner.must(s, 200, "GET", fmt.Sprintf("/v2/licenses/events?order=asc&after=%d", all.Items[4].ID), nil))
	if diff := cmp.Diff(s.told[5:], kinds(after.Items)); diff != "" {
		s.Errorf("events after the fifth (-want +got):\n%s", diff)
	}
	sent := read[list[object]](s, s.partner.must(s, 200, "GET", "/v2/licenses/"+s.keys[0]+"/webhook-responses", nil))
	if sent.Size != 0 {
		s.Errorf("a partner without a webhook URL was sent %+v", sent)
	}
}

func (s *story) partnerKeepsContacts() {
	added := read[struct {
		ID int64 `json:"contact_id"`
	}](s, s.partner.must(s, 201, "POST", "/v2/profile/contact", object{"name": "Ann", "email": "ann@acme.example"}))
	s.refusedBy(s.partner, 409, "contact_exists", "POST", "/v2/profile/contact", object{"name": "Ann", "email": "ANN@acme.example"})
	p := read[struct {
		Contacts list[object] `json:"contacts"`
	}](s, s.partner.must(s, 200, "GET", "/v2/profile", nil))
	if p.Contacts.Size != 1 {
		s.Errorf("the profile has %d contacts, want 1", p.Contacts.Size)
	}
	gone := s.partner.must(s, 200, "DELETE", fmt.Sprintf("/v2/profile/contact/%d", added.ID), nil)
	if string(gone.body) != "Contact deleted" {
		s.Errorf("deleting answered %q", gone.body)
	}
	s.refusedBy(s.partner, 404, "unknown_contact", "DELETE", fmt.Sprintf("/v2/profile/contact/%d", added.ID), nil)
}

func (s *story) operatorReadsTheFeed() {
	var seen []string
	after := int64(0)
	for {
		part := read[list[eventLine]](s, s.operator.must(s, 200, "GET", fmt.Sprintf("/operator/v1/events?after=%d&limit=2", after), nil))
		if part.Size == 0 {
			break
		}
		seen = append(seen, kinds(part.Items)...)
		after = part.Items[part.Size-1].ID
	}
	if diff := cmp.Diff(s.told, seen); diff != "" {
		s.Errorf("feed (-want +got):\n%s", diff)
	}
}

func (s *story) strangersSeeNothing() {
	other := read[struct {
		APIKey string `json:"api_key"`
	}](s, s.operator.must(s, 201, "POST", "/operator/v1/partners", object{"name": "Other", "external_id": "app-2"}))
	stranger := s.partner.with(other.APIKey)
	foreign := stranger.must(s, 404, "GET", "/v2/licenses/"+s.keys[0], nil)
	unknown := stranger.must(s, 404, "GET", "/v2/licenses/00000000-0000-4000-8000-000000000000", nil)
	if f, u := read[refusal](s, foreign), read[refusal](s, unknown); f.Error != u.Error || f.Message != u.Message {
		s.Errorf("a foreign license (%+v) is told from an unknown one (%+v)", f, u)
	}
	s.refusedBy(s.partner, 401, "invalid_token", "GET", "/operator/v1/partners", nil)
	s.refusedBy(s.operator, 401, "invalid_key", "GET", "/v2/licenses", nil)
}

func (s *story) operatorErasesTheBuyer() {
	users := read[list[struct {
		ID int64 `json:"id"`
	}]](s, s.operator.must(s, 200, "GET", "/operator/v1/users?email=buyer@acme.example", nil))
	if users.Size != 1 {
		s.Fatalf("%d users have the buyer's address, want 1", users.Size)
	}
	s.operator.must(s, 200, "DELETE", fmt.Sprintf("/operator/v1/users/%d", users.Items[0].ID), nil)
	s.is(s.keys[0], "deactivated", 1)
	s.is(s.keys[1], "deactivated", 1)
	left := s.operator.must(s, 200, "GET", "/operator/v1/users?email=buyer@acme.example", nil)
	if n := read[list[object]](s, left).Size; n != 0 {
		s.Errorf("%d users still have the erased address", n)
	}
}

func (s *story) operatorLooksBack() {
	entries := read[list[struct {
		Action string `json:"action"`
	}]](s, s.operator.must(s, 200, "GET", "/operator/v1/audit", nil))
	acts := map[string]bool{}
	for _, e := range entries.Items {
		acts[e.Action] = true
	}
	for _, want := range []string{"partner.create", "plan.create", "license.hold"} {
		if !acts[want] {
			s.Errorf("the audit has no %s: %v", want, acts)
		}
	}
	s.operator.must(s, 200, "GET", "/operator/v1/stats", nil)
}

// is checks the partner's view of a license.
func (s *story) is(key, status string, tier int) {
	s.Helper()
	l := read[licenseLine](s, s.partner.must(s, 200, "GET", "/v2/licenses/"+key, nil))
	if l.Status != status || l.Tier != tier {
		s.Errorf("the license is %s at tier %d, want %s at %d", l.Status, l.Tier, status, tier)
	}
}

// refused checks that the operator's request is refused with this code.
func (s *story) refused(status int, code, method, path string, body any) {
	s.Helper()
	s.refusedBy(s.operator, status, code, method, path, body)
}

func (s *story) refusedBy(c caller, status int, code, method, path string, body any) {
	s.Helper()
	got := read[refusal](s, c.must(s, status, method, path, body))
	if code != "" && got.Error != code || got.Message == "" || got.RequestID == "" {
		s.Errorf("%s %s was refused with %+v, want the code %q, a message and a request id", method, path, got, code)
	}
}

// kinds summarizes events: kind and tier.
func kinds(events []eventLine) []string {
	var said []string
	for _, e := range events {
		said = append(said, fmt.Sprintf("%s %d", e.Kind, e.Tier))
	}
	return said
}
