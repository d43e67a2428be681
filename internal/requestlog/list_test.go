package requestlog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"claviger/internal/prune"
	"claviger/internal/requestlog"
)

// several adds an hour of calls: one a minute; each fifth is unauthenticated.
func (h *harness) several() {
	for i := range 60 {
		h.Refused(call(func(c *requestlog.Call) {
			c.RequestID = fmt.Sprint("req_", i)
			if i%2 == 0 {
				c.Status, c.Code, c.Path, c.License = 404, "unknown_license", "/v2/licenses/x", "0190a1b2-0000-7000-8000-000000000007"
			}
			if i%5 == 0 {
				unproven(c)
				c.Cause = fmt.Sprint("cause_", i)
			}
		}))
		h.now = h.now.Add(time.Minute)
	}
	h.flush()
}

func TestFilters(t *testing.T) {
	h := newHarness(t)
	h.several()
	for _, c := range []struct {
		name   string
		filter requestlog.Filter
		want   int
	}{
		{"none", requestlog.Filter{}, 60},
		{"status", requestlog.Filter{Status: 404}, 24},
		{"code", requestlog.Filter{Code: "invalid_parameter"}, 24},
		{"cause", requestlog.Filter{Code: "cause_5"}, 1},
		{"part of the path", requestlog.Filter{Path: "openid"}, 12},
		{"a path is not a pattern", requestlog.Filter{Path: "%"}, 0},
		{"request id", requestlog.Filter{RequestID: "req_7"}, 1},
		{"license", requestlog.Filter{License: "0190a1b2-0000-7000-8000-000000000007"}, 24 + 6},
		{"from", requestlog.Filter{From: start.Add(50 * time.Minute)}, 10},
		{"to", requestlog.Filter{To: start.Add(50 * time.Minute)}, 50},
		{"all of them", requestlog.Filter{Status: 404, Code: "unknown_license", Path: "/v2", From: start.Add(10 * time.Minute), To: start.Add(20 * time.Minute)}, 4},
	} {
		if got := h.list(c.filter); len(got) != c.want {
			t.Errorf("%s: %d entries, want %d", c.name, len(got), c.want)
		}
	}
}

// Pages follow one another without a gap, with calls and groups in one order.
func TestPages(t *testing.T) {
	h := newHarness(t)
	h.several()
	all := h.list(requestlog.Filter{})
	for _, limit := range []int64{1, 7, 20, 60} {
		var got []requestlog.Entry
		f := requestlog.Filter{Limit: limit}
		for {
			list, err := h.List(t.Context(), 1, f)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, list.Entries...)
			if list.Next == (requestlog.Position{}) {
				break
			}
			next, ok := requestlog.ParsePosition(list.Next.String())
			if !ok {
				t.Fatalf("the cursor %q cannot be read", list.Next)
			}
			f.After = next
		}
		if !slices.Equal(got, all) {
			t.Errorf("pages of %d hold %d entries, not the %d of the list", limit, len(got), len(all))
		}
	}
	for _, bad := range []string{"", "x", "AAAA", "_____", requestlog.Position{At: start, Seq: 1}.String() + "AA"} {
		if p, ok := requestlog.ParsePosition(bad); ok {
			t.Errorf("%q is the position %v", bad, p)
		}
	}
}

func TestExpiry(t *testing.T) {
	h := newHarness(t)
	h.several()
	h.Answered(1)
	h.flush()
	h.now = start.Add(requestlog.Kept + 30*time.Minute + time.Nanosecond)
	if n := len(h.list(requestlog.Filter{})); n != 29 {
		t.Errorf("%d entries of the last seven days, want 29", n)
	}
	if n, err := prune.Rows(t.Context(), h.DB, h.Now(), requestlog.Expiring()); n != 31 || err != nil {
		t.Errorf("pruned %d rows, want 31: %v", n, err)
	}
	if n := h.count("refused_calls") + h.count("refused_groups"); n != 29 {
		t.Errorf("%d rows left, want 29", n)
	}
	h.now = start.Add(91 * 24 * time.Hour)
	if _, err := prune.Rows(t.Context(), h.DB, h.Now(), requestlog.Expiring()); err != nil || h.count("request_counts") != 0 {
		t.Errorf("%d hours left: %v", h.count("request_counts"), err)
	}
}

// A new day begins new groups.
func TestGroupsAreOfADay(t *testing.T) {
	h := newHarness(t)
	for range 3 {
		h.Refused(call(unproven))
		h.now = h.now.Add(24 * time.Hour)
	}
	h.flush()
	if n := len(h.list(requestlog.Filter{})); n != 3 {
		t.Errorf("%d groups of three days", n)
	}
}
