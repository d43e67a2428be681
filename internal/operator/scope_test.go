package operator_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// scopes lists the tokens that may call each route, except admin, which may call everything. It is
// written out and not derived from the routes, because it is the promise that the routes must keep.
const scopes = `
GET    /operator/v1/partners                     read sell support
POST   /operator/v1/partners
GET    /operator/v1/partners/{id}                read sell support
PATCH  /operator/v1/partners/{id}
DELETE /operator/v1/partners/{id}
POST   /operator/v1/partners/{id}/pause
POST   /operator/v1/partners/{id}/resume
POST   /operator/v1/partners/{id}/rotate
POST   /operator/v1/partners/{id}/switch
POST   /operator/v1/partners/{id}/members
GET    /operator/v1/partners/{id}/product        read sell support
PATCH  /operator/v1/partners/{id}/product
GET    /operator/v1/partners/{id}/plans          read sell support
GET    /operator/v1/partners/{id}/plans/{tier}   read sell support
PUT    /operator/v1/partners/{id}/plans/{tier}
DELETE /operator/v1/partners/{id}/plans/{tier}
POST   /operator/v1/partners/{id}/redeliver      support
GET    /operator/v1/partners/{id}/redeliver      read sell support
GET    /operator/v1/partners/{id}/requests       read sell support
GET    /operator/v1/partners/{id}/stats          read sell support
GET    /operator/v1/users                        read sell support
POST   /operator/v1/users
GET    /operator/v1/users/{id}                   read sell support
DELETE /operator/v1/users/{id}
POST   /operator/v1/users/{id}/session           support
GET    /operator/v1/users/{id}/sessions          support
DELETE /operator/v1/users/{id}/sessions          support
DELETE /operator/v1/users/{id}/sessions/{session_id} support
GET    /operator/v1/purchases                    read sell support
POST   /operator/v1/purchases                    sell
POST   /operator/v1/purchases/batch              sell
POST   /operator/v1/import
POST   /operator/v1/refunds                      sell
POST   /operator/v1/refunds/{id}/reverse         sell
POST   /operator/v1/refunds/preview              sell
GET    /operator/v1/payments/refunds/{id}        read sell support
GET    /operator/v1/users/{id}/data                admin
GET    /operator/v1/orders                         read sell support
GET    /operator/v1/orders/{id}                    read sell support
GET    /operator/v1/payments/problems            read sell support
POST   /operator/v1/payments/problems/{id}/refund  sell
POST   /operator/v1/payments/problems/{id}/dismiss sell
GET    /operator/v1/ledger                        read sell support
GET    /operator/v1/ledger/from                   read sell support
PUT    /operator/v1/ledger/from
POST   /operator/v1/ledger/adjustments
GET    /operator/v1/payouts                       read sell support
GET    /operator/v1/payouts/due                   read sell support
POST   /operator/v1/payouts
GET    /operator/v1/payouts/{id}                  read sell support
GET    /operator/v1/payouts/{id}/lines            read sell support
GET    /operator/v1/payouts/{id}/file
POST   /operator/v1/payouts/{id}/settle
GET    /operator/v1/partners/{id}/balances        read sell support
GET    /operator/v1/partners/{id}/statements      read sell support
GET    /operator/v1/partners/{id}/statements/{number} read sell support
GET    /operator/v1/partners/{id}/terms           read sell support
POST   /operator/v1/partners/{id}/terms
GET    /operator/v1/refund-requests               read sell support
GET    /operator/v1/refund-requests/{id}          read sell support
POST   /operator/v1/refund-requests/{id}/refund   sell
POST   /operator/v1/refund-requests/{id}/decline  sell
GET    /operator/v1/partners/{id}/plan-change-price read sell support
PUT    /operator/v1/partners/{id}/plan-change-price
GET    /operator/v1/refunds/{id}                 read sell support
GET    /operator/v1/search                       read sell support
GET    /operator/v1/licenses/search              read sell support
GET    /operator/v1/licenses/{key}/purchases     read sell support
GET    /operator/v1/licenses/{key}/timeline      read sell support
GET    /operator/v1/purchases/search             read sell support
GET    /operator/v1/purchases/{id}               read sell support
GET    /operator/v1/users/{id}/erasure
PATCH  /operator/v1/users/{id}
POST   /operator/v1/users/{id}/merge
GET    /operator/v1/licenses                     read sell support
GET    /operator/v1/exports/licenses               read sell support
GET    /operator/v1/exports/purchases              read sell support
GET    /operator/v1/exports/orders                 read sell support
GET    /operator/v1/exports/events                 read sell support
POST   /operator/v1/bulk                         read sell support
GET    /operator/v1/bulk                         read sell support
GET    /operator/v1/bulk/{id}                    read sell support
GET    /operator/v1/bulk/{id}/rows               read sell support
POST   /operator/v1/bulk/{id}/leave-out          read sell support
POST   /operator/v1/bulk/{id}/put-back           read sell support
POST   /operator/v1/bulk/{id}/start              read sell support
POST   /operator/v1/bulk/{id}/pause              read sell support
POST   /operator/v1/bulk/{id}/resume             read sell support
POST   /operator/v1/bulk/{id}/cancel             read sell support
GET    /operator/v1/exports/audit                  read sell support
GET    /operator/v1/exports/ledger                 read sell support
GET    /operator/v1/exports/revenue                read sell support
GET    /operator/v1/revenue                        read sell support
GET    /operator/v1/licenses/{key}               read sell support
GET    /operator/v1/licenses/{key}/explain          read sell support
GET    /operator/v1/licenses/{key}/events           read sell support
GET    /operator/v1/licenses/{key}/webhook-responses read sell support
POST   /operator/v1/licenses/{key}/hold          support
POST   /operator/v1/licenses/{key}/reinstate     support
POST   /operator/v1/licenses/{key}/release       support
POST   /operator/v1/licenses/{key}/activate      support
POST   /operator/v1/licenses/{key}/transfer      support
POST   /operator/v1/licenses/{key}/plan          sell
GET    /operator/v1/events                       read sell support
POST   /operator/v1/events/{id}/redeliver        support
GET    /operator/v1/partners/{id}/licenses       read sell support
GET    /operator/v1/partners/{id}/deliveries     read sell support
GET    /operator/v1/partners/{id}/deliveries/{event_id} read sell support
GET    /operator/v1/partners/{id}/deliveries/{event_id}/attempts/{attempt_id} read sell support
GET    /operator/v1/partners/{id}/redeliveries   read sell support
GET    /operator/v1/partners/{id}/redeliveries/estimate read sell support
POST   /operator/v1/partners/{id}/redeliveries   support
GET    /operator/v1/partners/{id}/redeliveries/{redelivery_id} read sell support
POST   /operator/v1/partners/{id}/redeliveries/{redelivery_id}/pause support
POST   /operator/v1/partners/{id}/redeliveries/{redelivery_id}/resume support
POST   /operator/v1/partners/{id}/redeliveries/{redelivery_id}/cancel support
GET    /operator/v1/stats                        read sell support
GET    /operator/v1/stats/sales                  read sell support
GET    /operator/v1/audit                        read sell support
GET    /operator/v1/today                        read sell support
GET    /operator/v1/deliveries                   read sell support
GET    /operator/v1/partners/{id}/contacts       read sell support
POST   /operator/v1/partners/{id}/contacts
DELETE /operator/v1/partners/{id}/contacts/{contact_id}
POST   /operator/v1/partners/{id}/contacts/{contact_id}/test
GET    /operator/v1/outages                      read sell support
POST   /operator/v1/partners/{id}/try            support
GET    /operator/v1/mails                        read sell support
POST   /operator/v1/mails/{id}/send              support
POST   /operator/v1/mails/{id}/dismiss           support
GET    /operator/v1/jobs                         read sell support
GET    /operator/v1/tokens
POST   /operator/v1/tokens/{id}/revoke
GET    /operator/v1/keys                         read sell support
POST   /operator/v1/keys/rotate
POST   /operator/v1/keys/{kid}/revoke
GET    /operator/v1/settings                     read sell support
`

