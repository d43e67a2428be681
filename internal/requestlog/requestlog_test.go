package requestlog_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"claviger/internal/license"
	"claviger/internal/requestlog"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// start is noon, so that a few hours are within one day.
var start = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// harness is a log on its own database, with a clock set by the test.
type harness struct {
	testing.TB
	*requestlog.Log
	registry *prometheus.Registry
	now      time.Time
}

func newHarness(t testing.TB) *harness {
	h := &harness{TB: t, registry: prometheus.NewRegistry(), now: start}
	h.Log = &requestlog.Log{DB: sqldbtest.Open(t), Now: func() time.Time { return h.now }, Metrics: requestlog.NewMetrics(h.registry)}
	return h
}

// call returns a refused call of partner 1.
func call(change ...func(*requestlog.Call)) requestlog.Call {
	c := requestlog.Call{
		PartnerID: 1, Proven: true, Method: "GET", Path: "/v2/licenses", Route: "/v2/licenses", Status: 400,
		Code: "invalid_parameter", Message: "page must be a whole number from 1; pages start at 1.", RequestID: "req_1",
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

// unproven makes a call unauthenticated.
func unproven(c *requestlog.Call) {
	c.Proven, c.Method, c.Path, c.Route, c.Status = false, "POST", "/openid/token", "/openid/token", 401
	c.Code, c.Cause, c.Message = "invalid_client", "client_secret_wrong", "The client_secret is not one of this client_id."
}

func (h *harness) flush() {
	h.Helper()
	if err := h.Flush(h.Context()); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) list(f requestlog.Filter) []requestlog.Entry {
	h.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	list, err := h.List(h.Context(), 1, f)
	if err != nil {
		h.Fatal(err)
	}
	return list.Entries
}

func (h *harness) count(table string) int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.DB, sqldb.Value[int64], `SELECT count(*) FROM `+table)
	if err != nil {
		h.Fatal(err)
	}
	return n
}

func TestRefusedCallsAreListed(t *testing.T) {
	h := newHarness(t)
	h.Licenses = &license.Store{DB: h.DB}
	err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status, tier, owner_id, redeemed, released, held, erased, epoch, event_ms, created_at, updated_at)
			VALUES (7, 1, 1, '0190a1b2-0000-7000-8000-000000000007', 'r', 1, 1, 0, FALSE, FALSE, 0, FALSE, 0, 1, 1, 1)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Refused(call())
	h.now = h.now.Add(time.Minute)
	h.Refused(call(func(c *requestlog.Call) {
		c.Method, c.Path, c.Route, c.RequestID, c.LicenseID = "POST", "/openid/token", "/openid/token", "req_2", 7
		c.Code, c.Cause, c.Message = "invalid_grant", "code_expired", "The code has expired."
	}))
	h.Refused(call(func(c *requestlog.Call) { c.PartnerID = 2 }))
	h.flush()
	want := []requestlog.Entry{
		{
			Seq: 2, At: start.Add(time.Minute), FirstAt: start.Add(time.Minute), Count: 1, Proven: true, Method: "POST", Path: "/openid/token", Status: 400,
			Code: "invalid_grant", Cause: "code_expired", Message: "The code has expired.", RequestID: "req_2", License: "0190a1b2-0000-7000-8000-000000000007",
		},
		{
			Seq: 1, At: start, FirstAt: start, Count: 1, Proven: true, Method: "GET", Path: "/v2/licenses", Status: 400,
			Code: "invalid_parameter", Message: "page must be a whole number from 1; pages start at 1.", RequestID: "req_1",
		},
	}
	if diff := cmp.Diff(want, h.list(requestlog.Filter{})); diff != "" {
		t.Errorf("the list (-want +got)\n%s", diff)
	}
}

// Anyone who knows a client id can make such calls, from anywhere and in any number.
func TestUnprovenCallsAreGrouped(t *testing.T) {
	h := newHarness(t)
	for i := range 1000 {
		h.Refused(call(unproven, func(c *requestlog.Call) { c.RequestID = fmt.Sprint("req_", i) }))
		if i == 499 {
			h.flush() // another batch, or another node
		}
		h.now = h.now.Add(time.Second)
	}
	h.flush()
	want := []requestlog.Entry{{
		Seq: 1, At: start.Add(999 * time.Second), FirstAt: start, Count: 1000, Grouped: true, Method: "POST", Path: "/openid/token", Status: 401,
		Code: "invalid_client", Cause: "client_secret_wrong", Message: "The client_secret is not one of this client_id.", RequestID: "req_999",
	}}
	if diff := cmp.Diff(want, h.list(requestlog.Filter{})); diff != "" {
		t.Errorf("the list (-want +got)\n%s", diff)
	}
}

// Calls beyond a rate limit would displace all others.
func TestLimitedCallsAreGrouped(t *testing.T) {
	h := newHarness(t)
	h.Refused(call())
	for i := range requestlog.MaxEntries {
		h.Refused(call(func(c *requestlog.Call) {
			c.Status, c.Code, c.Limited, c.Path, c.Route = 429, "rate_limited", true, fmt.Sprint("/v2/licenses/", i), "/v2/licenses/{license_key}"
		}))
	}
	h.flush()
	list := h.list(requestlog.Filter{})
	if len(list) != 2 || list[1].Count*list[0].Count != requestlog.MaxEntries {
		t.Errorf("the list is %+v; it has the call and one group of %d", list, requestlog.MaxEntries)
	}
}

