package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/sqldb"
)

// repeatable is a request with the body that every repeat must get.
type repeatable struct {
	name, path, body, key string
	table                 string // of the row with its external id, or ""
	status                int    // of a repeat
	want                  string
}

func (r repeatable) send(h *harness) answer {
	h.Helper()
	var header []string
	if r.key != "" {
		header = []string{"Idempotency-Key: " + r.key}
	}
	return h.send(h.tokens[account.Admin], "POST", r.path, r.body, header...)
}

// repeatables makes one request of each kind, with its Idempotency-Key and with its external id.
func repeatables(h *harness) []*repeatable {
	h.Helper()
	var keys []string
	for i := range 5 {
		keys = append(keys, h.buy(fmt.Sprintf("order-%d", i)))
	}
	plan := func(i int) string { return "/operator/v1/licenses/" + keys[i] + "/plan" }
	list := []*repeatable{
		{name: "purchase", path: purchases, body: `{"partner_id":1,"tier":1,"quantity":2,"user":{"email":"bob@example.com"}}`, key: "purchase", status: 201},
		{name: "plan change", path: plan(0), body: `{"tier":2,"amount_cents":5,"currency":"EUR"}`, key: "plan", status: 200},
		{name: "plan change to the same tier", path: plan(1), body: `{"tier":1}`, key: "same", status: 200},
		{name: "refund", path: refunds, body: `{"license_key":"` + keys[2] + `","reason":"Says \"no\" & <leaves>"}`, key: "refund", status: 201},
		{name: "partner", path: partners, body: `{"name":"Two","brand":"Two","webhook_url":"https://two.example/","error_member":false}`, key: "partner", status: 200},
		{name: "purchase, external id", path: purchases, body: `{"partner_id":1,"tier":1,"external_id":"x"}`, table: "purchases", status: 201},
		{name: "plan change, external id", path: plan(3), body: `{"tier":3,"external_id":"x"}`, table: "purchases", status: 200},
		{name: "refund, external id", path: refunds, body: `{"partner_id":1,"purchase_external_id":"order-4","external_id":"x"}`, table: "refunds", status: 201},
		{name: "partner, external id", path: partners, body: `{"name":"Three","strict":true,"id_token_alg":"ES256","external_id":"x"}`, table: "partners", status: 200},
	}
	for _, r := range list {
		first := r.send(h)
		r.want = first.Body
		if r.status != first.Status { // the secrets of a partner are shown once
			r.want = r.send(h).Body
		}
		if first.Status > 201 || r.want == "" {
			h.Fatalf("%s answered %d: %s", r.name, first.Status, first.Body)
		}
	}
	h.must(200, "POST", "/operator/v1/licenses/"+keys[0]+"/hold", `{"reason":"chargeback"}`)
	h.must(200, "POST", "/operator/v1/licenses/"+keys[1]+"/plan", `{"tier":3}`)
	for id := range 2 {
		h.must(200, "POST", fmt.Sprintf("%s/%d/reverse", refunds, id+1), "")
	}
	for _, key := range keys {
		h.must(200, "POST", "/operator/v1/licenses/"+key+"/transfer", `{"user":{"email":"eve@example.com"}}`)
	}
	for id := range 2 {
		h.must(200, "PATCH", fmt.Sprintf("%s/%d", partners, id+2), `{"name":"Renamed","webhook_url":"https://else.example/","strict":false,"id_token_alg":"RS256"}`)
		h.must(200, "POST", fmt.Sprintf("%s/%d/pause", partners, id+2), `{"reason":"late"}`)
	}
	return list
}

// checkRepeats repeats the requests: each gets the same bytes as before, and nothing changes.
func checkRepeats(h *harness, list []*repeatable) {
	h.Helper()
	before := h.counts()
	for _, r := range list {
		if a := r.send(h); a.Status != r.status || a.Body != r.want {
			h.Errorf("%s repeated answered %d\n%s\nwant %d\n%s", r.name, a.Status, a.Body, r.status, r.want)
		}
	}
	if after := h.counts(); after != before {
		h.Errorf("repeats changed something:\n%s\n%s", before, after)
	}
}

// TestRepeatsGetTheFirstAnswer repeats requests of every kind after everything they created was
// changed.
func TestRepeatsGetTheFirstAnswer(t *testing.T) {
	h := newHarness(t)
	list := repeatables(h)
	checkRepeats(h, list)
	for _, text := range allOutcomes(h) {
		if strings.Contains(text, "leaves") {
			t.Errorf("the reason of a refund is stored with its outcome: %s", text)
		}
	}
}