// needed returns the scope that a refusal must name.
func needed(may []string) string {
	switch {
	case len(may) == 0:
		return "admin"
	case slices.Contains(may, "read"):
		return "read"
	}
	return may[0]
}

// TestScopes calls every route with a token of every scope. The handling of missing ids is not
// tested here.
func TestScopes(t *testing.T) {
	h := newHarness(t)
	before := h.counts()
	var seen []string
	for line := range strings.Lines(strings.TrimSpace(scopes)) {
		words := strings.Fields(line)
		method, pattern, may := words[0], words[1], words[2:]
		seen = append(seen, method+" "+pattern)
		path := strings.NewReplacer("{id}", "99", "{tier}", "99", "{kid}", "none", "{key}", "00000000-0000-4000-8000-000000000000", "{event_id}", "99", "{attempt_id}", "99", "{redelivery_id}", "99", "{session_id}", "0123456789abcdef").Replace(pattern)
		for scope, token := range h.tokens {
			body := "{}"
			if method == "GET" || method == "DELETE" {
				body = ""
			}
			switch pattern {
			case "/operator/v1/partners/{id}/members":
				body = `{"email":"a@b.example","role":"viewer"}`
			case "/operator/v1/keys/rotate":
				body = `{"alg":"none"}`
			}
			if strings.HasPrefix(pattern, "/operator/v1/exports/") {
				path = pattern + "?format=none" // an export is audited
			}
			a := h.send(token, method, path, body)
			allowed := scope == account.Admin || slices.Contains(may, string(scope))
			if refused := a.Code() == "missing_scope"; refused == allowed || refused != (a.Status == 403) {
				t.Errorf("%s %s with scope %s answered %d %s", method, path, scope, a.Status, a.Code())
			} else if refused && !strings.Contains(a.Body, "the scope "+needed(may)+";") {
				t.Errorf("%s %s does not name the scope it needs (%s): %s", method, path, needed(may), a.Body)
			}
			if a := h.send("", method, path, body); a.Status != 401 || a.Code() != "missing_credentials" {
				t.Errorf("%s %s without a token answered %d %s", method, path, a.Status, a.Code())
			}
		}
	}
	if h.counts() != before {
		t.Errorf("the calls changed something:\n%s\n%s", before, h.counts())
	}
	routes := []string{}
	for _, r := range h.operator.Routes() {
		if !r.Public {
			routes = append(routes, r.Method+" "+r.Path)
		}
	}
	slices.Sort(routes)
	slices.Sort(seen)
	if !slices.Equal(routes, seen) {
		t.Errorf("the table of scopes and the routes differ:\n%q\n%q", seen, routes)
	}
}