func TestEntriesAreBounded(t *testing.T) {
	h := newHarness(t)
	for i := range requestlog.MaxEntries + 500 {
		h.Refused(call(func(c *requestlog.Call) { c.RequestID = fmt.Sprint("req_", i) }))
		h.now = h.now.Add(time.Millisecond)
		if i%200 == 199 {
			h.flush()
		}
	}
	// Codes and causes come from the program, so there are few; the limit does not rely on it.
	for i := range 2 * requestlog.MaxGroups {
		h.Refused(call(unproven, func(c *requestlog.Call) { c.Code = fmt.Sprint("code_", i) }))
		h.now = h.now.Add(time.Millisecond)
		if i%50 == 49 {
			h.flush()
		}
	}
	h.flush()
	calls, groups := h.count("refused_calls"), h.count("refused_groups")
	if calls != requestlog.MaxEntries-requestlog.MaxGroups || groups != requestlog.MaxEntries/10 {
		t.Errorf("there are %d calls and %d groups; together %d, a tenth of them groups", calls, groups, requestlog.MaxEntries)
	}
	newest := h.list(requestlog.Filter{RequestID: fmt.Sprint("req_", requestlog.MaxEntries+499)})
	oldest := h.list(requestlog.Filter{RequestID: "req_0"})
	group := h.list(requestlog.Filter{Code: "code_0"})
	if len(newest) != 1 || len(oldest) != 0 || len(group) != 0 {
		t.Errorf("newest %d, oldest call %d, oldest group %d entries; the oldest go", len(newest), len(oldest), len(group))
	}
}

// A flood fits into bounded memory: excess calls are counted, for the partner and for the operator,
// and another partner's calls still fit.
func TestFloodIsDropped(t *testing.T) {
	h := newHarness(t)
	for range 10_000 {
		h.Refused(call())
	}
	h.Refused(call(func(c *requestlog.Call) { c.PartnerID = 2 }))
	h.flush()
	hours, err := h.Hours(t.Context(), 1, start)
	if err != nil || len(hours) != 1 {
		t.Fatalf("hours %+v, %v", hours, err)
	}
	stored := h.count("refused_calls WHERE partner_id = 1")
	if hours[0].Refused != 10_000 || stored == 0 || hours[0].Dropped != 10_000-stored || h.count("refused_calls WHERE partner_id = 2") != 1 {
		t.Errorf("counted %+v, stored %d, of the other partner %d", hours[0], stored, h.count("refused_calls WHERE partner_id = 2"))
	}
	for from, want := range map[time.Time]requestlog.Hour{start: {Refused: 10_000, Dropped: 10_000 - stored}, start.Add(time.Hour): {}} {
		if sum, err := h.Sum(t.Context(), 1, from); err != nil || sum != want {
			t.Errorf("the sum from %s is %+v, want %+v, %v", from, sum, want, err)
		}
	}
	if got := h.dropped(); got != float64(10_000-stored) {
		t.Errorf("the metric counts %v dropped calls of %d", got, 10_000-stored)
	}
}

// dropped reads the metric of dropped calls.
func (h *harness) dropped() float64 {
	h.Helper()
	families, err := h.registry.Gather()
	if err != nil {
		h.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "claviger_refused_requests_dropped_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return -1
}

// While the database is unavailable, the queue stays and does not grow.
func TestFailedWriteIsTriedAgain(t *testing.T) {
	h := newHarness(t)
	h.Refused(call())
	h.Answered(1)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if err := h.Flush(gone); err == nil {
			t.Fatal("a write without a database succeeded")
		}
	}
	h.Refused(call())
	h.flush()
	h.flush()
	hours, err := h.Hours(t.Context(), 1, start)
	if want := []requestlog.Hour{{At: start, Answered: 1, Refused: 2}}; err != nil || cmp.Diff(want, hours) != "" || len(h.list(requestlog.Filter{})) != 2 {
		t.Errorf("hours %+v, %d entries, %v", hours, len(h.list(requestlog.Filter{})), err)
	}
}

func TestNothingSecretIsStored(t *testing.T) {
	h := newHarness(t)
	key, code := "lk_"+strings.Repeat("0a", 32), strings.Repeat("0f", 38)
	h.Refused(call(func(c *requestlog.Call) {
		c.Path, c.RequestID, c.License = "/v2/licenses/"+key, code[:64], key
		c.Message = "The query parameter " + key + " is unknown, and whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw is not https://a.example/b?code=" + code + " \x00\u202e."
	}))
	h.Refused(call(func(c *requestlog.Call) { c.Path = "/v2/" + strings.Repeat("x", 100_000) }))
	h.flush()
	list := h.list(requestlog.Filter{})
	if len(list) != 2 {
		t.Fatalf("%d entries", len(list))
	}
	long, e := list[0], list[1]
	if len(long.Path) > 300 {
		t.Errorf("a path of %d bytes", len(long.Path))
	}
	if e.Path != "/v2/licenses/lk_…" || e.RequestID != "…" || e.License != "" ||
		e.Message != "The query parameter lk_… is unknown, and whsec_… is not https://a.example/b?… ??." {
		t.Errorf("stored %+v", e)
	}
}
