package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
)

// state returns everything that a partner's request could have changed, as text.
func (h *harness) state() string {
	h.Helper()
	var b strings.Builder
	for _, p := range []partner.Partner{h.ours, h.other} {
		licenses, err := h.API.Licenses.List(h.Context(), p.ID, license.Filter{}, paging.First())
		h.Must(err)
		events, err := h.API.Events.List(h.Context(), p.ID, event.Filter{}, paging.First())
		h.Must(err)
		profile, contacts, err := h.Profiles.Get(h.Context(), p.ID)
		h.Must(err)
		fmt.Fprintf(&b, "%+v\n%+v\n%+v\n%+v\n", licenses, events, profile, contacts)
	}
	deliveries, err := h.Webhooks.Stats(h.Context())
	h.Must(err)
	entries, more, err := (&audit.Log{DB: h.DB}).List(h.Context(), audit.Filter{}, paging.First())
	h.Must(err)
	fmt.Fprintf(&b, "%+v\n%+v %v\n", deliveries, entries, more)
	return b.String()
}

// problem is the error body.
type problem struct {
	Error     string `json:"error"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
	Field     string `json:"field"`
}

const (
	jsonType = "Content-Type: application/json"
	formType = "Content-Type: application/x-www-form-urlencoded"
	sql      = `x'); DROP TABLE licenses; --`
)

type refusal struct {
	name         string
	method, path string
	body         string
	header       string
	status       int
	code, field  string
}

// queries returns refused query strings of the lists.
func queries() []refusal {
	lists := map[string][]string{
		"/v2/licenses":                             {"status", "updated_since", "cursor", "updated_since=2026-01-01T00:00:00Z&cursor"},
		"/v2/licenses/events":                      {"status", "event", "after"},
		"/v2/licenses/{active}/events":             {"event", "after"},
		"/v2/licenses/{active}/webhook-responses/": {"success"},
	}
	bad := []string{"", "0", "-1", "1.5", "abc", "+1", "1e3", "0x10", "%C2%B2", "%00", "1%00", "%FF", sqlQuery, "ACTIVE", "1,2", "null", "%20", "1%20"}
	var table []refusal
	for path, filters := range lists {
		for _, given := range append([]string{"page", "limit", "order"}, filters...) {
			name := given[strings.LastIndex(given, "&")+1:]
			for _, value := range bad {
				if name == "order" && value == "" || name == "after" && value == "0" {
					continue
				}
				table = append(table, refusal{method: "GET", path: path + "?" + given + "=" + value, status: 400, code: "invalid_parameter", field: name})
			}
			table = append(table, refusal{method: "GET", path: path + "?" + name + "=1&" + name + "=1", status: 400, code: "invalid_parameter", field: name})
		}
		table = append(table,
			refusal{method: "GET", path: path + "?limit=101", status: 400, code: "invalid_parameter", field: "limit"},
			refusal{method: "GET", path: path + "?limit=100000000000000000000", status: 400, code: "invalid_parameter", field: "limit"},
			refusal{method: "GET", path: path + "?page=%zz", status: 400, code: "invalid_parameter"},
			refusal{method: "GET", path: path + "?page=1;limit=2", status: 400, code: "invalid_parameter"})
	}
	const cursor = "&cursor=oK7e6gMC" // one of ours
	return append(table,
		refusal{method: "GET", path: "/v2/licenses?status=active" + cursor, status: 400, code: "invalid_parameter", field: "cursor"},
		refusal{method: "GET", path: "/v2/licenses?updated_since=2026-01-01T00:00:00Z&page=1" + cursor, status: 400, code: "invalid_parameter", field: "cursor"})
}

const sqlQuery = "1%27%29%3B%20DROP%20TABLE%20licenses%3B%20--"