// TestDeadTokens calls with expired, revoked and invalid tokens.
func TestDeadTokens(t *testing.T) {
	h := newHarness(t)
	_, expiring, err := h.operator.Accounts.AddToken(t.Context(), tester, "expiring", []account.Scope{account.Read}, h.clock.Now().Add(time.Hour), "")
	if err != nil {
		t.Fatal(err)
	}
	revoked, secret, err := h.operator.Accounts.AddToken(t.Context(), tester, "revoked", []account.Scope{account.Admin}, time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{expiring, secret} {
		if a := h.send(token, "GET", "/operator/v1/stats", ""); a.Status != 200 {
			t.Fatalf("a living token answered %d: %s", a.Status, a.Body)
		}
	}
	if _, err := h.operator.Accounts.RevokeToken(t.Context(), tester, revoked.ID); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(time.Hour)
	for name, header := range map[string]string{
		"expired":             "Bearer " + expiring,
		"revoked":             "Bearer " + secret,
		"unknown":             "Bearer op_0000000000000000000000000000000000000000000000000000000000000000",
		"SQL":                 "Bearer ' OR 1=1 --",
		"hash of a token":     "Bearer " + strings.Repeat("0", 64),
		"another letter case": "Bearer " + strings.ToUpper(h.tokens[account.Admin]),
	} {
		a := h.send("", "GET", "/operator/v1/stats", "", "Authorization: "+header)
		if a.Status != 401 || a.Code() != "invalid_token" || a.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: answered %d %s", name, a.Status, a.Body)
		}
	}
	for name, header := range map[string]string{
		"no scheme": h.tokens[account.Admin], "another scheme": "Basic " + h.tokens[account.Admin], "empty": "Bearer ",
	} {
		if a := h.send("", "GET", "/operator/v1/stats", "", "Authorization: "+header); a.Status != 401 || a.Code() != "missing_credentials" {
			t.Errorf("%s: answered %d %s", name, a.Status, a.Body)
		}
	}
	if a := h.send("", "GET", "/operator/v1/stats?access_token="+h.tokens[account.Admin], ""); a.Status != 401 {
		t.Errorf("a token in the query answered %d", a.Status)
	}
}

