package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// bea is a member of partner 1, eve one of partner 2.
var (
	bea = audit.Actor{Kind: audit.ByUser, ID: 4, ActingFor: 1}
	eve = audit.Actor{Kind: audit.ByUser, ID: 5, ActingFor: 2}
)

func newLog(t *testing.T, fill func(tx *sqldb.Tx)) *audit.Log {
	t.Helper()
	l := &audit.Log{DB: sqldbtest.Open(t)}
	err := l.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		fill(tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func actions(entries []audit.Entry) (list []string) {
	for _, e := range entries {
		list = append(list, e.Action)
	}
	return list
}

// TestHistory checks that a partner's history has the acts on the partner and its plans and the
// acts of its members elsewhere. It has nothing of another partner, a buyer or a sale.
func TestHistory(t *testing.T) {
	l := newLog(t, func(tx *sqldb.Tx) {
		audit.Record(tx, noon, token, "partner.create", "partner:1", nil, nil)
		audit.Record(tx, noon, token, "partner.create", "partner:11", nil, nil)
		audit.Record(tx, noon, token, "plan.create", "partner:1/plan:2", nil, nil)
		audit.Record(tx, noon, token, "purchase.create", "purchase:1", nil, nil)
		audit.Record(tx, noon, ann, "license.release", "license:k", nil, nil)
		audit.Record(tx, noon, bea, "event.redeliver", "event:7", nil, nil)
		audit.Record(tx, noon, eve, "event.redeliver", "event:8", nil, nil)
		audit.Record(tx, noon.Add(time.Hour), bea, "partner.rotate", "partner:1", nil, nil)
		audit.Record(tx, noon, token, "odd", "partner:x", nil, nil)
	})
	all := []string{"partner.rotate", "event.redeliver", "plan.create", "partner.create"}
	for name, c := range map[string]struct {
		partner int64
		span    audit.Span
		want    []string
		more    bool
	}{
		"all":             {1, audit.Span{Limit: 10}, all, false},
		"exactly full":    {1, audit.Span{Limit: 4}, all, false},
		"first page":      {1, audit.Span{Limit: 3}, all[:3], true},
		"from a time":     {1, audit.Span{Limit: 9, From: noon.Add(time.Hour)}, all[:1], false},
		"to a time":       {1, audit.Span{Limit: 9, To: noon.Add(time.Hour)}, all[1:], false},
		"another partner": {2, audit.Span{Limit: 9}, []string{"event.redeliver"}, false},
		"no partner":      {0, audit.Span{Limit: 9}, nil, false},
	} {
		got, more, err := l.History(t.Context(), c.partner, c.span)
		if diff := cmp.Diff(c.want, actions(got)); diff != "" || more != c.more || err != nil {
			t.Errorf("%s: more %v, %v (-want +got):\n%s", name, more, err, diff)
		}
	}
	first, _, err := l.History(t.Context(), 1, audit.Span{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	rest, more, err := l.History(t.Context(), 1, audit.Span{Limit: 2, Before: first[1].ID})
	if diff := cmp.Diff(all[2:], actions(rest)); diff != "" || more || err != nil {
		t.Errorf("second page: more %v, %v (-want +got):\n%s", more, err, diff)
	}
}

// TestOrigin checks that only the partner's own people and programs are distinguished from the
// marketplace.
func TestOrigin(t *testing.T) {
	for name, c := range map[string]struct {
		by     audit.Actor
		want   audit.Origin
		member int64
	}{
		"its member":               {bea, audit.FromMember, 4},
		"another's member":         {eve, audit.FromMarketplace, 0},
		"an operator or a buyer":   {ann, audit.FromMarketplace, 0},
		"its program":              {audit.Actor{Kind: audit.ByPartner, ID: 1, Name: "Acme"}, audit.FromProgram, 0},
		"another's program":        {audit.Actor{Kind: audit.ByPartner, ID: 2, Name: "Other"}, audit.FromMarketplace, 0},
		"an operator token":        {token, audit.FromMarketplace, 0},
		"the service":              {audit.System("token add"), audit.FromMarketplace, 0},
		"a user with a wrong kind": {audit.Actor{Kind: audit.ByToken, ID: 4, ActingFor: 1}, audit.FromMarketplace, 0},
	} {
		e := audit.Entry{Actor: c.by, PartnerID: 1}
		if e.Origin() != c.want || e.Member() != c.member {
			t.Errorf("%s: %s, member %d", name, e.Origin(), e.Member())
		}
	}
}

// TestSentence checks that every entry about a partner is a sentence without codes, free text and
// secret parts of URLs.
func TestSentence(t *testing.T) {
	names := map[int64]string{4: "Bea"}
	for _, c := range []struct{ action, before, after, want string }{
		{"partner.update", `{"brand":"A","strict":false}`, `{"brand":"B","strict":false}`, "Changed the brand in header names from A to B."},
		{"partner.update", `{"brand":"A","strict":true}`, `{"brand":"B","strict":false}`, "Changed the brand in header names from A to B. Made delivery lenient: any 2xx counts unless it says success: false."},
		{"partner.update", `{"strict":false}`, `{"strict":true}`, "Made delivery strict: only 200 with success: true counts."},
		{"partner.update", `{"name":"A","webhook_concurrency":8}`, `{"name":"A"}`, "Changed how many webhooks are on their way at a time from 8 to none."},
		{"partner.update", `{"name":"A"}`, `{"name":"A"}`, "Saved the settings without a change."},
		{"profile.urls", `{"webhook_url":"","webhook_valid":false}`, `{"webhook_url":"https://a.example/h?token=x","webhook_valid":true}`, "Changed the webhook URL from none to https://a.example/h."},
		{"profile.urls", `{"webhook_url":"u","webhook_valid":false}`, `{"webhook_url":"u","webhook_valid":true}`, "Checked the webhook URL."},
		{"profile.connection", `{"error_member":true}`, `{"error_member":false}`, "Switched the empty error member of token answers off."},
		{"partner.rotate", ``, `{"what":"api_key","overlap_s":86400,"ending":"3f9a"}`, "Rotated the API key ending in 3f9a; the replaced one worked for another 24 hours."},
		{"partner.rotate", ``, `{"what":"client_secret","overlap_s":0}`, "Rotated the client secret; the replaced one ended immediately."},
		{"partner.rotate", ``, `{"what":"webhook_secret","overlap_s":90}`, "Rotated the webhook secret; the replaced one worked for another 90 seconds."},
		{"partner.rotate", ``, `{"what":"single_key","single_key":true,"overlap_s":3600}`, "Replaced the API key and the webhook secret by a single key; the replaced one worked for another 1 hour."},
		{"endpoint.try", ``, ``, "Had the webhook URL tried immediately."},
		{"partner.switch", ``, `{"what":"api_key"}`, "Ended the overlap: the replaced API key stopped working."},
		{"partner.key", ``, `{"ending":"3f9a"}`, "Made an API key ending in 3f9a."},
		{"partner.revoke", `{"what":"api_key","ending":"3f9a"}`, ``, "Revoked the API key ending in 3f9a."},
		{"partner.member", ``, `{"user_id":4,"role":"admin"}`, "Added Bea to the team as admin."},
		{"partner.member", `{"user_id":4,"role":"admin"}`, `{"user_id":4,"role":"viewer"}`, "Changed the role of Bea from admin to viewer."},
		{"partner.member_remove", `{"user_id":9,"role":"admin"}`, ``, "Removed a person whose account is deleted from the team."},
		{"partner.invite", ``, `{"role":"viewer"}`, "Invited a person as viewer."},
		{"partner.pause", ``, `{"paused":true,"reason":"they owe us"}`, "Paused this application: nothing is sold, and webhooks wait."},
		{"plan.update", `{"tier":2,"external_ref":"x"}`, `{"tier":2,"external_ref":"y"}`, "Changed the plan of tier 2."},
		{"what.ever", `{"note":"secret"}`, `not json`, "Changed something about this application."},
	} {
		e := audit.Entry{Action: c.action, Before: c.before, After: c.after}
		if got := e.Sentence(names); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.action, got, c.want)
		}
	}
	e := audit.Entry{Action: "event.redeliver", Subject: "event:7", Actor: bea, PartnerID: 1, Before: `{"user_id":9}`}
	if got := e.Sentence(nil); got != "Sent event 7 again." {
		t.Error(got)
	}
	if got := audit.People([]audit.Entry{e}); !cmp.Equal(got, []int64{4, 9}) {
		t.Errorf("people %v", got)
	}
}

// TestHistoryIsServedByItsIndex checks that a page of a small history does not read the entries of
// other partners and of sales.
func TestHistoryIsServedByItsIndex(t *testing.T) {
	l := newLog(t, func(tx *sqldb.Tx) {
		for i := range 2000 {
			audit.Record(tx, noon, token, "purchase.create", fmt.Sprintf("purchase:%d", i), nil, nil)
			audit.Record(tx, noon, token, "contact.create", fmt.Sprintf("partner:%d", 2+i%50), nil, nil)
		}
		audit.Record(tx, noon, bea, "partner.rotate", "partner:1", nil, nil)
	})
	explain := "EXPLAIN QUERY PLAN "
	if sqldbtest.Postgres() {
		explain = "EXPLAIN "
	}
	lines, err := sqldb.All(t.Context(), l.DB, func(r *sqldb.Row, line *string) error {
		if sqldbtest.Postgres() {
			return r.Scan(line)
		}
		var id, parent, unused int64
		return r.Scan(&id, &parent, &unused, line)
	}, explain+`SELECT id FROM audit_entries WHERE partner_id = $1 AND partner_id <> 0 AND id < $2 ORDER BY id DESC LIMIT 51`, int64(1), int64(1)<<40)
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if !strings.Contains(plan, "audit_entries_partner") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("the plan is:\n%s", plan)
	}
}
