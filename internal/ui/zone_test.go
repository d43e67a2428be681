package ui_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"claviger/internal/ui"
)

// asked returns a request with cookies, given as name=value.
func asked(t *testing.T, method, target string, cookies ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	for _, c := range cookies {
		r.Header.Add("Cookie", c)
	}
	return r
}

// TestZone: the browser's zone, unless it is unknown or the person prefers UTC.
func TestZone(t *testing.T) {
	for cookies, want := range map[string]string{
		"":                              "UTC",
		"claviger-zone=Europe/Berlin":   "Europe/Berlin",
		"claviger-zone=Europe%2FBerlin": "Europe/Berlin",
		"claviger-zone=America/Argentina/Buenos_Aires":      "America/Argentina/Buenos_Aires",
		"claviger-zone=Europe/Berlin; claviger-times=utc":   "UTC",
		"claviger-zone=Europe/Berlin; claviger-times=local": "Europe/Berlin",
		"claviger-zone=Nowhere/Land":                        "UTC",
		"claviger-zone=Local":                               "UTC",
		"claviger-zone=../../etc/passwd":                    "UTC",
		"claviger-times=utc":                                "UTC",
	} {
		if got := ui.Zone(asked(t, "GET", "/", cookies)).String(); got != want {
			t.Errorf("%s: %s, want %s", cookies, got, want)
		}
	}
}

