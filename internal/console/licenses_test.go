package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html/atom"

	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/visitor/pagetest"
)

// lastAct returns the newest audit entry about a subject.
func (h *harness) lastAct(subject string) audit.Entry {
	h.Helper()
	list, _, err := h.Audit.List(h.Context(), audit.Filter{Subject: subject}, paging.First())
	h.Must(err)
	if len(list) == 0 {
		return audit.Entry{}
	}
	return list[0]
}

// want checks the status of a page and that it has the texts.
func want(t *testing.T, p *pagetest.Page, status int, texts ...string) {
	t.Helper()
	if p.Status != status {
		t.Fatalf("answered %d, want %d:\n%s", p.Status, status, p.Text())
	}
	for _, s := range texts {
		if !strings.Contains(p.Text(), s) {
			t.Errorf("the page lacks %q:\n%s", s, p.Text())
		}
	}
}

// send presses the button of a page that asks for an act, and follows the answer.
func send(b *pagetest.Browser, page *pagetest.Page, pairs ...string) *pagetest.Page {
	b.Helper()
	label := ""
	for _, button := range page.All(atom.Button) {
		for n := button.Parent; n != nil; n = n.Parent {
			if n.DataAtom == atom.Main && pagetest.Attr(button, "type") == "submit" {
				label = pagetest.Words(button)
			}
		}
	}
	return b.Follow(b.Press(page, label, pairs...))
}

// TestSearchLeadsToThePage: each kind of key leads straight to its page; ambiguous texts list
// matches by kind; without a match the page names the kinds that were searched.
func TestSearchLeadsToThePage(t *testing.T) {
	h := start(t)
	s := h.sold()
	key := s.Licenses[0].Key
	b := h.as(viewer)
	for q, to := range map[string]string{
		key: path("/licenses/%s", key), key[26:]: path("/licenses/%s", key), buyer: path("/people/%d", s.UserID), strings.ToUpper(buyer): path("/people/%d", s.UserID),
		s.ExternalID: path("/purchases/%d", s.ID),
	} {
		if p := b.Get(path("/search?q=%s", q)); p.Status != http.StatusSeeOther || p.Header.Get("Location") != to {
			t.Errorf("%s: %d to %s, want %s", q, p.Status, p.Header.Get("Location"), to)
		}
	}
	want(t, b.Get(path("/search?q=tid")), 200, "Tide Planner")
	want(t, b.Get(path("/search?q=nobody@example.com")), 200, "Nothing found", "nobody@example.com", "an email address")
	want(t, b.Get(path("/search")), 200, "Search")
	want(t, b.Get(path("/search?q=%s", strings.Repeat("a", 300))), 400, "one line of 1 to 255 characters")
	want(t, b.Get(path("/search?q=%%00")), 400, "one line")
}

// TestImportedLicense: the page of an imported license shows the day of its sale, and no purchase
// for the import.
func TestImportedLicense(t *testing.T) {
	h := start(t)
	const key = "3f2c1b4e-8a6d-4c7f-9b0e-000000000001"
	_, err := h.Licenses.Import(t.Context(), apptest.Tester, []license.Import{{
		Key: key, PartnerID: h.tide.ID, Tier: 1, Status: event.Inactive, SoldAt: time.Date(2024, 5, 31, 9, 30, 0, 0, time.UTC),
	}}, license.ImportOptions{})
	h.Must(err)
	page := h.as(viewer).Get(path("/licenses/%s", key))
	want(t, page, 200, "Sold elsewhere 31 May 2024", "It was imported and is paid for", "Its tier is 1, as it was imported.")
	if strings.Contains(page.Text(), "Purchased") || !strings.Contains(h.as(viewer).Get(path("/licenses/%s", h.sold().Licenses[0].Key)).Text(), "Purchased") {
		t.Error("only a license that was sold here was purchased")
	}
}

