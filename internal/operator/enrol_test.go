package operator_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"claviger/internal/account"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

const partners = "/operator/v1/partners"

// createdSecrets are the secrets that a creation shows once.
type createdSecrets struct {
	ID            int64  `json:"id"`
	ClientSecret  string `json:"client_secret"`
	APIKey        string `json:"api_key"`
	WebhookSecret string `json:"webhook_secret"`
}

// TestSamePartnerAtOnce creates the same partner fifty times concurrently: there is one, one answer
// has the secrets, all others have the partner without them.
func TestSamePartnerAtOnce(t *testing.T) {
	const times = 50
	for _, test := range []struct {
		name, body string
		header     []string
	}{
		{"by key", `{"name":"Two"}`, []string{"Idempotency-Key: once"}},
		{"by external id", `{"name":"Two","external_id":"app-2"}`, nil},
		{"by both", `{"name":"Two","external_id":"app-2"}`, []string{"Idempotency-Key: once"}},
		{"by external id, with other keys", `{"name":"Two","external_id":"app-2"}`, []string{"Idempotency-Key: each"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHarness(t)
			answers := make([]answer, times)
			var all sync.WaitGroup
			for i := range answers {
				header := test.header
				if strings.HasSuffix(test.name, "other keys") {
					header = []string{fmt.Sprintf("%s-%d", header[0], i)}
				}
				all.Go(func() { answers[i] = h.send(h.tokens[account.Admin], "POST", partners, test.body, header...) })
			}
			all.Wait()
			var made []createdSecrets
			var repeats []string
			for _, a := range answers {
				switch {
				case a.Status == 201:
					var c createdSecrets
					a.Into(t, &c)
					made = append(made, c)
				case a.Status == 200:
					repeats = append(repeats, a.Body)
				case a.Code() != "idempotency_key_in_use" || !sqldbtest.Postgres():
					t.Errorf("answered %d: %s", a.Status, a.Body)
				}
			}
			if n := h.count(`SELECT count(*) FROM partners`); n != 2 || len(made) != 1 {
				t.Fatalf("%d partners, of which 1 was there, and %d answers with secrets", n, len(made))
			}
			for _, body := range repeats {
				if body != repeats[0] || strings.Contains(body, "secret") || strings.Contains(body, made[0].APIKey) {
					t.Errorf("a repeat was answered %s", body)
				}
			}
			h.storesNone(made[0].ClientSecret, made[0].APIKey, made[0].WebhookSecret)
		})
	}
}

// storesNone searches the stored outcomes for secrets.
func (h *harness) storesNone(secrets ...string) {
	h.Helper()
	kept, err := sqldb.All(h.Context(), h.DB, sqldb.Value[string], `SELECT outcome FROM idempotency_keys
		UNION ALL SELECT hash || sealed FROM partner_secrets UNION ALL SELECT after FROM audit_entries`)
	if err != nil {
		h.Fatal(err)
	}
	for _, text := range kept {
		for _, s := range secrets {
			if strings.Contains(text, s) {
				h.Errorf("stored in the clear: %s", text)
			}
		}
	}
}

// TestRepeatedPartner checks which requests count as the same creation.
func TestRepeatedPartner(t *testing.T) {
	const first = `{"name":"Two","brand":"Two","webhook_url":"https://two.example/","external_id":"app-2"}`
	for _, test := range []struct {
		name, again, key string
		status           int
		code             string
	}{
		{"the same", first, "", 200, ""},
		{"the same under the same key", first, "k", 200, ""},
		{"the same in another order, by external id", `{"external_id":" app-2 ","webhook_url":"https://two.example/","name":"Two","brand":"Two"}`, "", 200, ""},
		{"defaults in words", strings.Replace(first, "{", `{"strict":false,"error_member":true,"id_token_alg":"RS256",`, 1), "", 200, ""},
		{"another body under the same key", `{"name":"Three"}`, "k", 422, "idempotency_key_reused"},
		{"another name", `{"name":"Three","brand":"Two","webhook_url":"https://two.example/","external_id":"app-2"}`, "", 409, "external_id_reused"},
		{"another URL", strings.Replace(first, "two.example", "three.example", 1), "", 409, "external_id_reused"},
		{"another way of signing", strings.Replace(first, "{", `{"id_token_alg":"ES256",`, 1), "", 409, "external_id_reused"},
		{"another external id", strings.Replace(first, "app-2", "app-3", 1), "", 201, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHarness(t)
			h.must(201, "POST", partners, first, "Idempotency-Key: k")
			h.must(200, "PATCH", partners+"/2", `{"name":"Renamed"}`)
			before := h.counts()
			var header []string
			if test.key != "" {
				header = []string{"Idempotency-Key: " + test.key}
			}
			a := h.send(h.tokens[account.Admin], "POST", partners, test.again, header...)
			if a.Status != test.status || a.Code() != test.code {
				t.Fatalf("answered %d: %s", a.Status, a.Body)
			}
			if a.Status != 201 && h.counts() != before {
				t.Errorf("something was changed:\n%s\n%s", before, h.counts())
			}
			if a.Status == 200 && (!strings.Contains(a.Body, `"id":2,"name":"Two"`) || strings.Contains(a.Body, "api_key")) {
				t.Errorf("answered %s", a.Body)
			}
		})
	}
	h := newHarness(t)
	if a := h.send(h.tokens[account.Admin], "POST", partners, `{"name":"Two"}`); a.Status != 400 || a.Code() != "idempotency_required" {
		t.Errorf("neither key nor external id answered %d: %s", a.Status, a.Body)
	}
}

