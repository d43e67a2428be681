package claviger_test

import (
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/wire/wiretest"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// described returns a client that checks every exchange against the description of an API.
func described(t *testing.T, file string) (*wiretest.Contract, *http.Client) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := wiretest.LoadContract(t, text)
	return c, c.Client(t)
}

// must unwraps a result that must not be an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func all[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	var items []T
	for item, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

// application is a partner's application: it accepts webhooks that VerifyWebhook accepts.
type application struct {
	*httptest.Server
	secret string
	got    chan claviger.WebhookBody
}

func newApplication(t *testing.T) *application {
	a := &application{got: make(chan claviger.WebhookBody, 100)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodGet {
			return // the redirect URL
		}
		event, err := claviger.ReadWebhook(a.secret, r.Header, body, time.Now())
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if !event.Test {
			a.got <- event
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// TestEveryOperation calls every operation of both APIs on a running service, and checks each
// exchange against its description.
func TestEveryOperation(t *testing.T) {
	h := apptest.New(t)
	stripe := withStripe(t, h)
	h.Run()
	ctx, a := t.Context(), newApplication(t)
	contract, client := described(t, "../../internal/operator/openapi.json")
	market := must(operator.NewClient(operator.Config{URL: h.App.URL(), Secret: h.Token("test", account.Admin), HTTP: client}))(t)

	made := must(market.CreatePartner(ctx, operator.NewPartner{Name: "Tide Planner"}, operator.WithIdempotencyKey("partner-1")))(t)
	if again := must(market.CreatePartner(ctx, operator.NewPartner{Name: "Tide Planner"}, operator.WithIdempotencyKey("partner-1")))(t); again.ID != made.ID {
		t.Errorf("the same request made another partner, %d", again.ID)
	}
	a.secret = made.WebhookSecret
	for tier := 1; tier <= 3; tier++ {
		must(market.PutPlan(ctx, made.ID, tier, operator.NewPlan{Name: "Plan"}))(t)
	}
	sale := must(market.CreatePurchase(ctx, operator.NewPurchase{
		PartnerID: made.ID, Tier: 1, Quantity: new(3), User: &operator.Person{Email: new("ann@example.com")}, ExternalID: new("order-1"),
	}))(t)
	key := sale.Licenses.Items[0].LicenseKey
	h.Earn(time.Now(), made.ID)
	partnerOperations(t, h, made.APIKey, key, a)
	marketStatements(t, market, made.ID)
	marketDeliveries(t, market, made.ID)
	marketExports(ctx, t, market)
	marketBulk(ctx, t, h, market, made.ID)
	marketService(t, h, market, made.ID)
	marketSessions(t, h, market)
	marketOperations(t, market, made.ID, key, sale.Licenses.Items[1].LicenseKey)
	marketBatch(t, market)
	marketPayments(t, h, stripe, market, must(market.CreatePartner(ctx, operator.NewPartner{Name: "Paid", ExternalID: new("paid")}))(t).ID)
	if left := slices.DeleteFunc(contract.Unseen(), func(op string) bool { return op == "GET /operator/v1/openapi.json" }); len(left) > 0 {
		t.Errorf("the client has no method for %v, or this test does not call it", left)
	}
}

// partnerOperations calls the partner's operations.
func partnerOperations(t *testing.T, h *apptest.Harness, apiKey, key string, a *application) {
	t.Helper()
	ctx := t.Context()
	contract, client := described(t, "../../internal/api/openapi.json")
	c := must(claviger.NewClient(claviger.Config{URL: h.App.URL(), Secret: apiKey, HTTP: client}))(t)

	updated := must(c.UpdateProfile(ctx, claviger.ProfileUpdate{WebhookURL: new(a.URL + "/webhook"), RedirectURL: new(a.URL)}))(t)
	if len(updated.Checks) == 0 || updated.WebhookURL != a.URL+"/webhook" {
		t.Errorf("the profile is %+v", updated)
	}
	event := <-a.got
	contact := must(c.AddContact(ctx, claviger.NewContact{Name: "Ada", Email: "ada@example.com"}))(t)
	if p := must(c.Profile(ctx))(t); len(p.Contacts.Items) != 1 {
		t.Errorf("the contacts are %+v", p.Contacts)
	}
	if tested := must(c.TestContact(ctx, contact.ContactID))(t); tested.ContactID != contact.ContactID {
		t.Errorf("tested %+v", tested)
	}
	if err := c.DeleteContact(ctx, contact.ContactID); err != nil {
		t.Error(err)
	}
	scenarioOperations(t, c, h.Simulator)
	var first claviger.Credential
	for _, k := range must(c.Credentials(ctx))(t) {
		if k.What == "client_secret" {
			first = k
		}
	}
	if err := c.RevokeCredential(ctx, first.CredentialID); err != nil {
		t.Error(err)
	}
	if entries := all(t, c.Audit(ctx, 2)); len(entries) < 3 || entries[0].Action != "partner.revoke" {
		t.Errorf("the audit has %+v", entries)
	}
	licenses := all(t, c.Licenses(ctx, claviger.LicenseFilter{Status: claviger.StatusInactive, Limit: 2}))
	page := must(c.LicensePage(ctx, claviger.LicenseFilter{Limit: 2, OldestFirst: true}, ""))(t)
	last := must(c.LicensePage(ctx, claviger.LicenseFilter{}, page.Next))(t)
	if len(licenses) != 3 || len(page.Items) != 2 || page.Total != 3 || len(last.Items) != 1 || last.Next != "" {
		t.Errorf("there are %d licenses; the pages are %+v and %+v", len(licenses), page, last)
	}
	changed := all(t, c.Licenses(ctx, claviger.LicenseFilter{UpdatedSince: page.Items[0].UpdatedAt, OldestFirst: true, Limit: 1}))
	l := must(c.License(ctx, key))(t)
	if len(changed) != 3 || l.LicenseKey != key || l.CreatedAt.IsZero() || len(must(c.Explain(ctx, key))(t).Explanation) == 0 {
		t.Errorf("%d have changed; the license is %+v", len(changed), l)
	}
	events := all(t, c.Events(ctx, claviger.EventFilter{After: new(int64(0)), OldestFirst: true, Limit: 2}))
	ofLicense := all(t, c.LicenseEvents(ctx, key, claviger.EventFilter{Kind: claviger.EventKindPurchase}))
	if len(events) != 3 || len(ofLicense) != 1 || ofLicense[0].Event != claviger.EventKindPurchase {
		t.Errorf("the events are %+v, of the license %+v", events, ofLicense)
	}
	if err := c.Redeliver(ctx, event.EventID); err != nil {
		t.Error(err)
	}
	_ = all(t, c.WebhookResponses(ctx, key, claviger.ResponseFilter{Success: new(true)}))
	_ = all(t, c.Requests(ctx, claviger.RequestFilter{Path: "/v2", Limit: 10}))
	partnerExports(ctx, t, c)
	partnerEarnings(t, c)
	must(c.ChangeProduct(ctx, claviger.ProductChange{Tagline: new("Tides")}))(t)
	if p := must(c.Product(ctx))(t); p.Tagline != "Tides" {
		t.Errorf("the product is %+v", p)
	}
	if p := must(c.DescribePlan(ctx, 1, claviger.PlanTexts{Recommended: new(true)}))(t); !p.Recommended || !must(c.Plans(ctx))(t)[0].Recommended {
		t.Errorf("the plan is %+v", p)
	}
	must(c.Endpoint(ctx))(t)
	if err := c.TryEndpoint(ctx); err != nil {
		t.Error(err)
	}
	if n := must(c.Stats(ctx, 2, 3))(t); len(n.Days) != 2 || len(n.Hours) != 3 {
		t.Errorf("the numbers are %+v", n)
	}
	attempted(t, h, licenses)
	deliveryOperations(t, c, event.EventID)
	attempted(t, h, licenses) // the cancelled redelivery had already begun
	_, err := c.License(ctx, "none")
	var refused *claviger.Error
	if !errors.As(err, &refused) || refused.Code != "unknown_license" || refused.Status != 404 || refused.RequestID == "" {
		t.Errorf("a license that is not there: %v", err)
	}
	if left := slices.DeleteFunc(contract.Unseen(), func(op string) bool { return op == "GET /v2/openapi.json" || op == "PUT /v2/profile" }); len(left) > 0 {
		t.Errorf("the client has no method for %v, or this test does not call it", left)
	}
}

// marketOperations calls the marketplace's operations with two licenses of a partner.
func marketOperations(t *testing.T, c *operator.Client, partnerID int64, key, other string) {
	t.Helper()
	ctx := t.Context()
	for _, do := range []func() (operator.OperatorLicense, error){
		func() (operator.OperatorLicense, error) { return c.Activate(ctx, key, nil) },
		func() (operator.OperatorLicense, error) { return c.ChangePlan(ctx, key, operator.PlanChange{Tier: 2}) },
		func() (operator.OperatorLicense, error) { return c.Hold(ctx, key, "chargeback") },
		func() (operator.OperatorLicense, error) { return c.Reinstate(ctx, key) },
		func() (operator.OperatorLicense, error) { return c.Release(ctx, key) },
		func() (operator.OperatorLicense, error) {
			return c.Transfer(ctx, key, operator.Person{Email: new("bob@example.com")})
		},
	} {
		if l, err := do(); err != nil || l.LicenseKey != key {
			t.Errorf("%+v, %v", l, err)
		}
	}
	refund := must(c.CreateRefund(ctx, operator.NewRefund{LicenseKey: &other}))(t)
	must(c.ReverseRefund(ctx, refund.Refund.ID))(t)
	lookUp(t, c, other, refund.Refund.ID)
	l := must(c.License(ctx, key))(t)
	if l.PartnerID != partnerID || l.Tier != 2 || len(must(c.Explain(ctx, key))(t).Explanation) == 0 {
		t.Errorf("the license is %+v", l)
	}
	events := must(c.Events(ctx, 0))(t)
	if len(events) < 5 || len(all(t, c.LicenseEvents(ctx, key, operator.Order{Limit: 2}))) < 4 {
		t.Errorf("there are %d events", len(events))
	}
	must(c.Redeliver(ctx, events[0].EventID))(t)
	_ = all(t, c.WebhookResponses(ctx, key, operator.Order{}))
	if n := len(all(t, c.Licenses(ctx, operator.LicenseSearch{PartnerID: partnerID, Order: operator.Order{Limit: 2}}))); n != 3 {
		t.Errorf("%d licenses were found", n)
	}
	if n := len(all(t, c.Purchases(ctx, operator.PurchaseFilter{PartnerID: partnerID, ExternalID: "order-1"}))); n != 1 {
		t.Errorf("%d purchases were found", n)
	}
	if n := len(all(t, c.Audit(ctx, operator.AuditFilter{Subject: "license:" + key, Order: operator.Order{Limit: 3, OldestFirst: true}}))); n < 6 {
		t.Errorf("the audit log has %d entries", n)
	}
	if s := must(c.Stats(ctx))(t); s.Licenses.Inactive+s.Licenses.Active+s.Licenses.Deactivated != 3 {
		t.Errorf("the statistics are %+v", s)
	}
	partnerAdministration(t, c, partnerID)
	users(t, c)
}

// lookUp reads a license whose refund was reversed.
func lookUp(t *testing.T, c *operator.Client, key string, refundID int64) {
	t.Helper()
	ctx := t.Context()
	if f := must(c.Search(ctx, key))(t); f.Licenses.Size != 1 {
		t.Errorf("the search found %+v", f)
	}
	if n := len(all(t, c.FindLicenses(ctx, operator.FindFilter{Key: key}))); n != 1 {
		t.Errorf("%d licenses were found", n)
	}
	chain := must(c.LicensePurchases(ctx, key))(t)
	if chain.Links.Size != 1 || chain.Refunds.Size != 1 || must(c.Refund(ctx, refundID))(t).Licenses.Size != 1 {
		t.Errorf("the chain is %+v", chain)
	}
	id := chain.Links.Items[0].Purchase.ID
	if p := must(c.Purchase(ctx, id))(t); p.Purchase.ID != id || len(all(t, c.FindPurchases(ctx, operator.FindFilter{}))) == 0 {
		t.Errorf("the purchase is %+v", p)
	}
	if e := must(c.PreviewRefund(ctx, operator.NewRefund{LicenseKey: &key}))(t); e.Size != 1 || e.Items[0].After.Status != "deactivated" {
		t.Errorf("a refund would do %+v", e)
	}
	if s := must(c.Timeline(ctx, key))(t); s.Entries.Size == 0 || s.Text == "" {
		t.Errorf("the timeline is %+v", s)
	}
	if owner := chain.License.OwnerID; owner != 0 {
		must(c.PreviewErase(ctx, owner))(t)
		if d := must(c.UserData(ctx, owner))(t); len(d.Licenses) == 0 {
			t.Errorf("the data of the owner is %+v", d)
		}
	} else {
		_, err := c.PreviewErase(ctx, 999)
		if err == nil {
			t.Error("nobody can be erased")
		}
	}
}

func partnerAdministration(t *testing.T, c *operator.Client, id int64) {
	t.Helper()
	ctx := t.Context()
	must(c.RedeliverSpan(ctx, id, operator.RedeliverySpan{From: time.Now().Add(-time.Hour)}))(t)
	must(c.LastRedelivery(ctx, id))(t)
	must(c.PartnerStats(ctx, id, 1, 1))(t)
	must(c.SalesStats(ctx, id, 7))(t)
	_ = all(t, c.Requests(ctx, id, operator.RequestFilter{Status: 400, From: time.Now().Add(-time.Hour), To: time.Now()}))
	if p := must(c.PausePartner(ctx, id, "late"))(t); p.PausedAt.IsZero() {
		t.Errorf("the paused partner is %+v", p)
	}
	if p := must(c.ResumePartner(ctx, id))(t); !p.PausedAt.IsZero() {
		t.Errorf("the resumed partner is %+v", p)
	}
	must(c.RotateSecret(ctx, id, operator.RotationOrder{What: "api_key"}))(t)
	if err := c.SwitchSecret(ctx, id, operator.SwitchOrder{What: "api_key"}); err != nil {
		t.Error(err)
	}
	must(c.AddMember(ctx, id, operator.NewMember{Email: "dev@example.com", Role: operator.RoleDeveloper}))(t)
	if p := must(c.ChangePartner(ctx, id, operator.PartnerChange{Name: new("Tides")}))(t); p.Name != "Tides" {
		t.Errorf("the changed partner is %+v", p)
	}
	if d := must(c.Partner(ctx, id))(t); d.Endpoint.State == "" {
		t.Errorf("the partner is %+v", d)
	}
	must(c.ChangeProduct(ctx, id, operator.ProductChange{Tagline: new("Tides for sailors")}))(t)
	if p := must(c.Product(ctx, id))(t); p.Tagline != "Tides for sailors" || p.UpdatedAt.IsZero() {
		t.Errorf("the product is %+v", p)
	}
	must(c.PutPlan(ctx, id, 2, operator.NewPlan{Name: "Plan", Features: new([]string{"Ten seats"}), Recommended: new(true)}))(t)
	if p := must(c.Plan(ctx, id, 2))(t); !p.Recommended || len(p.Features) != 1 {
		t.Errorf("the plan is %+v", p)
	}
	if err := c.DeletePlan(ctx, id, 3); err != nil || len(must(c.Plans(ctx, id))(t)) != 2 {
		t.Errorf("a plan is not deleted: %v", err)
	}
	spare := must(c.CreatePartner(ctx, operator.NewPartner{Name: "Spare"}))(t)
	if err := c.DeletePartner(ctx, spare.ID); err != nil || len(all(t, c.Partners(ctx, operator.Order{Limit: 1}))) != 1 {
		t.Errorf("a partner is not deleted: %v", err)
	}
}

func users(t *testing.T, c *operator.Client) {
	t.Helper()
	ctx := t.Context()
	u := must(c.CreateUser(ctx, operator.Person{Email: new("eve@example.com")}))(t)
	if link := must(c.SignInLink(ctx, u.ID, "/"))(t); link.URL == "" {
		t.Errorf("the link is %+v", link)
	}
	if n := len(all(t, c.Users(ctx, operator.UserFilter{Email: "eve@example.com"}))); n != 1 {
		t.Errorf("%d users were found", n)
	}
	if u := must(c.SetUserEmail(ctx, u.ID, "corrected@example.com"))(t); u.Email != "corrected@example.com" {
		t.Errorf("the user's address is %s", u.Email)
	}
	double := must(c.CreateUser(ctx, operator.Person{Email: new("double@example.com")}))(t)
	if into := must(c.MergeUser(ctx, double.ID, u.ID))(t); into.ID != u.ID {
		t.Errorf("merged into %d", into.ID)
	}
	if erased := must(c.EraseUser(ctx, u.ID))(t); erased.ErasedAt.IsZero() || must(c.User(ctx, u.ID))(t).Email != "" {
		t.Errorf("the erased user is %+v", erased)
	}
}
