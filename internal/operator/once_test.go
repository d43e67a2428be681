package operator_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"claviger/internal/account"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

const (
	purchases = "/operator/v1/purchases"
	refunds   = "/operator/v1/refunds"
)

// count returns a number from the database.
func (h *harness) count(sql string) int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.DB, sqldb.Value[int64], sql)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

// TestSameRequestAtOnce is the payment provider at its worst: the same call many times
// concurrently. It has one effect, and every success gets the same answer.
func TestSameRequestAtOnce(t *testing.T) {
	const times = 50
	for _, test := range []struct {
		name, path, body, counted string
		header                    []string
		status                    int
	}{
		{"purchase by key", purchases, `{"partner_id":1,"tier":1,"user":{"email":"new@example.com"}}`, "purchases", []string{"Idempotency-Key: once"}, 201},
		{"purchase by external id", purchases, `{"partner_id":1,"tier":1,"user":{"email":"new@example.com"},"external_id":"order-2"}`, "purchases", nil, 201},
		{"purchase by both", purchases, `{"partner_id":1,"tier":1,"external_id":"order-2"}`, "purchases", []string{"Idempotency-Key: once"}, 201},
		{"refund by key", refunds, `{"license_key":"{key}"}`, "refunds", []string{"Idempotency-Key: once"}, 201},
		{"refund by external id", refunds, `{"license_key":"{key}","external_id":"refund-1"}`, "refunds", nil, 201},
		{"plan change by key", "/operator/v1/licenses/{key}/plan", `{"tier":3}`, "purchases", []string{"Idempotency-Key: once"}, 200},
		{"plan change by external id", "/operator/v1/licenses/{key}/plan", `{"tier":3,"external_id":"order-2"}`, "purchases", nil, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHarness(t)
			key := h.buy("order-1")
			path, body := withKey(test.path, key), withKey(test.body, key)
			before, events := h.count(`SELECT count(*) FROM `+test.counted), h.count(`SELECT count(*) FROM events`)
			answers := make([]answer, times)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() { answers[i] = h.send(h.tokens[account.Sell], "POST", path, body, test.header...) })
			}
			all.Wait()
			checkAlike(t, answers, test.status, test.header != nil)
			if n := h.count(`SELECT count(*) FROM `+test.counted) - before; n != 1 {
				t.Errorf("%d requests made %d %s", times, n, test.counted)
			}
			if n := h.count(`SELECT count(*) FROM events`) - events; n != 1 {
				t.Errorf("%d requests made %d events", times, n)
			}
		})
	}
}

// checkAlike checks that all answers have the status and the same bytes. Concurrent requests may be
// told to retry.
func checkAlike(t *testing.T, answers []answer, status int, keyed bool) {
	t.Helper()
	var first string
	for _, a := range answers {
		if keyed && sqldbtest.Postgres() && a.Status == 409 && a.Code() == "idempotency_key_in_use" {
			continue
		}
		if a.Status != status {
			t.Errorf("answered %d: %s", a.Status, a.Body)
			continue
		}
		if first == "" {
			first = a.Body
		}
		if a.Body != first {
			t.Errorf("two answers to the same request:\n%s\n%s", first, a.Body)
		}
	}
	if first == "" {
		t.Error("no request succeeded")
	}
}

