package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// echo answers the name of its route and the key in the path.
func echo(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		return wire.Text(w, http.StatusOK, name+" "+r.PathValue("key"))
	}
}

func table() *wire.Mux {
	return wire.NewMux(
		wire.Public("GET", "/v2/licenses", echo("list")),
		wire.Public("GET", "/v2/licenses/events", echo("events")),
		wire.Public("GET", "/v2/licenses/{key}", echo("one")),
		wire.Public("GET", "/v2/licenses/{key}/events", echo("of")),
		wire.Public("POST", "/v2/contact", echo("add")),
		wire.Public("PUT", "/v2/contact", echo("put")),
		wire.Public("DELETE", "/v2/contact/{key}", echo("delete")),
		wire.Public("GET", "/", echo("root")),
		wire.Public("GET", "/broken", func(http.ResponseWriter, *http.Request) error { return errors.New("inside") }),
	)
}

// calls are requests to table and their answers.
var calls = []struct {
	method, path string
	status       int
	want         string // the text, or the error code
	allow        string
}{
	{"GET", "/v2/licenses", 200, "list ", ""},
	{"GET", "/v2/licenses/", 200, "list ", ""},
	{"GET", "/v2/licenses?page=2", 200, "list ", ""},
	{"GET", "/v2/licenses/events", 200, "events ", ""},
	{"GET", "/v2/licenses/events/", 200, "events ", ""},
	{"GET", "/v2/licenses/abc", 200, "one abc", ""},
	{"GET", "/v2/licenses/abc/", 200, "one abc", ""},
	{"GET", "/v2/licenses/a%2Fb", 200, "one a/b", ""},
	{"GET", "/v2/licenses/%2e%2e", 200, "one ..", ""},
	{"GET", "/v2/licenses/events/events", 200, "of events", ""},
	{"GET", "/v2/licenses/abc/events/", 200, "of abc", ""},
	{"HEAD", "/v2/licenses/abc/", 200, "", ""},
	{"DELETE", "/v2/contact/7/", 200, "delete 7", ""},
	{"GET", "/", 200, "root ", ""},
	{"GET", "/broken", 500, "internal_error", ""},

	{"GET", "/v2", 404, "not_found", ""},
	{"GET", "/v2/", 404, "not_found", ""},
	{"GET", "/v2/unknown", 404, "not_found", ""},
	{"GET", "/v2/licenses/abc/unknown", 404, "not_found", ""},
	{"GET", "/v2//licenses", 404, "not_found", ""},
	{"GET", "//v2/licenses", 404, "not_found", ""},
	{"GET", "//", 404, "not_found", ""},
	{"GET", "/v2/licenses//", 404, "not_found", ""},
	{"GET", "/v2/./licenses", 404, "not_found", ""},
	{"GET", "/v2/x/../licenses", 404, "not_found", ""},
	{"GET", "/v2/licenses/..", 404, "not_found", ""},
	{"POST", "/v2//contact", 404, "not_found", ""},
	{"CONNECT", "/v2/licenses", 404, "not_found", ""},

	{"POST", "/v2/licenses", 405, "method_not_allowed", "GET, HEAD"},
	{"POST", "/v2/licenses/", 405, "method_not_allowed", "GET, HEAD"},
	{"DELETE", "/v2/licenses/events", 405, "method_not_allowed", "GET, HEAD"},
	{"OPTIONS", "/v2/licenses/abc", 405, "method_not_allowed", "GET, HEAD"},
	{"GET", "/v2/contact", 405, "method_not_allowed", "POST, PUT"},
	{"POST", "/v2/contact/7", 405, "method_not_allowed", "DELETE"},
	{"BREW", "/v2/contact/7", 405, "method_not_allowed", "DELETE"},
}