// TestRepeatsAfterTheUpgrade repeats requests that were stored by an earlier version, which stored
// answers and not outcomes.
func TestRepeatsAfterTheUpgrade(t *testing.T) {
	h := newHarness(t)
	list := repeatables(h)
	// Orders without a stored answer: the answer shows the current state.
	changed, refunded := h.buy("order-8"), h.buy("order-9")
	for _, r := range []repeatable{
		{name: "plan change without an answer", path: "/operator/v1/licenses/" + changed + "/plan", body: `{"tier":2,"external_id":"unread"}`, status: 200},
		{name: "refund without an answer", path: refunds, body: `{"license_key":"` + refunded + `","external_id":"unread"}`, status: 201},
	} {
		r.want = r.send(h).Body
		list = append(list, &r)
	}
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error { return storeAnswers(tx, h, list) }))
	names, err := h.DB.Migrate(t.Context())
	if err != nil || len(names) != 1 {
		t.Fatalf("applied %v, %v", names, err)
	}
	checkRepeats(h, list)
	for _, text := range allOutcomes(h) {
		if strings.Contains(text, "leaves") {
			t.Errorf("the reason of a refund is stored with its outcome: %s", text)
		}
	}
}

func allOutcomes(h *harness) []string {
	h.Helper()
	list, err := sqldb.All(h.Context(), h.DB, sqldb.Value[string], `SELECT outcome FROM idempotency_keys`)
	if err != nil || len(list) == 0 {
		h.Fatalf("read %d outcomes: %v", len(list), err)
	}
	return list
}

// storeAnswers restores the database from before the migration, with answers and no outcomes.
func storeAnswers(tx *sqldb.Tx, h *harness, list []*repeatable) error {
	run := func(sql string, args ...any) error {
		_, err := tx.Exec(h.Context(), sql, args...)
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		return nil
	}
	for _, sql := range []string{
		`DELETE FROM migrations WHERE name = '0015_outcomes'`,
		`ALTER TABLE partners ADD COLUMN content TEXT NOT NULL DEFAULT ''`,
		`ALTER TABLE partners ADD COLUMN answer TEXT NOT NULL DEFAULT ''`,
		`ALTER TABLE purchases ADD COLUMN answer TEXT NOT NULL DEFAULT ''`,
		`ALTER TABLE refunds ADD COLUMN content TEXT NOT NULL DEFAULT ''`,
		`ALTER TABLE refunds ADD COLUMN answer TEXT NOT NULL DEFAULT ''`,
		`UPDATE purchases SET content = (SELECT request FROM idempotency_keys WHERE scope = 'external:plan_change:1' AND key = external_id) WHERE kind = 2 AND external_id <> ''`,
		`UPDATE refunds SET content = (SELECT request FROM idempotency_keys WHERE scope = 'external:refund:1' AND key = external_id) WHERE external_id <> ''`,
		`UPDATE partners SET content = (SELECT request FROM idempotency_keys WHERE scope = 'external:partner' AND key = external_id) WHERE external_id <> ''`,
		`DELETE FROM idempotency_keys WHERE scope LIKE 'external:%'`,
		`DROP INDEX idempotency_keys_expiry`,
		`ALTER TABLE idempotency_keys DROP COLUMN expires_at`,
		`ALTER TABLE idempotency_keys RENAME COLUMN outcome TO answer`,
		`ALTER TABLE idempotency_keys ADD COLUMN about TEXT NOT NULL DEFAULT ''`,
		`CREATE INDEX idempotency_keys_about ON idempotency_keys (about) WHERE about <> ''`,
		`CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at)`,
	} {
		if err := run(sql); err != nil {
			return err
		}
	}
	for _, r := range list {
		sql, id := `UPDATE idempotency_keys SET answer = $1 WHERE key = $2`, r.key
		if r.table != "" {
			sql, id = `UPDATE `+r.table+` SET answer = $1 WHERE external_id = $2`, "x"
		}
		if r.name == "purchase, external id" || strings.HasSuffix(r.name, "without an answer") {
			continue // a purchase is still answered from its own row
		}
		if r.table == "purchases" {
			sql += ` AND kind = 2`
		}
		if err := run(sql, r.want, id); err != nil {
			return err
		}
	}
	return nil
}
