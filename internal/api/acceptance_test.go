package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

const empty = `{"size":0,"items":[]}`

// TestNumbersPastTheEnd requests pages and times beyond every list.
func TestNumbersPastTheEnd(t *testing.T) {
	h := newHarness(t)
	s := h.licenses()
	url := h.serve()
	const huge = "100000000000000000000" // 10^20, more than 64 bits hold
	lists := map[string][]string{
		"/v2/licenses": {"", "status=active&", "updated_since=2026-01-01T00:00:00Z&", "status=active&updated_since=2026-01-01T00:00:00Z&"},
		"/v2/licenses/events": {
			"", "status=active&", "event=purchase&", "after=1&", "after=0&", "status=active&event=purchase&after=1&", "after=" + huge + "&",
		},
		"/v2/licenses/" + s.active.Key + "/events":            {"", "event=purchase&", "after=1&", "after=0&"},
		"/v2/licenses/" + s.active.Key + "/webhook-responses": {"", "success=true&"},
	}
	for path, filters := range lists {
		for _, filter := range filters {
			for _, page := range []string{"2", "1000", "9223372036854775807", "9223372036854775808", huge} {
				for _, rest := range []string{"", "&limit=1&order=asc", "&limit=99&order=desc"} {
					query := path + "?" + filter + "page=" + page + rest
					if page == "2" && strings.HasPrefix(rest, "&limit=1&") {
						continue // there is a second page of one
					}
					if got := h.ask(http.DefaultClient, "GET", url+query, ""); got.Status != http.StatusOK || got.Body != empty {
						t.Errorf("%s answered %d %s", query, got.Status, got.Body)
					}
				}
			}
		}
	}
}

// TestNamesOfOtherLists sends endpoints the parameters of others: they are refused.
func TestNamesOfOtherLists(t *testing.T) {
	h := newHarness(t)
	s := h.licenses()
	url, client := h.serve(), contract(t).Client(t)
	license := "/v2/licenses/" + s.active.Key
	for _, asked := range []string{
		"/v2/licenses?success=true",
		"/v2/licenses/events?updated_since=2026-01-01T00:00:00Z",
		license + "/events?status=active",
		license + "/webhook-responses?event=purchase",
		license + "?page=1",
		license + "/explain?page=1",
		"/v2/profile?page=1",
	} {
		got := h.ask(client, "GET", url+asked, "")
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, `"unknown_parameter"`) {
			t.Errorf("%s answered %d %s", asked, got.Status, got.Body)
		}
	}
}

// TestUpdatedSinceAnyTime requests licenses changed since times that cannot be stored, and in other
// offsets.
func TestUpdatedSinceAnyTime(t *testing.T) {
	h := newHarness(t)
	l := h.licenses().deactivated
	l, err := h.API.Licenses.ByKey(t.Context(), l.Key)
	h.Must(err)
	url, client := h.serve(), contract(t).Client(t)
	elsewhere := l.UpdatedAt.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)
	tests := []struct {
		name, since string
		size        int
	}{
		{"long ago", "0001-01-01T00:00:00Z", 3},
		{"before the epoch", "1969-12-31T23:59:59.999999Z", 3},
		{"the epoch", "1970-01-01T00:00:00Z", 3},
		{"the last change", l.UpdatedAt.Format(time.RFC3339Nano), 1},
		{"the last change, elsewhere", strings.ReplaceAll(elsewhere, "+", "%2B"), 1},
		{"just after the last change", l.UpdatedAt.Add(time.Microsecond).Format(time.RFC3339Nano), 0},
		{"a time that nanoseconds do not reach", "2300-01-01T00:00:00Z", 0},
		{"the last year", "9999-12-31T23:59:59.999999999Z", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := h.ask(client, "GET", url+"/v2/licenses?updated_since="+tt.since, "")
			if !strings.HasPrefix(got.Body, fmt.Sprintf(`{"size":%d,`, tt.size)) || got.Header.Get("X-Total-Count") != "" {
				t.Errorf("answered %d %v %s; want %d licenses and no total", got.Status, got.Header, got.Body, tt.size)
			}
		})
	}
}