// TestHoldAndReinstate: the page shows the effects, the act is done once and audited with the
// person, and other roles are refused.
func TestHoldAndReinstate(t *testing.T) {
	h := start(t)
	key := h.sold().Licenses[0].Key
	b := h.as(support)
	want(t, b.Get(path("/licenses/%s/hold", key)), 200, "The license is inactive, tier 1 and becomes deactivated, tier 1.", "deactivate", "Put it on hold")
	send(b, b.Get(path("/licenses/%s/hold", key)), "reason", "chargeback")
	l, err := h.Licenses.ByKey(t.Context(), key)
	h.Must(err)
	if l.Held != license.HoldChargeback || l.Status != event.Deactivated {
		t.Fatalf("the license is %+v", l)
	}
	act := h.lastAct("license:" + key)
	if act.Action != "license.hold" || act.Actor.Kind != audit.ByUser || act.Actor.Session == "" {
		t.Errorf("the audit has %+v", act)
	}
	page := b.Get(path("/licenses/%s", key))
	want(t, page, 200, "The license was put on hold", "By "+support, "Reinstate…", "It is on hold already.", "on hold because the payment is disputed")
	want(t, b.Get(path("/licenses/%s/hold", key)), 200, "It is on hold already.")
	send(b, b.Get(path("/licenses/%s/reinstate", key)))
	if l, err = h.Licenses.ByKey(t.Context(), key); err != nil || l.Held != 0 || l.Status != event.Inactive {
		t.Errorf("the license is %+v, %v", l, err)
	}
	want(t, h.as(sales).Get(path("/licenses/%s", key)), 200, "Needs the role support or admin.")
}

// TestRefundByLink: a link of the chain is refunded after a preview; the refund is reversed.
func TestRefundByLink(t *testing.T) {
	h := start(t)
	s := h.sold()
	key := s.Licenses[0].Key
	_, err := h.Licenses.ChangePlan(t.Context(), apptest.Tester, key, license.PlanChange{Tier: 3, ExternalID: "up"})
	h.Must(err)
	d, err := h.Licenses.Inspect(t.Context(), key)
	h.Must(err)
	b := h.as(sales)
	want(t, b.Get(path("/licenses/%s", key)), 200, "a later one is open; refund that first", "plan change to tier 3")
	want(t, b.Get(path("/licenses/%s/refund?purchase=%d", key, s.ID)), 200, "A later plan change of license")
	ask := b.Get(path("/licenses/%s/refund?purchase=%d", key, d.Links[1].Sale.ID))
	want(t, ask, 200, "The license is inactive, tier 3 and becomes inactive, tier 1.", "reason refunded", "moves no money")
	if n := len(mustInspect(h, key).Refunds); n != 0 {
		t.Fatalf("the preview made %d refunds", n)
	}
	done := send(b, ask, "external_id", "refund-1", "reason", "bought by mistake")
	want(t, done, 200, "The refund is recorded.", "refund-1", "bought by mistake")
	if now := mustInspect(h, key); now.Tier != 1 || len(now.Refunds) != 1 {
		t.Fatalf("the license is %+v", now)
	}
	if act := h.lastAct("license:" + key); act.Action != "license.refund" || act.Actor.Kind != audit.ByUser {
		t.Errorf("the audit has %+v", act)
	}
	id := mustInspect(h, key).Refunds[0].ID
	want(t, b.Get(path("/refunds/%d/reverse", id)), 200, "becomes inactive, tier 3")
	want(t, send(b, b.Get(path("/refunds/%d/reverse", id))), 200, "The refund is reversed.")
	want(t, b.Get(path("/refunds/%d/reverse", id)), 200, "The refund was reversed before.")
	want(t, b.Get(path("/purchases/%d", s.ID)), 200, "reversed", fmt.Sprintf("Refund %d", id))
	for _, bad := range []string{"0", "x", "-1", none} {
		want(t, b.Get(path("/licenses/%s/refund?purchase=%s", key, bad)), 404)
	}
}