func TestMux(t *testing.T) {
	mux := table()
	for _, tt := range calls {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), tt.method, "http://x.example"+tt.path, nil)
			mux.ServeHTTP(w, r)
			got := w.Body.String()
			if tt.method == "HEAD" {
				got = "" // the server drops the body
			}
			if tt.status >= 400 {
				var b body
				if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || b.RequestID == "" || b.RequestID != w.Header().Get("X-Request-Id") {
					t.Errorf("error body %s: %v", w.Body, err)
				}
				got = b.Error
			}
			if w.Code != tt.status || got != tt.want || w.Header().Get("Allow") != tt.allow || w.Header().Get("Location") != "" {
				t.Errorf("got %d %q, headers %v, want %d %q, Allow %q", w.Code, got, w.Header(), tt.status, tt.want, tt.allow)
			}
		})
	}
}

func TestMuxListsItsRoutes(t *testing.T) {
	var got []string
	for _, rt := range table().Routes() {
		got = append(got, rt.Method+" "+rt.Path)
	}
	if len(got) != 9 || !slices.Contains(got, "GET /v2/licenses/{key}/events") {
		t.Errorf("got %v", got)
	}
}

func TestMuxElse(t *testing.T) {
	mux := table()
	mux.Else = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = wire.Text(w, 200, "else "+r.URL.Path) })
	for path, want := range map[string]string{"/portal/": "else /portal/", "/v2/licenses": "list "} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		if w.Body.String() != want {
			t.Errorf("%s: got %q, want %q", path, w.Body, want)
		}
	}
}

// TestMuxOther: a path may have its own answer to unsupported methods, and the log has its route.
func TestMuxOther(t *testing.T) {
	page := wire.Public("POST", "/page/{key}", echo("page"))
	page.Other = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = w.Write([]byte("in its own way"))
	}
	mux := wire.NewMux(wire.Public("GET", "/page/{key}", echo("look")), page)
	ctx, note := wire.Begin(t.Context(), "req_1", "")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "PUT", "/page/7/", nil))
	if w.Code != 405 || w.Body.String() != "in its own way" || w.Header().Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("got %d %q, headers %v", w.Code, w.Body, w.Header())
	}
	if note.Route != "/page/{key}" || !fault.Is(note.Err, "method_not_allowed") {
		t.Errorf("noted %q, %v", note.Route, note.Err)
	}
}

func TestMuxNotesTheRoute(t *testing.T) {
	for path, want := range map[string]string{"/v2/licenses/abc/": "/v2/licenses/{key}", "/nowhere": ""} {
		ctx, note := wire.Begin(t.Context(), "req_1", "")
		w := httptest.NewRecorder()
		table().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
		if note.Route != want || w.Header().Get("X-Request-Id") != "" {
			t.Errorf("%s: noted %q, want %q; headers %v", path, note.Route, want, w.Header())
		}
	}
}

// TestMuxNotesSecretPaths: the route decides whether its path stays out of the log, also for
// another method.
func TestMuxNotesSecretPaths(t *testing.T) {
	serve := func(w http.ResponseWriter, _ *http.Request) error { return wire.Text(w, http.StatusOK, "") }
	other := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }
	secret := wire.Public("GET", "/a/{id}", serve)
	secret.SecretPath, secret.Other = true, other
	plain := wire.Public("GET", "/licensing/{id}", serve)
	plain.Other = other
	inJSON := wire.Public("GET", "/b/{id}", serve)
	inJSON.SecretPath = true
	mux := wire.NewMux(secret, plain, inJSON)
	for path, want := range map[string]bool{"/a/1": true, "/b/1": true, "/licensing/1": false, "/c/1": false} {
		for _, method := range []string{"GET", "HEAD", "DELETE"} {
			ctx, note := wire.Begin(t.Context(), "req_1", "")
			mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, path, nil))
			if note.Secret != want || note.Secret && note.Route == "" {
				t.Errorf("%s %s: noted %+v", method, path, note)
			}
		}
	}
}

// caller is a caller in these tests; its key is its name.
type caller string