// TestTextIsKept adds contacts with names that would break if they were executed, escaped or cut,
// and reads them back.
func TestTextIsKept(t *testing.T) {
	h := newHarness(t)
	url, client := h.serve(), contract(t).Client(t)
	names := []string{
		sql, `"; --`, `<script>alert("&amp;")</script>`, "O'Brien \\ %00 %s {{.}} ${x}", "Zoë 木村 🦊 \u00a0e\u0301", strings.Repeat("é", 100), "null",
	}
	var want []string
	for i, name := range names {
		body, err := wire.Encode(map[string]string{"name": name, "email": fmt.Sprintf("c%d@ours.example.com", i)})
		h.Must(err)
		got := h.ask(client, "POST", url+"/v2/profile/contact", string(body), jsonType)
		if got.Status != http.StatusCreated {
			t.Errorf("%q: answered %d %s", name, got.Status, got.Body)
		}
		want = append([]string{name}, want...)
	}
	_, contacts, err := h.Profiles.Get(t.Context(), h.ours.ID)
	h.Must(err)
	var kept []string
	for _, c := range contacts {
		kept = append(kept, c.Name)
		if got := h.ask(client, "GET", url+"/v2/profile", ""); !strings.Contains(got.Body, quoted(t, c.Name)) {
			t.Errorf("the profile does not show %q: %s", c.Name, got.Body)
		}
	}
	if d := cmp.Diff(want, kept); d != "" {
		t.Errorf("the names are not kept (-sent +kept):\n%s", d)
	}
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := wire.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBodyLimit sends the longest accepted body, and one byte more in chunks, so that its length is
// not known beforehand.
func TestBodyLimit(t *testing.T) {
	h := newHarness(t)
	url := h.serve()
	body := func(n int) io.Reader { return io.MultiReader(strings.NewReader("{" + strings.Repeat(" ", n-2) + "}")) }
	for n, want := range map[int]int{64 << 10: http.StatusOK, 64<<10 + 1: http.StatusRequestEntityTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), "PATCH", url+"/v2/profile", body(n))
		h.Must(err)
		r.Header.Set("X-Licensing-Key", h.oursKey)
		r.Header.Set("Content-Type", "application/json")
		resp, err := contract(t).Client(t).Do(r)
		h.Must(err)
		h.Must(resp.Body.Close())
		if resp.StatusCode != want {
			t.Errorf("a body of %d bytes in chunks: answered %d, want %d", n, resp.StatusCode, want)
		}
	}
}

// TestTooManyContacts fills the profile.
func TestTooManyContacts(t *testing.T) {
	h := newHarness(t)
	url, client := h.serve(), contract(t).Client(t)
	for i := range profile.MaxContacts {
		_, err := h.Profiles.AddContact(t.Context(), tester, h.ours.ID, "C", fmt.Sprintf("c%d@ours.example.com", i))
		h.Must(err)
	}
	before := h.state()
	got := h.ask(client, "POST", url+"/v2/profile/contact", `{"name":"One more","email":"more@ours.example.com"}`, jsonType)
	refusal{status: 409, code: "too_many_contacts"}.check(t, got)
	if h.state() != before {
		t.Error("a refused contact changed something")
	}
}

// TestHead requests only the headers of a list.
func TestHead(t *testing.T) {
	h := newHarness(t)
	h.licenses()
	url := h.serve()
	get := h.ask(http.DefaultClient, "GET", url+"/v2/licenses", "")
	head := h.ask(http.DefaultClient, "HEAD", url+"/v2/licenses", "")
	for _, a := range []*answer{&get, &head} {
		a.Header.Del("X-Request-Id")
		a.Header.Del("Date")
	}
	if d := cmp.Diff(get.Header, head.Header); d != "" || head.Body != "" || head.Status != get.Status {
		t.Errorf("HEAD answered %d with %d bytes, headers (-GET +HEAD):\n%s", head.Status, len(head.Body), d)
	}
	if got := get.Header.Get("Content-Length"); got != fmt.Sprint(len(get.Body)) {
		t.Errorf("Content-Length is %s, the body has %d bytes", got, len(get.Body))
	}
}

