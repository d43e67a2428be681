package operator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/account"
)

// hostile are hostile values for a member of a body, as JSON.
var hostile = []string{
	`true`, `0`, `-1`, `1.5`, `1e400`, `100000000000000000000`, `-9223372036854775808`, `9223372036854775807`,
	`""`, `" "`, `"x"`, `[]`, `{}`, `[{}]`, `{"email":{}}`, `{"email":"a@b.example","external_id":7}`,
	`"'; DROP TABLE licenses; --"`, `"' OR '1'='1"`, `"1); DELETE FROM users; --"`, `"$1"`, `"%s%n"`,
	`"a\u0000b"`, `"a\u001bb"`, `"a\nb"`, `"\ud800"`, `"\u2028"`, "\"\xff\xfe\"", `"` + strings.Repeat("x", 256) + `"`, `"` + strings.Repeat("ä", 3000) + `"`,
	`"https://user:pass@example.com/#x"`, `"javascript:alert(1)"`, `"http://169.254.169.254/"`,
}

// writes are valid requests, with {key} for a license; the test then makes each member hostile.
var writes = []struct{ method, path, body string }{
	{"POST", "/operator/v1/partners", `{"name":"N","brand":"B","strict":false,"single_key":false,"webhook_url":"","redirect_url":"","validate":false,"external_id":"app-2"}`},
	{"PATCH", "/operator/v1/partners/1", `{"name":"N","brand":"B","strict":false,"single_key":false,"webhook_url":"","redirect_url":"","validate":false}`},
	{"POST", "/operator/v1/partners/2/pause", `{"reason":"R"}`},
	{"POST", "/operator/v1/partners/1/switch", `{"what":"api_key"}`},
	{"POST", "/operator/v1/partners/1/rotate", `{"what":"api_key","overlap_s":60}`},
	{"POST", "/operator/v1/partners/1/members", `{"email":"m@b.example","role":"viewer"}`},
	{"PUT", "/operator/v1/partners/1/plans/9", `{"name":"N","price_cents":1,"currency":"EUR","checkout_url":"","external_ref":""}`},
	{"POST", "/operator/v1/partners/1/redeliver", `{"from":"2026-03-01T00:00:00Z","to":"2026-03-02T00:00:00Z","only_failed":false}`},
	{"POST", "/operator/v1/users", `{"email":"u@b.example","name":"N","external_id":"u-1"}`},
	{"POST", purchases, `{"partner_id":1,"tier":1,"user":{"email":"a@b.example"},"quantity":1,"amount_cents":1,"currency":"EUR","collected_by":"partner","external_id":"o-1"}`},
	{"POST", "/operator/v1/partners/1/terms", `{"share":1,"plans":[{"tier":1,"share":5}],"fees":"partner","payable_after":1,"smallest_payout":[{"currency":"EUR","amount":1}],"begins_at":"2200-01-01T00:00:00Z"}`},
	{"PUT", "/operator/v1/ledger/from", `{"from":"2026-03-01T00:00:00Z"}`},
	{"POST", refunds, `{"license_key":"{key}","partner_id":1,"purchase_external_id":"order-1","external_id":"r-1","reason":"R"}`},
	{"POST", "/operator/v1/licenses/{key}/hold", `{"reason":"held"}`},
	{"POST", "/operator/v1/licenses/{key}/activate", `{"user":{"email":"ada@example.com","name":"","external_id":""}}`},
	{"POST", "/operator/v1/licenses/{key}/transfer", `{"user":{"email":"b@b.example","name":"","external_id":""}}`},
	{"POST", "/operator/v1/licenses/{key}/plan", `{"tier":2,"amount_cents":1,"currency":"EUR","collected_by":"marketplace","external_id":"p-1"}`},
}