func mustInspect(h *harness, key string) license.Detail {
	h.Helper()
	d, err := h.Licenses.Inspect(h.Context(), key)
	h.Must(err)
	return d
}

// TestTransferAndPlanAskTwice: a preview with the typed values comes before the act; a mistake is
// reported at its field and changes nothing.
func TestTransferAndPlanAskTwice(t *testing.T) {
	h := start(t)
	key := h.sold().Licenses[0].Key
	b := h.as(admin)
	owner := mustInspect(h, key).OwnerID
	want(t, send(b, b.Get(path("/licenses/%s/transfer", key)), "email", "no address"), 422, "Email address of the new owner")
	second := send(b, b.Get(path("/licenses/%s/transfer", key)), "email", "bob@buyer.example")
	want(t, second, 200, "bob@buyer.example", "The license stays inactive, tier 1.", "Transfer it")
	if mustInspect(h, key).OwnerID != owner {
		t.Fatal("the first step transferred it")
	}
	want(t, send(b, second), 200, "The license has a new owner.")
	if mustInspect(h, key).OwnerID == owner {
		t.Error("the second step did not transfer it")
	}
	want(t, send(b, b.Get(path("/licenses/%s/plan", key)), "tier", "9"), 422)
	want(t, send(b, b.Get(path("/licenses/%s/plan", key)), "tier", "2", "amount", "12.345"), 422, "such as 49.00")
	second = send(b, b.Get(path("/licenses/%s/plan", key)), "tier", "2", "amount", "12,5", "currency", "usd", "external_id", "up-1")
	want(t, second, 200, "becomes inactive, tier 2", "12,5")
	want(t, send(b, second), 200, "The plan is changed.", "$12.50")
	if d := mustInspect(h, key); d.Tier != 2 || d.Links[1].Sale.AmountCents != 1250 {
		t.Errorf("the license is %+v", d)
	}
}

// TestTwoPeopleAtOnce: a form that was shown before someone else changed the license is refused
// with the changes, and does nothing.
func TestTwoPeopleAtOnce(t *testing.T) {
	h := start(t)
	key := h.sold().Licenses[0].Key
	for _, act := range []string{"hold", "refund"} {
		stale := h.as(admin).Get(path("/licenses/%s/%s", key, act))
		_, err := h.Licenses.ChangePlan(t.Context(), apptest.Tester, key, license.PlanChange{Tier: map[string]int{"hold": 2, "refund": 3}[act], ExternalID: act})
		h.Must(err)
		before := mustInspect(h, key)
		want(t, send(h.as(admin), stale), 409, "This has changed since the page was shown, so nothing was done.", "Tier was")
		if after := mustInspect(h, key); after.Version != before.Version || len(after.Refunds) != 0 {
			t.Errorf("%s did something: %+v", act, after)
		}
	}
	// A form without a seen field is refused, too.
	want(t, h.as(admin).Post(path("/licenses/%s/hold", key), "reason", "held"), 400, "Nothing was changed.")
	if mustInspect(h, key).Held != 0 {
		t.Error("a form without what it showed held the license")
	}
}

// TestCaseAsText: the case is plain text at its own URL, without personal data.
func TestCaseAsText(t *testing.T) {
	h := start(t)
	key := h.sold().Licenses[0].Key
	send(h.as(support), h.as(support).Get(path("/licenses/%s/hold", key)))
	p := h.as(viewer).Get(path("/licenses/%s/text", key))
	if p.Status != 200 || !strings.HasPrefix(p.Header.Get("Content-Type"), "text/plain") || p.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", p.Status, p.Header)
	}
	if !strings.Contains(p.Body, "put on hold, by the marketplace") || strings.Contains(p.Body, "@") || strings.Contains(p.Body, key) {
		t.Error(p.Body)
	}
}

