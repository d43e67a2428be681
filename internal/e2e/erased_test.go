package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	claviger "claviger/sdk/go"
)

// traces returns the columns with texts about a person.
func traces(t *testing.T, db *sqldb.DB, needles ...string) []string {
	t.Helper()
	found := map[string]bool{}
	for column, texts := range sqldbtest.Texts(t, db) {
		for _, text := range texts {
			if slices.ContainsFunc(needles, func(n string) bool { return strings.Contains(strings.ToLower(text), n) }) {
				found[column] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// keyed sends a request of the operator with an Idempotency-Key and returns the body.
func (h *harness) keyed(t *testing.T, path, key, body string) string {
	t.Helper()
	got, err := h.operator.send(t.Context(), claviger.Request{
		Method: http.MethodPost, Path: "/operator/v1" + path, Body: json.RawMessage(body), IdempotencyKey: key,
	})
	if err != nil || got.status != http.StatusCreated {
		t.Fatalf("%s answered %d %s, %v", path, got.status, got.body, err)
	}
	return string(got.body)
}

// TestErasedIsInNoColumn: a person signs up, buys, is refunded with a reason, is a contact of a
// partner and gets emails. After their erasure no column of any table has the name, the address,
// the id in other systems, the client's address or the reason. The test lists the columns itself,
// so it covers new ones, too.
func TestErasedIsInNoColumn(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	services := h.Services()
	test := audit.System("test")
	made := read[struct {
		ID int64 `json:"id"`
	}](t, h.operator.must(t, 201, "POST", "/operator/v1/partners", map[string]any{"name": "Acme", "external_id": "acme"}))
	partnerID := made.ID
	plan := map[string]any{"name": "Pro", "price_cents": 100, "currency": "EUR"}
	h.operator.must(t, 201, "PUT", fmt.Sprintf("/operator/v1/partners/%d/plans/1", partnerID), plan)

	h.operator.must(t, 201, "POST", "/operator/v1/users", map[string]any{"email": "Wilhelmina@Quux.example", "name": "Wilhelmina Quux"})
	browser, err := services.Accounts.SignUp(t.Context(), account.Person{Email: "Wilhelmina@Quux.example", Name: "Wilhelmina Quux"}, "correct horse battery", "", account.Client{})
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := services.Accounts.Link(t.Context(), test, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(link, "token=")
	if _, err := services.Accounts.UseLink(t.Context(), token, browser, "203.0.113.9"); err != nil {
		t.Fatal(err)
	}
	if _, err := services.Profiles.AddContact(t.Context(), test, partnerID, "Wilhelmina Quux", "WILHELMINA@quux.example"); err != nil {
		t.Fatal(err)
	}
	h.keyed(t, "/purchases", "buy", fmt.Sprintf(`{"partner_id":%d,"tier":1,"user":{"email":"wilhelmina@quux.example","name":"Wilhelmina Quux","external_id":"crm-quux"},"external_id":"o-1"}`, partnerID))
	refund := fmt.Sprintf(`{"partner_id":%d,"purchase_external_id":"o-1","external_id":"r-1","reason":"Mrs \"Quux\" <never> ordered it & says so"}`, partnerID)
	h.keyed(t, "/refunds", "back", refund)
	if err := services.Accounts.SendReset(t.Context(), "wilhelmina@quux.example", "/account?quux"); err != nil {
		t.Fatal(err)
	}
	if _, err := (&account.LinkMailer{Store: services.Accounts}).Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = services.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		services.Mail.Put(tx, mail.Message{Cause: "told", To: "WILHELMINA@quux.example", Subject: "Webhooks fail", Text: "Hello"}, time.Now())
		tx.Queue(`INSERT INTO link_requests (email_key, purpose, next, created_at) VALUES ('wilhelmina@quux.example', 'gone', '', 0)`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	needles := []string{"wilhelmina", "quux", "203.0.113.9", "never"}
	seen := traces(t, services.DB, needles...)
	for _, column := range []string{
		"audit_entries.client", "contacts.email", "contacts.name", "login_links.next",
		"mails.recipient", "refunds.reason", "users.email", "users.external_id", "users.name",
	} {
		if !slices.Contains(seen, column) {
			t.Errorf("before the erasure %s has no trace; is the test blind? It sees %v", column, seen)
		}
	}
	h.operator.must(t, 200, "DELETE", "/operator/v1/users/1", nil)
	if diff := cmp.Diff([]string(nil), traces(t, services.DB, needles...)); diff != "" {
		t.Errorf("traces of an erased person (-want +got)\n%s", diff)
	}
	// The refund is not repeated, and its answers no longer have the reason.
	for _, key := range []string{"back", "back again"} {
		if got := h.keyed(t, "/refunds", key, refund); !strings.Contains(got, `"reason":""`) || !strings.Contains(got, `"external_id":"r-1"`) {
			t.Errorf("the refund repeated answers %s", got)
		}
	}
}