// paths returns refused paths: no license, no event, no contact, nothing at all.
func paths() []refusal {
	keys := []string{
		"{foreign}", "00000000-0000-4000-8000-000000000000", "x", "0", "-1", "%00", "{active}%00", "%FF", "%C3%28", sqlQuery,
		"%2e%2e%2fprofile", "{active}%2Fevents", "%7Bactive%7D", strings.Repeat("a", 4000), "{ACTIVE}", "%20{active}", "{active}%0A",
	}
	var table []refusal
	for _, key := range keys {
		for _, rest := range []string{"", "/", "/events", "/events/", "/webhook-responses", "/explain", "/explain/"} {
			table = append(table, refusal{method: "GET", path: "/v2/licenses/" + key + rest, status: 404, code: "unknown_license"})
		}
	}
	numbers := []string{"0", "-1", "+1", "1.0", "01", "1e3", "x", "9223372036854775807", "100000000000000000000", "%00", "1%00", "%FF", sqlQuery, "%D9%A1"}
	for _, n := range append(numbers, "{foreign_event}") {
		table = append(table, refusal{method: "POST", path: "/v2/events/" + n + "/redeliver", status: 404, code: "unknown_event"})
	}
	for _, n := range append(numbers, "{foreign_contact}") {
		table = append(table, refusal{method: "DELETE", path: "/v2/profile/contact/" + n, status: 404, code: "unknown_contact"})
	}
	for _, path := range []string{
		"/", "/v2", "/v2/", "/v2/license", "/v2/Licenses", "/v2/licenses/{active}/refund", "/v2/licenses/{active}/events/1", "/v2/events", "/v2/events/1",
		"//v2/licenses", "/v2//licenses", "/v2/licenses//", "/v2/licenses//events", "/v2/./profile", "/v2/profile/../licenses",
		"/v2/profile/contact//", "/v2/openapi.json//", "/v2/openapi.yaml", "/v2/profile/contacts", "/operator/v1/partners", "/v2%2Flicenses",
	} {
		table = append(table, refusal{method: "GET", path: path, status: 404, code: "not_found"})
	}
	for _, m := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
		table = append(table, refusal{method: m, path: "/v2/licenses", status: 405, code: "method_not_allowed"},
			refusal{method: m, path: "/v2/licenses/{active}/", status: 405, code: "method_not_allowed"})
	}
	return append(table,
		refusal{method: "POST", path: "/v2/profile/contact/{contact}", status: 405, code: "method_not_allowed"},
		refusal{method: "POST", path: "/v2/profile/contact/{contact}/", status: 405, code: "method_not_allowed"},
		refusal{method: "GET", path: "/v2/profile/contact", status: 405, code: "method_not_allowed"},
		refusal{method: "GET", path: "/v2/events/1/redeliver", status: 405, code: "method_not_allowed"})
}