// TestRepeatedRequest tests the cases of a key or a number that was used before.
func TestRepeatedRequest(t *testing.T) {
	key := "Idempotency-Key: k"
	for _, test := range []struct {
		name         string
		first, again string // bodies
		keys         [2]string
		other        bool // the second request has another token
		status       int
		code         string
		same         bool // the second answer equals the first
	}{
		{name: "key, same body", first: `{"partner_id":1,"tier":1}`, again: `{"partner_id":1,"tier":1}`, keys: [2]string{key, key}, status: 201, same: true},
		{name: "key, other body", first: `{"partner_id":1,"tier":1}`, again: `{"partner_id":1,"tier":2}`, keys: [2]string{key, key}, status: 422, code: "idempotency_key_reused"},
		{name: "key, same body written otherwise", first: `{"partner_id":1,"tier":1}`, again: `{"tier":1,"partner_id":1}`, keys: [2]string{key, key}, status: 422, code: "idempotency_key_reused"},
		{name: "key of another token", first: `{"partner_id":1,"tier":1}`, again: `{"partner_id":1,"tier":1}`, keys: [2]string{key, key}, other: true, status: 201},
		{name: "other key", first: `{"partner_id":1,"tier":1}`, again: `{"partner_id":1,"tier":1}`, keys: [2]string{key, key + "2"}, status: 201},
		{name: "number, same content", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"external_id":"x","tier":1,"quantity":1,"partner_id":1}`, status: 201, same: true},
		{name: "number, same content from another token", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"partner_id":1,"tier":1,"external_id":"x"}`, other: true, status: 201, same: true},
		{name: "number, other tier", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"partner_id":1,"tier":2,"external_id":"x"}`, status: 409, code: "external_id_reused"},
		{name: "number, other quantity", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"partner_id":1,"tier":1,"quantity":2,"external_id":"x"}`, status: 409, code: "external_id_reused"},
		{name: "number, other amount", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"partner_id":1,"tier":1,"amount_cents":1,"external_id":"x"}`, status: 409, code: "external_id_reused"},
		{name: "number, other buyer", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"partner_id":1,"tier":1,"user":{"email":"a@b.example"},"external_id":"x"}`, status: 409, code: "external_id_reused"},
		{name: "number with another key", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"partner_id":1,"tier":1,"external_id":"x"}`, keys: [2]string{key, key + "2"}, status: 201, same: true},
		{name: "key with another number", first: `{"partner_id":1,"tier":1,"external_id":"x"}`, again: `{"partner_id":1,"tier":1,"external_id":"y"}`, keys: [2]string{key, key}, status: 422, code: "idempotency_key_reused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHarness(t)
			send := func(i int, body string) answer {
				token := h.tokens[account.Sell]
				if i == 1 && test.other {
					token = h.Token("other", account.Sell)
				}
				if test.keys[i] == "" {
					return h.send(token, "POST", purchases, body)
				}
				return h.send(token, "POST", purchases, body, test.keys[i])
			}
			first := send(0, test.first)
			if first.Status != 201 {
				t.Fatalf("the first request answered %d: %s", first.Status, first.Body)
			}
			h.must(200, "POST", "/operator/v1/licenses/"+keysOf(t, first)[0]+"/activate", `{"user":{"email":"later@example.com"}}`)
			before := h.counts()
			again := send(1, test.again)
			if again.Status != test.status || again.Code() != test.code || (again.Body == first.Body) != test.same {
				t.Errorf("the second request answered %d %s, the same as the first: %v", again.Status, again.Body, again.Body == first.Body)
			}
			if test.code != "" && h.counts() != before {
				t.Errorf("a refused request changed something:\n%s\n%s", before, h.counts())
			}
		})
	}
}

// TestKeyIsOfOnePath sends one key to two paths: the second is another request.
func TestKeyIsOfOnePath(t *testing.T) {
	h := newHarness(t)
	one, two := h.buy("order-1"), h.buy("order-2")
	h.must(200, "POST", "/operator/v1/licenses/"+one+"/plan", `{"tier":2}`, "Idempotency-Key: k")
	h.must(200, "POST", "/operator/v1/licenses/"+one+"/plan/", `{"tier":2}`, "Idempotency-Key: k")
	if a := h.send(h.tokens[account.Admin], "POST", "/operator/v1/licenses/"+two+"/plan", `{"tier":2}`, "Idempotency-Key: k"); a.Code() != "idempotency_key_reused" {
		t.Errorf("the same key on another license answered %d: %s", a.Status, a.Body)
	}
}

// TestRefusedRequestKeepsNoKey repeats a refused request after it has become valid: a key remembers
// effects, not refusals.
func TestRefusedRequestKeepsNoKey(t *testing.T) {
	h := newHarness(t)
	body := fmt.Sprintf(`{"partner_id":%d,"tier":9}`, h.partner)
	if a := h.send(h.tokens[account.Sell], "POST", purchases, body, "Idempotency-Key: k"); a.Code() != "unknown_tier" {
		t.Fatalf("a tier without a plan answered %d: %s", a.Status, a.Body)
	}
	h.must(201, "PUT", "/operator/v1/partners/1/plans/9", `{"name":"Nine"}`)
	if a := h.send(h.tokens[account.Sell], "POST", purchases, body, "Idempotency-Key: k"); a.Status != 201 {
		t.Errorf("the repeated request answered %d: %s", a.Status, a.Body)
	}
}

// withKey puts a license key into a text.
func withKey(text, key string) string { return strings.ReplaceAll(text, "{key}", key) }