// TestRepeatIsNotCheckedAgain repeats a creation with a checked URL after the application is down.
func TestRepeatIsNotCheckedAgain(t *testing.T) {
	h := newHarness(t)
	calls := 0
	app := http.NewServeMux()
	app.HandleFunc("/", func(http.ResponseWriter, *http.Request) { calls++ })
	body := fmt.Sprintf(`{"name":"Two","redirect_url":%q,"validate":true,"external_id":"app-2"}`, h.listen(app))
	h.must(201, "POST", partners, body)
	before := calls
	h.must(200, "POST", partners, body)
	if before == 0 || calls != before {
		t.Errorf("%d calls for the creation, %d for the repeat", before, calls-before)
	}
}

// TestDeletedPartner: a deleted partner leaves no rows in any table except the audit.
func TestDeletedPartner(t *testing.T) {
	h := newHarness(t)
	var made createdSecrets
	h.must(201, "POST", partners, `{"name":"Two","webhook_url":"https://two.example/","external_id":"app-2"}`).Into(t, &made)
	at := partners + "/2"
	h.must(201, "PUT", at+"/plans/1", `{"name":"One"}`)
	h.must(201, "POST", at+"/members", `{"email":"eve@example.com","role":"admin"}`)
	h.must(200, "POST", at+"/rotate", `{"what":"api_key","overlap_s":60}`)
	if _, err := h.operator.Profiles.AddContact(t.Context(), tester, 2, "Eve", "eve@example.com"); err != nil {
		t.Fatal(err)
	}
	h.must(202, "POST", at+"/redeliver", `{"from":"2026-03-01T00:00:00Z"}`)
	if a := h.send(h.tokens[account.Sell], "DELETE", at, ""); a.Code() != "missing_scope" {
		t.Errorf("without the scope: %d %s", a.Status, a.Body)
	}
	h.must(204, "DELETE", at, "")
	for _, table := range h.tablesOfPartners() {
		if n := h.count(`SELECT count(*) FROM ` + table + ` WHERE partner_id = 2`); n != 0 && table != "audit_entries" {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	h.must(404, "GET", at, "")
	h.must(404, "DELETE", at, "")
	if _, err := h.operator.Partners.ByKey(t.Context(), made.APIKey); err == nil {
		t.Error("its key still opens")
	}
	entries := h.must(200, "GET", "/operator/v1/audit?subject=partner:2&action=partner.delete", "")
	if !strings.Contains(entries.Body, `"size":1`) || !strings.Contains(entries.Body, `"name":"Two"`) {
		t.Errorf("the audit says %s", entries.Body)
	}
	h.must(201, "POST", partners, `{"name":"Two again","external_id":"app-2"}`)

	h.buy("order-1")
	before := h.counts()
	a := h.send(h.tokens[account.Admin], "DELETE", partners+"/1", "")
	if a.Status != 409 || a.Code() != "partner_has_licenses" || !strings.Contains(a.Body, "Pause") || h.counts() != before {
		t.Errorf("a partner with licenses: %d %s", a.Status, a.Body)
	}
}

// tablesOfPartners returns the tables with rows of partners.
func (h *harness) tablesOfPartners() []string {
	h.Helper()
	sql := `SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c ON c.name = 'partner_id' WHERE m.type = 'table'`
	if sqldbtest.Postgres() {
		sql = `SELECT CAST(table_name AS text) FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'partner_id'`
	}
	list, err := sqldb.All(h.Context(), h.DB, sqldb.Value[string], sql)
	if err != nil || len(list) < 10 {
		h.Fatalf("found the tables %v, %v", list, err)
	}
	return list
}

// TestDeletedWhileItIsUsed deletes partners while plans are added and licenses sold: each of these
// happens before, or finds no partner.
func TestDeletedWhileItIsUsed(t *testing.T) {
	h := newHarness(t)
	for i := range 20 {
		id := int64(i) + 2
		at := fmt.Sprintf("%s/%d", partners, id)
		h.must(201, "POST", partners, fmt.Sprintf(`{"name":"P","external_id":"app-%d"}`, id))
		h.must(201, "PUT", at+"/plans/1", `{"name":"One"}`)
		var all sync.WaitGroup
		try := func(allowed, method, path, body string) {
			all.Go(func() {
				a := h.send(h.tokens[account.Admin], method, path, body)
				if !strings.Contains(allowed, fmt.Sprint(a.Status)) {
					t.Errorf("%s %s answered %d: %s", method, path, a.Status, a.Body)
				}
			})
		}
		try("204 409", "DELETE", at, "")
		try("201 404", "POST", purchases, fmt.Sprintf(`{"partner_id":%d,"tier":1,"external_id":"o"}`, id))
		try("201 404", "PUT", at+"/plans/2", `{"name":"Two"}`)
		try("200 404", "PATCH", at, `{"name":"Q","webhook_url":"https://two.example/"}`)
		try("200 404", "POST", at+"/rotate", `{"what":"api_key"}`)
		all.Wait()
		there := h.count(fmt.Sprintf(`SELECT count(*) FROM partners WHERE id = %d`, id))
		if sold := h.count(fmt.Sprintf(`SELECT count(*) FROM licenses WHERE partner_id = %d`, id)); sold != there {
			t.Errorf("%d partners with %d licenses", there, sold)
		}
	}
}