// TestHostileMembers puts every hostile value into every member of every body. None makes the
// service fail, and refused requests change nothing. A null counts as missing, which no schema
// says, so those bypass the contract.
func TestHostileMembers(t *testing.T) {
	h := newHarness(t)
	for _, write := range writes {
		key := h.buy("order-" + write.path)
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(withKey(write.body, key)), &members); err != nil {
			t.Fatal(err)
		}
		for name := range members {
			for _, value := range hostile {
				h.refusesOrTakes(h.client, write.method, withKey(write.path, key), with(members, name, value))
			}
			h.refusesOrTakes(http.DefaultClient, write.method, withKey(write.path, key), with(members, name, "null"))
		}
	}
	if n := h.count(`SELECT count(*) FROM licenses`); n == 0 {
		t.Error("the licenses are gone")
	}
}

// with returns a body with one member replaced.
func with(members map[string]json.RawMessage, name, value string) string {
	var parts []string
	for n, v := range members {
		if n == name {
			v = json.RawMessage(value)
		}
		parts = append(parts, fmt.Sprintf("%q:%s", n, v))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// refusesOrTakes sends a request that may be valid or not.
func (h *harness) refusesOrTakes(client *http.Client, method, path, body string) {
	h.Helper()
	before := h.counts()
	a := h.sendBy(client, h.tokens[account.Admin], method, path, body)
	switch {
	case a.Status >= 500 || a.Status < 200:
		h.Errorf("%s %s %q answered %d: %s", method, path, body, a.Status, a.Body)
	case a.Status >= 400 && h.counts() != before:
		h.Errorf("%s %s %q was refused and changed something:\n%s\n%s", method, path, body, before, h.counts())
	}
}

// TestBadBodies sends invalid bodies to every route that takes one.
func TestBadBodies(t *testing.T) {
	h := newHarness(t)
	key := h.buy("order-1")
	before := h.counts()
	for _, write := range writes {
		for _, test := range []struct {
			name, body, header string
			status             int
			code               string
		}{
			{"broken JSON", `{"name":`, "", 400, "invalid_body"},
			{"two values", `{} {}`, "", 400, "invalid_body"},
			{"no object", `["name"]`, "", 400, "invalid_body"},
			{"a string", `"name"`, "", 400, "invalid_body"},
			{"depth", strings.Repeat(`{"a":`, 11_000), "", 400, "invalid_body"},
			{"not UTF-8", "{\"\xff\":1}", "", 400, "invalid_body"},
			{"form", "name=x", "Content-Type: application/x-www-form-urlencoded", 415, "unsupported_media_type"},
			{"text", "{}", "Content-Type: text/plain", 415, "unsupported_media_type"},
			{"gzip", "{}", "Content-Encoding: gzip", 415, "unsupported_media_type"},
			{"too large", `{"name":"` + strings.Repeat("x", 64<<10) + `"}`, "", 413, "body_too_large"},
		} {
			var header []string
			if test.header != "" {
				header = append(header, test.header)
			}
			a := h.send(h.tokens[account.Admin], write.method, withKey(write.path, key), test.body, header...)
			if a.Status != test.status || a.Code() != test.code {
				t.Errorf("%s %s, %s: answered %d %s, want %d %s", write.method, write.path, test.name, a.Status, a.Body, test.status, test.code)
			}
		}
	}
	if h.counts() != before {
		t.Errorf("something was changed:\n%s\n%s", before, h.counts())
	}
}

// TestBadQueries puts hostile values into every parameter of every list. Some empty values and huge
// numbers are accepted, more kindly than a schema can say, so those bypass the contract.
func TestBadQueries(t *testing.T) {
	h := newHarness(t)
	h.buy("order-1")
	for path, names := range map[string][]string{
		"/operator/v1/partners":  {"page", "limit", "order"},
		"/operator/v1/users":     {"email", "external_id", "page", "limit", "order"},
		"/operator/v1/purchases": {"partner_id", "external_id", "page", "limit", "order"},
		"/operator/v1/licenses":  {"license_key", "email", "external_id", "partner_id", "status", "page", "limit", "order"},
		"/operator/v1/events":    {"after", "limit"},
		"/operator/v1/audit":     {"subject", "action", "page", "limit", "order"},
	} {
		for _, name := range names {
			for _, value := range []string{
				"0", "-1", "1.5", "x", "+1", " 1", "0x10", "active'--",
				"' OR 1=1 --", "\x00", "\xff\xfe", "ä\u2028", strings.Repeat("x", 5000),
			} {
				at := path + "?" + name + "=" + url.QueryEscape(value)
				if a := h.send(h.tokens[account.Read], "GET", at, ""); a.Status != 200 && (a.Status != 400 || a.Code() != "invalid_parameter") {
					t.Errorf("GET %s answered %d: %s", at, a.Status, a.Body)
				}
			}
			for _, value := range []string{"", "9223372036854775808", "100000000000000000000", strings.Repeat("9", 400)} {
				a := h.sendBy(http.DefaultClient, h.tokens[account.Read], "GET", path+"?"+name+"="+value, "")
				if a.Status != 200 && (a.Status != 400 || a.Code() != "invalid_parameter") {
					t.Errorf("GET %s?%s=%s answered %d: %s", path, name, value, a.Status, a.Body)
				}
			}
			if a := h.send(h.tokens[account.Read], "GET", path+"?"+name+"=1&"+name+"=1", ""); a.Code() != "invalid_parameter" {
				t.Errorf("%s given twice answered %d: %s", name, a.Status, a.Body)
			}
		}
		if a := h.send(h.tokens[account.Read], "GET", path+"?%zz", ""); a.Code() != "invalid_parameter" {
			t.Errorf("GET %s?%%zz answered %d: %s", path, a.Status, a.Body)
		}
	}
}

// TestBadPaths puts hostile values in place of ids and keys.
func TestBadPaths(t *testing.T) {
	h := newHarness(t)
	before := h.counts()
	for _, r := range h.operator.Routes() {
		if !strings.Contains(r.Path, "{") {
			continue
		}
		for _, value := range []string{
			"0", "-1", "+1", "01", "1.0", "1e3", "9223372036854775808", strings.Repeat("9", 400), "x", "%00", "%ff", "%27%20OR%201=1--", "%2e%2e", "a%2fb", "ä", "{id}",
			"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-00000000000G", "%20",
		} {
			path := strings.NewReplacer("{id}", value, "{tier}", value, "{key}", value).Replace(r.Path)
			body := ""
			for _, w := range writes {
				if w.method == r.Method && strings.Count(w.path, "/") == strings.Count(r.Path, "/") && strings.HasSuffix(w.path, r.Path[strings.LastIndex(r.Path, "}")+1:]) && strings.HasPrefix(w.path, r.Path[:len("/operator/v1/pa")]) {
					body = withKey(w.body, "00000000-0000-4000-8000-000000000000")
				}
			}
			if a := h.send(h.tokens[account.Admin], r.Method, path, body); a.Status != 404 {
				t.Errorf("%s %s answered %d: %s", r.Method, path, a.Status, a.Body)
			}
		}
	}
	if h.counts() != before {
		t.Errorf("something was changed:\n%s\n%s", before, h.counts())
	}
}

// TestBadKeys sends invalid idempotency keys.
func TestBadKeys(t *testing.T) {
	h := newHarness(t)
	before := h.counts()
	for _, key := range []string{"", strings.Repeat("k", 256), "ä", "a\tb", "\x80"} {
		a := h.send(h.tokens[account.Sell], "POST", purchases, `{"partner_id":1,"tier":1,"external_id":"o-1"}`, "Idempotency-Key: "+key)
		if a.Status != 400 || a.Code() != "invalid_idempotency_key" {
			t.Errorf("the key %q answered %d: %s", key, a.Status, a.Body)
		}
	}
	if h.counts() != before {
		t.Errorf("something was changed:\n%s\n%s", before, h.counts())
	}
}