// bodies returns refused bodies of a contact.
func bodies() []refusal {
	post := func(name, header, body string, status int, code, field string) refusal {
		return refusal{name: name, method: "POST", path: "/v2/profile/contact", header: header, body: body, status: status, code: code, field: field}
	}
	long := strings.Repeat("x", 64<<10)
	return []refusal{
		post("nothing", jsonType, ``, 422, "invalid_field", "email"),
		post("an empty object", jsonType, `{}`, 422, "invalid_field", "email"),
		post("null", jsonType, `null`, 400, "invalid_body", ""),
		post("a list", jsonType, `[{"name":"A","email":"a@b.example"}]`, 400, "invalid_body", ""),
		post("a string", jsonType, `"name"`, 400, "invalid_body", ""),
		post("cut off", jsonType, `{"name":"A","email":"a@b.example"`, 400, "invalid_body", ""),
		post("two objects", jsonType, `{"name":"A","email":"a@b.example"}{}`, 400, "invalid_body", ""),
		post("a comment", jsonType, `{"name":"A",/* */"email":"a@b.example"}`, 400, "invalid_body", ""),
		post("single quotes", jsonType, `{'name':'A','email':'a@b.example'}`, 400, "invalid_body", ""),
		post("deep", jsonType, strings.Repeat(`{"name":`, 8000), 400, "invalid_body", ""),
		post("deep beside", jsonType, `{"name":"A","email":"a@b.example","x":`+strings.Repeat("[", 20000), 400, "invalid_body", ""),
		post("a number for the name", jsonType, `{"name":1,"email":"a@b.example"}`, 400, "invalid_body", "name"),
		post("a list for the address", jsonType, `{"name":"A","email":["a@b.example"]}`, 400, "invalid_body", "email"),
		post("true for the address", jsonType, `{"name":"A","email":true}`, 400, "invalid_body", "email"),
		post("null for the address", jsonType, `{"name":"A","email":null}`, 422, "invalid_field", "email"),
		post("a name twice", jsonType, `{"name":"A","name":"B","email":"a@b.example"}`, 400, "invalid_body", "name"),
		post("a name twice in a form", formType, `name=A&name=B&email=a@b.example`, 400, "invalid_body", "name"),
		post("not UTF-8", jsonType, "{\"name\":\"\xff\",\"email\":\"a@b.example\"}", 400, "invalid_body", "name"),
		post("half a pair", jsonType, `{"name":"\ud83d","email":"a@b.example"}`, 400, "invalid_body", "name"),
		post("NUL", jsonType, `{"name":"A\u0000","email":"a@b.example"}`, 422, "invalid_field", "name"),
		post("NUL, raw", jsonType, "{\"name\":\"A\x00\",\"email\":\"a@b.example\"}", 400, "invalid_body", ""),
		post("NUL in the address", jsonType, `{"name":"A","email":"a\u0000@b.example"}`, 422, "invalid_field", "email"),
		post("not UTF-8 in a form", formType, `name=%FF&email=a@b.example`, 400, "invalid_body", "name"),
		post("NUL in a form", formType, `name=A%00&email=a@b.example`, 422, "invalid_field", "name"),
		post("bad escapes in a form", formType, `name=%zz&email=a@b.example`, 400, "invalid_body", ""),
		post("a form that knows no member, as JSON", jsonType, `colour=red`, 400, "invalid_body", ""),
		post("JSON that knows no member, as a form", formType, `{"colour":"red"}`, 400, "invalid_body", ""),
		post("broken JSON, as a form", formType, `{"name":"A","email":`, 400, "invalid_body", ""),
		post("no address", jsonType, `{"name":"A"}`, 422, "invalid_field", "email"),
		post("no name", formType, `email=a@b.example`, 422, "invalid_field", "name"),
		post("an empty name", jsonType, `{"name":" ","email":"a@b.example"}`, 422, "invalid_field", "name"),
		post("a long name", jsonType, `{"name":"`+strings.Repeat("é", 101)+`","email":"a@b.example"}`, 422, "invalid_field", "name"),
		post("a name of two lines", jsonType, `{"name":"A\r\nBcc: all@b.example","email":"a@b.example"}`, 422, "invalid_field", "name"),
		post("two at signs", jsonType, `{"name":"A","email":"a@b@c.example"}`, 422, "invalid_field", "email"),
		post("no domain", jsonType, `{"name":"A","email":"a@"}`, 422, "invalid_field", "email"),
		post("an address with a line break", jsonType, `{"name":"A","email":"a@b.example\nBcc: x"}`, 422, "invalid_field", "email"),
		post("a long address", jsonType, `{"name":"A","email":"`+strings.Repeat("a", 250)+`@b.example"}`, 422, "invalid_field", "email"),
		post("SQL for an address", jsonType, `{"name":"A","email":"`+sql+`"}`, 422, "invalid_field", "email"),
		post("an address that is there", jsonType, `{"name":"A","email":"ANN@ours.example.com"}`, 409, "contact_exists", "email"),
		post("too long", jsonType, `{"name":"`+long+`","email":"a@b.example"}`, 413, "body_too_large", ""),
		post("too long a form", formType, `name=`+long+`&email=a@b.example`, 413, "body_too_large", ""),
		post("text", "Content-Type: text/plain", `{"name":"A","email":"a@b.example"}`, 415, "unsupported_media_type", ""),
		post("many parts", "Content-Type: multipart/form-data; boundary=x", "--x--", 415, "unsupported_media_type", ""),
		post("another charset", "Content-Type: application/json; charset=utf-16", `{"name":"A","email":"a@b.example"}`, 415, "unsupported_media_type", ""),
		post("a type that is none", "Content-Type: ;", `{"name":"A","email":"a@b.example"}`, 415, "unsupported_media_type", ""),
		post("compressed", "Content-Encoding: gzip", `{"name":"A","email":"a@b.example"}`, 415, "unsupported_media_type", ""),
	}
}

// urls returns refused bodies of the profile.
func urls() []refusal {
	var table []refusal
	for _, method := range []string{"PUT", "PATCH"} {
		for _, member := range []string{"webhook_url", "redirect_url"} {
			patch := func(value string, status int, code string) {
				table = append(table, refusal{method: method, path: "/v2/profile", header: jsonType, body: `{"` + member + `":` + value + `}`, status: status, code: code, field: member})
			}
			patch(`1`, 400, "invalid_body")
			patch(`{}`, 400, "invalid_body")
			patch(`"\ud800"`, 400, "invalid_body")
			patch(`"https://a.example/\u0000"`, 422, "invalid_field")
			for _, u := range []string{
				" ", "x", "//a.example", "/path", "javascript:alert(1)", "ftp://a.example", "https://", "https:///path", "https://a b.example",
				"https://user:pass@a.example/", "https://a.example/#fragment", "https://a.example:99999/", "https://a.example/<script>", "http://[::1", sql,
				"https://a.example/" + strings.Repeat("x", 3000), "file:///etc/passwd", `https://a.example/\npath`,
			} {
				patch(`"`+u+`"`, 422, "invalid_url")
			}
		}
		table = append(table,
			refusal{method: method, path: "/v2/profile", header: jsonType, body: `[]`, status: 400, code: "invalid_body"},
			refusal{method: method, path: "/v2/profile", header: jsonType, body: `{"webhook_url"`, status: 400, code: "invalid_body"},
			refusal{method: method, path: "/v2/profile", header: jsonType, body: `{` + strings.Repeat(" ", 64<<10) + `}`, status: 413, code: "body_too_large"},
			refusal{method: method, path: "/v2/profile", header: "Content-Type: text/html", body: `<p>`, status: 415, code: "unsupported_media_type"})
	}
	return table
}

