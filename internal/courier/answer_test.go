package courier_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"claviger/internal/courier"
)

func TestDelivered(t *testing.T) {
	long := strings.Repeat("x", courier.MaxBody)
	for _, c := range []struct {
		status       int
		body         string
		want, strict bool
		why          string // the first reason that applies
	}{
		{200, ``, true, false, ``},
		{200, `{"success":true}`, true, true, ``},
		{200, " \ufeff", true, false, ``},
		{200, "\ufeff{\"success\": true}\n", true, true, ``},
		{200, `{"a":{"success":false},"success":true}`, true, true, ``},
		{200, `{"success":false,"success":true}`, true, true, ``},
		{200, `{"event":"purchase","succ\u0065ss":true}`, true, true, ``},
		{200, `{"a":[1,{"success":true}],"b":"\"success\":true"}`, true, false, ``},
		{200, `{"a":"success","b":":","success":"false"}`, true, false, ``},
		{200, `{"success":0}`, true, false, ``},
		{200, `{"success":null}`, true, false, ``},
		{200, `{"Success":false}`, true, false, ``},
		{200, `[{"success":false}]`, true, false, ``},
		{200, `"success": false`, true, false, ``},
		{200, `{"success":false} and more`, true, false, ``},
		{200, `{"success":false`, true, false, ``},
		{200, `<html>{"success":false}</html>`, true, false, ``},
		{200, (`{"success":true,"a":"` + long)[:courier.MaxBody], true, true, ``},
		{200, (`{"a":"` + long)[:courier.MaxBody], true, false, ``},
		{200, (`{"success":false,"a":"` + long)[:courier.MaxBody], false, false, `it answered 200 OK with "success": false`},
		{200, `{"success":false}`, false, false, `it answered 200 OK with "success": false`},
		{202, "{\n \"message\":\"no\", \"success\" : false }", false, false, `it answered 202 Accepted with "success": false`},
		{204, ``, true, false, ``},
		{201, `{"success":true}`, true, false, ``},
		{299, ``, true, false, ``},
		{0, ``, false, false, `there was no HTTP answer`},
		{199, ``, false, false, `it answered 199`},
		{301, ``, false, false, `it answered 301 Moved Permanently, a redirect, and redirects are not followed`},
		{304, `{"success":true}`, false, false, `it answered 304 Not Modified, a redirect, and redirects are not followed`},
		{404, `{"success":true}`, false, false, `it answered 404 Not Found`},
		{410, ``, false, false, `it answered 410 Gone`},
		{599, ``, false, false, `it answered 599`},
	} {
		name := c.body[:min(len(c.body), 60)]
		if ok, why := courier.Delivered(c.status, c.body, false); ok != c.want || why != c.why {
			t.Errorf("%d %q: %v %q, want %v %q", c.status, name, ok, why, c.want, c.why)
		}
		if ok, why := courier.Delivered(c.status, c.body, true); ok != c.strict || ok != (why == "") {
			t.Errorf("strict, %d %q: %v %q, want %v", c.status, name, ok, why, c.strict)
		}
	}
	for _, c := range []struct {
		status    int
		body, why string
	}{
		{200, `{"ok":true}`, `it answered 200 OK without "success": true`},
		{202, `{"success":true}`, `it answered 202 Accepted and must answer 200`},
	} {
		if _, why := courier.Delivered(c.status, c.body, true); why != c.why {
			t.Errorf("strict, %d %s: %q, want %q", c.status, c.body, why, c.why)
		}
	}
}

// TestSuccess compares the hand-written parser with encoding/json.
func TestSuccess(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `"success"`, `"s\u0075ccess"`, `"a"`, `"\""`, `"\\"`, `:`, `:`, `,`, ` `, "\n", `true`, `false`, `1`, `null`, `"`, `\`, "\ufeff",
	})
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "body"), "")
		if rapid.Bool().Draw(t, "member") {
			body = `{"x":` + body + `,"success":false}`
		}
		want := courier.SaysNothing
		var members map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(body, "\ufeff")), &members); err == nil {
			switch members["success"] {
			case true:
				want = courier.SaysYes
			case false:
				want = courier.SaysNo
			}
		}
		if got := courier.Success(body); got != want {
			t.Errorf("Success(%q) = %d, want %d", body, got, want)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                                  0,
		"0":                                 0,
		"120":                               2 * time.Minute,
		" 5 ":                               5 * time.Second,
		"86401":                             24 * time.Hour,
		"99999999999999999999999999":        24 * time.Hour,
		"-5":                                0,
		"1.5":                               0,
		"soon":                              0,
		"Wed, 04 Mar 2026 12:00:30 GMT":     30 * time.Second,
		"Wed, 04 Mar 2026 11:00:00 GMT":     0,
		"Wed, 04 Mar 2037 12:00:00 GMT":     24 * time.Hour,
		"Wednesday, 04-Mar-26 12:01:00 GMT": time.Minute,
	} {
		if got := courier.RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("Retry-After: %s is %s, want %s", text, got, want)
		}
	}
	if got := courier.RetryAfter(nil, now); got != 0 {
		t.Errorf("without the header: %s", got)
	}
}

func TestClean(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 4, ""},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "abcd"},
		{"aäöü", 4, "aä"},
		{"aäöü", 5, "aäö"},
		{"😀😀", 7, "😀"},
		{"😀", 3, ""},
		{"a\x00b", 9, "a\ufffdb"},
		{"a\x01\x1b\x7fb", 19, "a\ufffd\ufffd\ufffdb"},
		{"a\u0085b", 9, "a\ufffdb"},
		{"a\tb\r\nc", 9, "a\tb\r\nc"},
		{"a\xffb", 9, "a\ufffdb"},
		{"\x00\x00\x00", 7, "\ufffd\ufffd"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\ufffd"},
		{"abc", 0, ""},
	} {
		if got := courier.Clean(c.in, c.limit); got != c.want {
			t.Errorf("Clean(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "in")), rapid.IntRange(0, 20).Draw(t, "limit")
		got := courier.Clean(in, limit)
		control := strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) })
		if len(got) > limit || !utf8.ValidString(got) || control {
			t.Errorf("Clean(%q, %d) = %q", in, limit, got)
		}
	})
}

func TestHeaderText(t *testing.T) {
	h := http.Header{"webhook-id": {"evt_1"}, "X-A": {"1", "2"}, "User-Agent": {"me"}, "Content-Type": {"text/plain"}}
	for want, first := range map[string][]string{
		"User-Agent: me\nContent-Type: text/plain\nX-A: 1\nX-A: 2\nwebhook-id: evt_1": nil,
		"webhook-id: evt_1\nX-A: 1\nX-A: 2\nUser-Agent: me\nContent-Type: text/plain": {"webhook-id", "X-A", "X-None"},
	} {
		if got := courier.HeaderText(h, first...); got != want {
			t.Errorf("HeaderText with %v first = %q, want %q", first, got, want)
		}
	}
	if got := courier.HeaderText(nil); got != "" {
		t.Errorf("no header is %q", got)
	}
}

func TestAnswerText(t *testing.T) {
	a := courier.Answer{Status: 404, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<p>\x00 " + strings.Repeat("ä", 20)}
	if got, want := a.Text(16), "404 Not Found\nContent-Type: te … (cut after 16 bytes)\n\n<p>\ufffd ääää … (cut after 16 bytes)"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := (courier.Answer{Status: 204}).Text(100); got != "204 No Content" {
		t.Errorf("got %q", got)
	}
}