// zoned shows a page with times to a person with these cookies.
func zoned(t *testing.T, method string, cookies ...string) string {
	t.Helper()
	p, err := ui.New(fstest.MapFS{"p.html": {Data: []byte(`<h1>T</h1>{{time .Data}}|{{exact .Data}}|{{day .Data}}`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	at := time.Date(2026, 11, 15, 23, 5, 7, 0, time.UTC)
	if err := p.Render(w, asked(t, method, "/p?a=1&b=2", cookies...), "p", ui.View{Nav: &ui.Nav{Title: "Tide"}, Data: at}); err != nil {
		t.Fatal(err)
	}
	if w.Header().Get("Content-Length") != "" && len(w.Body.String()) == 0 {
		t.Error("no page")
	}
	return w.Body.String()
}

// TestNoticesInZone: times in notices and problems are in the zone.
func TestNoticesInZone(t *testing.T) {
	p, err := ui.New(fstest.MapFS{"p.html": {Data: []byte(`<h1>T</h1>{{define "part"}}<p>Part</p>{{end}}`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{"page": "", "fragment": "true"} {
		r := asked(t, "GET", "/p", "claviger-zone=Europe/Berlin")
		if header != "" {
			r.Header.Set("HX-Request", header)
			r.Header.Set("HX-Request-Type", "partial")
		}
		w := httptest.NewRecorder()
		view := ui.View{Fragment: "part", Notice: "It works until 15 Nov 2025, 23:05 UTC.", Problem: "Tried at 15 Nov 2025, 23:06:07 UTC."}
		if err := p.Render(w, r, "p", view); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{">16 Nov 2025, 00:05 CET</time>.", ">16 Nov 2025, 00:06:07 CET</time>."} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("the %s lacks %s:\n%s", name, want, w.Body)
			}
		}
	}
}

// TestTimesInZone: times and dates are in the zone, which is named, with UTC in the title. Without
// a zone everything is in UTC.
func TestTimesInZone(t *testing.T) {
	wants(t, zoned(t, "GET", "claviger-zone=Europe/Berlin"),
		`<time datetime="2026-11-15T23:05:07Z" data-as="minute" title="2026-11-15 23:05:07 UTC">16 Nov 2026, 00:05 CET</time>`,
		`>16 Nov 2026, 00:05:07 CET</time>`, `>16 November 2026</time>`, "Times are in Europe/Berlin.", `data-zone="Europe/Berlin"`,
		`name="zone" value="utc"`, `name="next" value="/p?a=1&amp;b=2"`, "Show times in UTC")
	wants(t, zoned(t, "GET", "claviger-zone=Europe/Berlin; claviger-times=utc"),
		">15 Nov 2026, 23:05 UTC</time>", "Times are in UTC.", "Show times in Europe/Berlin", `name="zone" value="local"`)
	plain := zoned(t, "GET")
	wants(t, plain, ">15 Nov 2026, 23:05 UTC</time>", ">15 November 2026</time>", "Times are in UTC.")
	if strings.Contains(plain, "Show times in") {
		t.Error("there is a switch with nothing to switch to")
	}
	// The answer to a form cannot be requested again.
	if posted := zoned(t, "POST", "claviger-zone=Europe/Berlin"); strings.Contains(posted, "data-zone") || strings.Contains(posted, "Show times in") {
		t.Error("the answer to a form has a switch")
	}
}

func TestSetTimes(t *testing.T) {
	p := sample(t)
	for zone, want := range map[string]string{"utc": "utc", "local": "local", "x": "local"} {
		w := httptest.NewRecorder()
		p.SetTimes(w, zone)
		if c := w.Result().Cookies()[0]; c.Name != "claviger-times" || c.Value != want || c.MaxAge < 1e6 {
			t.Errorf("%s: %v", zone, c)
		}
	}
}

// TestQueryTime: a typed time is in the person's zone, a link has its own.
func TestQueryTime(t *testing.T) {
	want := time.Date(2026, 11, 16, 13, 0, 0, 0, time.UTC)
	for query, ok := range map[string]bool{
		"from=2026-11-16T14:00": true, "from=2026-11-16T14:00:00": true, "from=2026-11-16T13:00:00Z": true, "from=2026-11-16T14:00:00%2B01:00": true,
		"from=yesterday": false,
	} {
		r := asked(t, "GET", "/?"+query, "claviger-zone=Europe/Berlin")
		got, err := ui.QueryTime(r, "from")
		if (err == nil) != ok || ok && !got.Equal(want) {
			t.Errorf("%s is %v, %v", query, got, err)
		}
		var field ui.Field
		field.SetTime(r, got)
		if said := "16 Nov 2026, 14:00 CET"; ok && (field.Value != "2026-11-16T14:00" || field.Said != said) {
			t.Errorf("%s is shown as %s and said as %s", query, field.Value, field.Said)
		}
	}
	r := asked(t, "GET", "/")
	field := ui.Field{Value: "x", Said: "y"}
	got, err := ui.QueryTime(r, "from")
	if field.SetTime(r, got); err != nil || !got.IsZero() || field.Value != "" || field.Said != "" {
		t.Errorf("none is %v, %v", got, err)
	}
	if got, _ := ui.QueryTime(asked(t, "GET", "/?from=2026-11-16", "claviger-zone=Europe/Berlin"), "from"); got != time.Date(2026, 11, 15, 23, 0, 0, 0, time.UTC) {
		t.Errorf("a day begins at %v", got)
	}
}

// TestInUTC: a URL means the same to everyone who opens it.
func TestInUTC(t *testing.T) {
	for from, want := range map[string]string{
		"/a%2Fb?from=2026-11-16T14:00&state=x":      "/a%2Fb?from=2026-11-16T13%3A00%3A00Z&state=x",
		"/?to=2026-11-16":                           "/?to=2026-11-15T23%3A00%3A00Z",
		"/?from=2026-11-16T14:00:00%2B01:00":        "/?from=2026-11-16T13%3A00%3A00Z",
		"/?from=2026-11-16T13:00:00Z&to=2026-11-17": "/?from=2026-11-16T13%3A00%3A00Z&to=2026-11-16T23%3A00%3A00Z",
		"/?from=2026-11-16T13:00:00.5Z":             "",
		"/?from=yesterday":                          "",
		"/?from=&to=":                               "",
		"/?state=x":                                 "",
		"/":                                         "",
	} {
		if got := ui.InUTC(asked(t, "GET", from, "claviger-zone=Europe/Berlin")); got != want {
			t.Errorf("%s is %s, want %s", from, got, want)
		}
	}
}