// TestPeople: a person's page, the sign-in link by role, and the erasure with its consequences.
func TestPeople(t *testing.T) {
	h := start(t)
	s := h.sold()
	want(t, h.as(viewer).Get(path("/people/%d", s.UserID)), 200, buyer, s.Licenses[0].Key, s.ExternalID, "Needs the role support or admin.")
	want(t, h.as(viewer).Get(path("/people?email=%s", strings.ToUpper(buyer))), 200, buyer)
	want(t, h.as(viewer).Get(path("/people?email=nobody@x.example")), 200, "Nothing matches")
	want(t, send(h.as(support), h.as(support).Get(path("/people/%d/link", s.UserID))), 200, "sign-in", "not shown again")
	for _, who := range []string{member, viewer} {
		u := h.User(who)
		for _, by := range []string{support, admin} { // neither has a second factor
			want(t, h.as(by).Get(path("/people/%d/link", u.ID)), 403, "Only an admin with a second factor")
			want(t, h.as(by).Post(path("/people/%d/link", u.ID)), 403, "Only an admin with a second factor")
			want(t, h.as(by).Get(path("/people/%d", u.ID)), 200, "Only an admin with a second factor")
			if act := h.lastAct(fmt.Sprintf("user:%d", u.ID)); act.Action == "user.link" {
				t.Errorf("%s made a link for %s", by, who)
			}
		}
	}
	ask := h.as(admin).Get(path("/people/%d/erase", s.UserID))
	want(t, ask, 200, "Licenses of the person: 1. Of these, 1 stop working")
	want(t, send(h.as(admin), ask, "confirm", "erase"), 422, "must be ERASE")
	h.sold() // one more since it was shown
	want(t, send(h.as(admin), ask, "confirm", "ERASE"), 409, "Licenses was “1” and is now “2”.")
	want(t, send(h.as(admin), h.as(admin).Get(path("/people/%d/erase", s.UserID)), "confirm", "ERASE"), 200, "The person is erased.", "(erased)")
	if u, err := h.Accounts.Get(t.Context(), s.UserID); err != nil || u.Email != "" || u.ErasedAt.IsZero() {
		t.Errorf("the person is %+v, %v", u, err)
	}
}

// TestListsPageByKey: filters are in the URL, and the next page keeps them.
func TestListsPageByKey(t *testing.T) {
	h := start(t)
	for range 51 {
		h.sold()
	}
	b := h.as(viewer)
	for _, list := range []string{"/licenses", "/purchases"} {
		first := b.Get(path("%s?email=%s&partner_id=%d", list, buyer, h.tide.ID))
		want(t, first, 200, "Next")
		if _, folded, _ := strings.Cut(first.Body, `<details class="fold">`); !strings.Contains(folded, "Partner&#39;s number: "+fmt.Sprint(h.tide.ID)) {
			t.Errorf("on a phone the filters of %s are not folded and said", list)
		}
		next := ""
		for to, label := range first.Links("before=") {
			if label == "Next" {
				next = to
			}
		}
		if !strings.Contains(next, "before=") || !strings.Contains(next, "partner_id=") {
			t.Fatalf("the next page of %s is %q", list, next)
		}
		want(t, b.Get(next), 200, "Previous")
		want(t, b.Get(path("%s?partner_id=x", list)), 400, "must be a whole number from 1.")
		want(t, b.Get(path("%s?from=x", list)), 400)
		want(t, b.Get(path("%s?email=nobody@x.example", list)), 200, "Nothing matches")
		want(t, b.Get(path("%s?before=x&email=%%00", list)), 200, "Nothing matches")
	}
	want(t, b.Get(path("/licenses?key=xyz")), 400, "license key")
	want(t, b.Get(path("/licenses?license_status=gone")), 400)
	h.Buy(license.Purchase{PartnerID: h.tide.ID, Tier: 1, ExternalID: "for-nothing"})
	// A missing amount is not shown as 0.00.
	want(t, b.Get(path("/purchases?external_id=for-nothing")), 200, "license of tier 1 – for-nothing")
}