// TestRateLimit uses up the calls of a key. Another key of the same partner and another partner
// have their own.
func TestRateLimit(t *testing.T) {
	h := newHarness(t)
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	h.Limit = &wire.Limiter{PerMinute: 2, Now: func() time.Time { return at }}
	url, client := h.serve(), contract(t).Client(t)
	spent := h.oursKey
	for remaining := 1; remaining >= 0; remaining-- {
		got := h.ask(client, "GET", url+"/v2/profile", "")
		if got.Status != http.StatusOK || got.Header.Get("RateLimit-Limit") != "2" || got.Header.Get("RateLimit-Remaining") != fmt.Sprint(remaining) {
			t.Errorf("answered %d %v, want 200 and %d remaining of 2", got.Status, got.Header, remaining)
		}
	}
	before := h.state()
	got := h.ask(client, "POST", url+"/v2/profile/contact", `{"name":"A","email":"a@b.example"}`, jsonType)
	refusal{status: 429, code: "rate_limited"}.check(t, got)
	if got.Header.Get("Retry-After") != "30" || h.state() != before {
		t.Errorf("the third call was not held back for half a minute: %v", got.Header)
	}
	rotated, err := h.API.Partners.Rotate(t.Context(), tester, h.ours.ID, partner.APIKey, 24*time.Hour)
	h.Must(err)
	for key, want := range map[string]int{spent: 429, rotated.Value: 200, h.otherKey: 200} {
		if got := h.ask(client, "GET", url+"/v2/profile", "", "Authorization: Bearer "+key); got.Status != want {
			t.Errorf("answered %d, want %d", got.Status, want)
		}
	}
	at = at.Add(30 * time.Second)
	if got := h.ask(client, "GET", url+"/v2/profile", ""); got.Status != http.StatusOK {
		t.Errorf("half a minute later: answered %d", got.Status)
	}
}

// TestGuard sends wrong keys until the address has to wait. The right key still works from there.
func TestGuard(t *testing.T) {
	h := newHarness(t)
	h.Guard = &wire.Guard{Failures: &wire.Limiter{PerMinute: 2, Now: func() time.Time { return time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC) }}}
	url, client := h.serve(), contract(t).Client(t)
	for range 3 { // requests without a key do not count as guesses
		refusal{status: 401, code: "missing_credentials"}.check(t, h.ask(client, "GET", url+"/v2/profile", "", "Authorization: "))
	}
	for range 2 {
		refusal{status: 401, code: "invalid_key"}.check(t, h.ask(client, "GET", url+"/v2/profile", "", "Authorization: Bearer guess"))
	}
	refusal{status: 429, code: "too_many_failures"}.check(t, h.ask(client, "GET", url+"/v2/profile", "", "Authorization: Bearer guess"))
	if got := h.ask(client, "GET", url+"/v2/profile", ""); got.Status != http.StatusOK {
		t.Errorf("the right key from the same address: answered %d", got.Status)
	}
}

// TestKeyEnds rotates the key without overlap: the old one stops working.
func TestKeyEnds(t *testing.T) {
	h := newHarness(t)
	url, client := h.serve(), contract(t).Client(t)
	_, err := h.API.Partners.Rotate(t.Context(), tester, h.ours.ID, partner.APIKey, 0)
	h.Must(err)
	refusal{status: 401, code: "invalid_key"}.check(t, h.ask(client, "GET", url+"/v2/licenses", ""))
}

// TestWithoutBrand sends the brand's header to an installation without one.
func TestWithoutBrand(t *testing.T) {
	h := newHarness(t)
	h.Brand = ""
	url, client := h.serve(), contract(t).Client(t)
	for _, name := range []string{"X-Acme-Licensing-Key", "X--Licensing-Key"} {
		got := h.ask(client, "GET", url+"/v2/profile", "", "Authorization: ", name+": "+h.oursKey)
		refusal{status: 401, code: "missing_credentials"}.check(t, got)
	}
}