// TestRefusals sends invalid requests, and checks that each refusal has its Status and code and has
// changed nothing.
func TestRefusals(t *testing.T) {
	for name, table := range map[string][]refusal{"query": queries(), "path": paths(), "body": bodies(), "urls": urls()} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			s := h.licenses()
			contact, err := h.Profiles.AddContact(t.Context(), tester, h.ours.ID, "Ann", "ann@ours.example.com")
			h.Must(err)
			fill := strings.NewReplacer("{active}", s.active.Key, "{ACTIVE}", strings.ToUpper(s.active.Key), "{foreign}", s.foreign.Key,
				"{foreign_event}", fmt.Sprint(s.foreignEvent), "{foreign_contact}", fmt.Sprint(s.foreignContact), "{contact}", fmt.Sprint(contact.ID))
			url, client := h.serve(), contract(t).Client(t)
			before := h.state()
			for _, r := range table {
				if r.name == "" {
					r.name = fmt.Sprintf("%s %.60s %.60s", r.method, r.path, r.body)
				}
				t.Run(r.name, func(t *testing.T) {
					got := h.in(t).ask(client, r.method, url+fill.Replace(r.path), r.body, r.header)
					r.check(t, got)
				})
			}
			if d := cmp.Diff(before, h.state()); d != "" {
				t.Errorf("refused requests changed something (-before +after):\n%s", d)
			}
		})
	}
}

func (r refusal) check(t *testing.T, got answer) {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(got.Body), &p); err != nil {
		t.Fatalf("answered %d with a body that is no JSON: %q", got.Status, got.Body)
	}
	if got.Status != r.status || p.Error != r.code || p.Field != r.field {
		t.Errorf("answered %d %s on %q (%s), want %d %s on %q", got.Status, p.Error, p.Field, p.Message, r.status, r.code, r.field)
	}
	if !strings.HasSuffix(p.Message, ".") || strings.Contains(p.Message, "DROP TABLE") {
		t.Errorf("the message is not a sentence of ours: %q", p.Message)
	}
	if p.RequestID == "" || p.RequestID != got.Header.Get("X-Request-Id") {
		t.Errorf("request_id is %q, the header says %q", p.RequestID, got.Header.Get("X-Request-Id"))
	}
	if (got.Header.Get("Allow") != "") != (r.status == 405) || got.Header.Get("Location") != "" {
		t.Errorf("the headers are %v", got.Header)
	}
}

// TestForeignIsUnknown compares every byte of the answers for a license of another partner with
// those for a missing one.
func TestForeignIsUnknown(t *testing.T) {
	h := newHarness(t)
	s := h.licenses()
	url, client := h.serve(), contract(t).Client(t)
	requestID := regexp.MustCompile(`req_[a-z2-7]{26}`)
	about := func(key, rest string) answer {
		a := h.ask(client, "GET", url+"/v2/licenses/"+key+rest, "")
		a.Body = requestID.ReplaceAllString(a.Body, "")
		a.Header = maps.Clone(a.Header)
		a.Header.Del("X-Request-Id")
		a.Header.Del("Date")
		return a
	}
	for _, rest := range []string{"", "/events", "/webhook-responses", "/explain"} {
		want := about("0f0e0d0c-0b0a-4908-8706-050403020100", rest)
		for _, key := range []string{s.foreign.Key, "no-key", strings.ToUpper(s.active.Key)} {
			if d := cmp.Diff(want, about(key, rest), cmp.AllowUnexported(answer{})); d != "" {
				t.Errorf("%s%s tells more than an unknown license (-unknown +this):\n%s", key, rest, d)
			}
		}
	}
}

// TestSlashes calls every route with a trailing slash and with two, without a key: the first is the
// route, the second is unknown.
func TestSlashes(t *testing.T) {
	h := newHarness(t)
	url, client := h.serve(), contract(t).Client(t)
	for _, route := range h.Routes() {
		path := regexp.MustCompile(`\{.*?\}`).ReplaceAllString(route.Path, "1")
		want := http.StatusUnauthorized
		if route.Public {
			want = http.StatusOK
		}
		for _, end := range []string{"", "/"} {
			if got := h.ask(client, route.Method, url+path+end, "", "Authorization: "); got.Status != want {
				t.Errorf("%s %s answered %d, want %d", route.Method, path+end, got.Status, want)
			}
		}
		for _, bad := range []string{path + "//", "/" + path, strings.Replace(path, "/v2/", "/v2//", 1)} {
			if got := h.ask(client, route.Method, url+bad, ""); got.Status != http.StatusNotFound {
				t.Errorf("%s %s answered %d, want 404", route.Method, bad, got.Status)
			}
		}
	}
}