func authRoutes(limit *wire.Limiter, guard *wire.Guard) *wire.AuthRoutes[caller] {
	return &wire.AuthRoutes[caller]{
		Authenticate: func(r *http.Request) (caller, error) {
			key, err := wire.Credential(r, func(v string) bool { return strings.HasPrefix(v, "k") }, "X-Licensing-Key")
			if err != nil {
				return "", err
			}
			if strings.HasPrefix(key, "wrong") {
				return "", fault.New(fault.Unknown, "invalid_key", "No such key.")
			}
			return caller(key), nil
		},
		Name:  func(c caller) string { return "caller:" + string(c) },
		Limit: limit,
		Guard: guard,
	}
}

func call(t testing.TB, h http.Handler, path, key, from string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if from != "" {
		r.RemoteAddr = from
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func hello(w http.ResponseWriter, _ *http.Request, who caller) error {
	return wire.Text(w, http.StatusOK, "hello "+string(who))
}

func TestAuthRoutesAuthenticates(t *testing.T) {
	d := authRoutes(nil, nil)
	adminOnly := func(c caller) error {
		if c != "admin" {
			return fault.New(fault.Forbidden, "missing_scope", "This needs the scope admin.")
		}
		return nil
	}
	mux := wire.NewMux(d.Route("GET", "/hello", hello), d.Route("GET", "/admin", hello, adminOnly))
	tests := []struct {
		path, key, want string
		status          int
	}{
		{"/hello", "anna", "hello anna", 200},
		{"/hello", "", "missing_credentials", 401},
		{"/hello", "wrong", "invalid_key", 401},
		{"/admin", "anna", "missing_scope", 403},
		{"/admin", "admin", "hello admin", 200},
	}
	for _, tt := range tests {
		w := call(t, mux, tt.path, tt.key, "")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s as %q: got %d %s, want %d %s", tt.path, tt.key, w.Code, w.Body, tt.status, tt.want)
		}
		if got := w.Header().Get("WWW-Authenticate") == "Bearer"; got != (tt.status == 401) {
			t.Errorf("%s as %q: WWW-Authenticate is %q", tt.path, tt.key, w.Header().Get("WWW-Authenticate"))
		}
		if w.Header().Get("RateLimit-Limit") != "" {
			t.Error("RateLimit headers where there is no limit")
		}
	}
}

func TestAuthRoutesNotesWho(t *testing.T) {
	ctx, note := wire.Begin(t.Context(), "req_1", "")
	r := httptest.NewRequestWithContext(ctx, "GET", "/hello", nil)
	r.Header.Set("X-Licensing-Key", "anna")
	wire.NewMux(authRoutes(nil, nil).Route("GET", "/hello", hello)).ServeHTTP(httptest.NewRecorder(), r)
	if note.Who != "caller:anna" {
		t.Errorf("noted %q", note.Who)
	}
}

func TestAuthRoutesLimits(t *testing.T) {
	c := newClock()
	mux := wire.NewMux(authRoutes(&wire.Limiter{PerMinute: 2, Now: c.now}, nil).Route("GET", "/hello", hello))
	for i, want := range []int{200, 200, 429, 429} {
		w := call(t, mux, "/hello", "anna", "")
		if w.Code != want || w.Header().Get("RateLimit-Limit") != "2" || w.Header().Get("RateLimit-Remaining") == "" || w.Header().Get("RateLimit-Reset") == "" {
			t.Errorf("call %d: got %d, %v, want %d", i, w.Code, w.Header(), want)
		}
		if got := w.Header().Get("Retry-After"); (got == "30") != (want == 429) {
			t.Errorf("call %d: Retry-After is %q", i, got)
		}
	}
	if w := call(t, mux, "/hello", "berta", ""); w.Code != 200 {
		t.Errorf("another caller: got %d", w.Code)
	}
	c.tick(30e9)
	if w := call(t, mux, "/hello", "anna", ""); w.Code != 200 {
		t.Errorf("after waiting: got %d", w.Code)
	}
}

func TestAuthRoutesLimitsByBucket(t *testing.T) {
	d := authRoutes(&wire.Limiter{PerMinute: 1, Now: newClock().now}, nil)
	d.Bucket = func(*http.Request, caller) string { return "all" }
	mux := wire.NewMux(d.Route("GET", "/hello", hello))
	if a, b := call(t, mux, "/hello", "anna", ""), call(t, mux, "/hello", "berta", ""); a.Code != 200 || b.Code != 429 {
		t.Errorf("got %d and %d, want one account for both", a.Code, b.Code)
	}
}

// TestAuthRoutesThrottlesWrongCredentials: only wrong credentials have to wait; right ones are
// served from the same address.
func TestAuthRoutesThrottlesWrongCredentials(t *testing.T) {
	c := newClock()
	mux := wire.NewMux(authRoutes(nil, &wire.Guard{Failures: &wire.Limiter{PerMinute: 2, Now: c.now}}).Route("GET", "/hello", hello))
	const here, there = "192.0.2.1:1000", "[2001:db8:1:2::9]:1000"
	var got []int
	for _, step := range []struct{ key, from string }{
		{"anna", here}, {"", here}, {"", here}, {"", here}, // right or none: no guess
		{"wrong1", here}, {"anna", here}, {"wrong2", here}, // two guesses
		{"wrong3", here}, {"anna", here}, {"", here}, // only a wrong one is told to wait
		{"wrong1", there}, {"wrong1", "[2001:db8:1:2::7]:99"}, {"wrong1", "[2001:db8:1:2::8]:5"}, // a /64 is one client
		{"wrong1", "[2001:db8:1:3::8]:5"},
	} {
		got = append(got, call(t, mux, "/hello", step.key, step.from).Code)
	}
	want := []int{200, 401, 401, 401, 401, 200, 401, 429, 200, 401, 401, 401, 429, 401}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if w := call(t, mux, "/hello", "wrong4", here); w.Header().Get("Retry-After") != "30" || !strings.Contains(w.Body.String(), "No such key.") {
		t.Errorf("got %v %s", w.Header(), w.Body)
	}
	c.tick(30e9)
	if w := call(t, mux, "/hello", "wrong5", here); w.Code != 401 {
		t.Errorf("after waiting: got %d", w.Code)
	}
}

func TestCredential(t *testing.T) {
	tests := []struct {
		name, header, value, want string
	}{
		{"bearer", "Authorization", "Bearer k1", "k1"},
		{"lower case", "Authorization", "bearer  k1 ", "k1"},
		{"named header", "X-Licensing-Key", " k1 ", "k1"},
		{"another scheme", "Authorization", "Basic azE6", ""},
		{"bare", "Authorization", "k1", ""},
		{"empty", "Authorization", "Bearer ", ""},
		{"none", "X-Other", "k1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.Header.Set(tt.header, tt.value)
			got, err := wire.Credential(r, func(v string) bool { return strings.HasPrefix(v, "k") }, "X-Licensing-Key")
			if got != tt.want || (err == nil) != (tt.want != "") || err != nil && !fault.Is(err, wire.NoCredentials) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	tests := []struct {
		query, field string
		ok           bool
	}{
		{"", "", true},
		{"page=2&status=active", "", true},
		{"other=1", "other", false},
		{"%FF=1", "\ufffd", false},
		{"page=1&Status=active", "Status", false},
		{"page=1&page=2", "page", false},
		{"status=%FF", "status", false},
		{"status=a%00", "status", false},
		{"page=%zz", "", false},
	}
	for _, tt := range tests {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.URL.RawQuery = tt.query
		_, err := wire.Query(r, "page", "status")
		f := fault.Of(err)
		if tt.ok != (err == nil) || !tt.ok && (f == nil || f.Field != tt.field || f.Kind != fault.Invalid) {
			t.Errorf("%q: got %v, want ok %v, field %q", tt.query, err, tt.ok, tt.field)
		}
	}
}

func TestPathID(t *testing.T) {
	for value, want := range map[string]int64{"7": 7, "9223372036854775807": 9223372036854775807, "0": 0, "-1": 0, "+7": 0, "07": 0, "1e3": 0, "": 0, "99999999999999999999": 0, "x": 0} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.SetPathValue("id", value)
		if got, ok := wire.PathID(r, "id"); got != want || ok != (want != 0) {
			t.Errorf("%q: got %d, %v, want %d", value, got, ok, want)
		}
	}
}
