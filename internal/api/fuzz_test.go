package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/wire"
)

// handle serves one request without a network, which would refuse some fuzzed requests before we
// see them.
func handle(t *testing.T, handler http.Handler, key, method, path, query, contentType, body string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(body))
	r.URL = &url.URL{Path: path, RawQuery: query}
	r.Header.Set("Authorization", "Bearer "+key)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return answer{Status: w.Code, Header: w.Header(), Body: w.Body.String()}
}

// sound checks the rules of every answer: no internal error, JSON (except for the one text), and no
// line break in a header.
func sound(t *testing.T, got answer) {
	t.Helper()
	if got.Status >= 500 || got.Status >= 300 && got.Status < 400 {
		t.Fatalf("answered %d %s", got.Status, got.Body)
	}
	if got.Header.Get("Content-Type") == "application/json" && !json.Valid([]byte(got.Body)) {
		t.Fatalf("the answer is no JSON: %s", got.Body)
	}
	for name, values := range got.Header {
		for _, v := range values {
			if strings.ContainsAny(v, "\r\n\x00") {
				t.Fatalf("the header %s has a line break: %q", name, v)
			}
		}
	}
}

// FuzzQuery sends made-up queries to every list.
func FuzzQuery(f *testing.F) {
	h := newHarness(f)
	s := h.licenses()
	handler := h.Handler()
	for _, q := range []string{
		"", "page=1&limit=100&order=asc", "status=active", "status=%00&page=%FF", "updated_since=2026-11-15T09:30:00Z", "updated_since=0000-01-01T00:00:00-23:59",
		"updated_since=2026-11-15T09:30:00Z&cursor=oK7e6gMC", "updated_since=2026-11-15T09:30:00Z&cursor=_____________________________w",
		"after=5&event=purchase", "after=9223372036854775808", "success=true", "page=100000000000000000000", "page=1;limit=2", "%ff=%zz", "limit=1&limit=2", "a=%0d%0aSet-Cookie:x",
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{
			"/v2/licenses", "/v2/licenses/events", "/v2/licenses/" + s.active.Key + "/events/", "/v2/licenses/" + s.active.Key + "/webhook-responses",
		} {
			got := handle(t, handler, h.oursKey, "GET", path, query, "", "")
			sound(t, got)
			if got.Status != 200 && got.Status != 400 {
				t.Fatalf("%s?%s answered %d", path, query, got.Status)
			}
			if got.Status == 200 && got.Header.Get("Link") == "" {
				t.Fatalf("%s?%s has no Link", path, query)
			}
		}
	})
}

// FuzzPath calls made-up paths with every method. No data of the other partner may come back.
func FuzzPath(f *testing.F) {
	h := newHarness(f)
	s := h.licenses()
	handler := h.Handler()
	for _, p := range []string{
		"licenses", "licenses/", "licenses//", "licenses/" + s.foreign.Key, "licenses/\x00/events", "licenses/\xff/explain", "events/1/redeliver", "events/-1/redeliver/",
		"profile/contact/1", "profile/../licenses", "openapi.json", "licenses/events/events", "licenses/" + sql, "{license_key}",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS"} {
			got := handle(t, handler, h.oursKey, method, "/v2/"+path, "", "", "")
			sound(t, got)
			if strings.Contains(got.Body, s.foreign.Key) || strings.Contains(got.Body, "other.example.com") {
				t.Fatalf("%s %q told of another partner: %s", method, path, got.Body)
			}
		}
	})
}

// FuzzContact posts made-up bodies. A refused one changes nothing; an accepted one comes back as
// sent, and can be removed.
func FuzzContact(f *testing.F) {
	h := newHarness(f)
	handler := h.Handler()
	for _, body := range []string{
		`{"name":"Ada","email":"ada@partner.example.com"}`, `name=Ada&email=ada%40partner.example.com`, ``, `{}`, `[]`, `{"name":1}`, `{"name":"\u0000"}`,
		"{\"name\":\"\xff\"}", `{"name":"a","name":"b"}`, `{"name":"\ud800","email":"a@b.c"}`, `name=%FF`, `{`, "\ufeff{}",
	} {
		f.Add("application/json", body)
		f.Add("application/x-www-form-urlencoded", body)
	}
	f.Fuzz(func(t *testing.T, contentType, body string) {
		h := h.in(t)
		before := h.state()
		got := handle(t, handler, h.oursKey, "POST", "/v2/profile/contact", "", contentType, body)
		sound(t, got)
		if got.Status != http.StatusCreated {
			if h.state() != before {
				t.Fatalf("answered %d and changed something", got.Status)
			}
			return
		}
		var made struct {
			ID int64 `json:"contact_id"`
		}
		if err := json.Unmarshal([]byte(got.Body), &made); err != nil {
			t.Fatal(err)
		}
		if err := h.Profiles.DeleteContact(t.Context(), tester, h.ours.ID, made.ID); err != nil {
			t.Fatalf("the contact that was answered is not there: %v", err)
		}
	})
}

// FuzzProfile sends made-up bodies to the profile, except those with a URL that would be called: a
// fuzzer should call no one.
func FuzzProfile(f *testing.F) {
	h := newHarness(f)
	handler := h.Handler()
	for _, body := range []string{
		`{"webhook_url":"","redirect_url":""}`, `webhook_url=&redirect_url=`, `{"webhook_url":"ftp://a"}`, `{"webhook_url":null}`, `{"webhook_url":5}`, `{`, ``, `null`,
		`{"redirect_url":"\u0000"}`, "redirect_url=%ff", `{"webhook_url":"//x","webhook_url":"y"}`,
	} {
		f.Add("application/json", body)
		f.Add("application/x-www-form-urlencoded", body)
	}
	f.Fuzz(func(t *testing.T, contentType, body string) {
		var in struct {
			WebhookURL  string `json:"webhook_url"`
			RedirectURL string `json:"redirect_url"`
		}
		r := httptest.NewRequestWithContext(t.Context(), "PUT", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		if _, err := (wire.Decoder{}).Decode(httptest.NewRecorder(), r, &in); err == nil && strings.Contains(in.WebhookURL+in.RedirectURL, "//") {
			t.Skip()
		}
		h := h.in(t)
		before := h.state()
		got := handle(t, handler, h.oursKey, "PUT", "/v2/profile", "", contentType, body)
		sound(t, got)
		if h.state() != before {
			t.Fatalf("answered %d and changed something", got.Status)
		}
	})
}