// TestRevokedTokenSellsNothing: a token that just sold is refused for every request as soon as it
// is revoked or ends, like one that this node never saw.
func TestRevokedTokenSellsNothing(t *testing.T) {
	h := newHarness(t)
	order := `{"partner_id":1,"tier":1,"external_id":"first"}`
	for name, c := range map[string]struct{ body, query string }{
		"an order": {body: `{"partner_id":1,"tier":1,"external_id":"new"}`}, "a repeat": {body: order}, "no order": {body: "{"},
		"a refused order": {body: `{"partner_id":1,"tier":9,"external_id":"new"}`}, "no partner": {body: `{"partner_id":99,"tier":1,"external_id":"new"}`},
		"a query": {body: order, query: "?dry=1"},
	} {
		for _, ends := range []bool{false, true} {
			made, secret, err := h.operator.Accounts.AddToken(t.Context(), tester, "short", []account.Scope{account.Sell}, h.clock.Now().Add(time.Hour), "")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // looked up, then recalled
				if a := h.send(secret, "POST", purchases, order); a.Status != 201 {
					t.Fatalf("answered %d %s", a.Status, a.Body)
				}
			}
			if a := h.send(secret, "POST", "/operator/v1/users", "{}"); a.Status != 403 {
				t.Errorf("another scope answered %d %s", a.Status, a.Body)
			}
			if ends {
				h.clock.Advance(2 * time.Hour)
			} else if _, err := h.operator.Accounts.RevokeToken(t.Context(), tester, made.ID); err != nil {
				t.Fatal(err)
			}
			before := h.counts()
			release := func() {}
			for range 2 { // recalled, then looked up; does not wait for a sale
				a := h.sendBy(http.DefaultClient, secret, "POST", purchases+c.query, c.body)
				if a.Status != 401 || a.Code() != "invalid_token" || a.Header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s: answered %d %s", name, a.Status, a.Body)
				}
				release()
				release = h.holdSales()
			}
			release()
			if after := h.counts(); after != before {
				t.Errorf("%s changed something:\n%s\n%s", name, before, after)
			}
		}
	}
}

// holdSales holds the lock of the partner until release is called.
func (h *harness) holdSales() (release func()) {
	h.Helper()
	held, let, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
			_, err := partner.Lock(tx, h.partner).One(h.Context())
			close(held)
			<-let
			return err
		})
	}()
	<-held
	return func() {
		h.Helper()
		close(let)
		h.Must(<-ended)
	}
}
