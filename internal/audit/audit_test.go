package audit_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"claviger/internal/audit"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	noon  = time.Date(2026, 3, 4, 12, 0, 0, 123456000, time.UTC)
	token = audit.Actor{Kind: audit.ByToken, ID: 7, Name: "checkout"}
	ann   = audit.Actor{Kind: audit.ByUser, ID: 3, Session: "0123456789abcdef", Client: "203.0.113.9"}
)

// fill writes four entries and returns the log.
func fill(t *testing.T) *audit.Log {
	t.Helper()
	db := sqldbtest.Open(t)
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		audit.Record(tx, noon, token, "partner.create", "partner:1", nil, audit.Facts{"name": "A & <B>", "strict": false})
		audit.Record(tx, noon.Add(time.Second), token, "partner.update", "partner:1", audit.Facts{"n": 1}, audit.Facts{"n": 2})
		audit.Record(tx, noon.Add(2*time.Second), ann, "license.release", "license:k", nil, nil)
		audit.Record(tx, noon.Add(3*time.Second), audit.System("token add"), "token.create", "token:1", nil, audit.Facts{"bad": math.Inf(1)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &audit.Log{DB: db}
}

func TestRecord(t *testing.T) {
	got, more, err := fill(t).List(t.Context(), audit.Filter{}, paging.First())
	if err != nil || more {
		t.Fatalf("List: more %v, %v", more, err)
	}
	want := []audit.Entry{
		{At: noon.Add(3 * time.Second), Actor: audit.System("token add"), Action: "token.create", Subject: "token:1", After: `{"not_encoded":"audit.Facts"}`},
		{At: noon.Add(2 * time.Second), Actor: ann, Action: "license.release", Subject: "license:k"},
		{At: noon.Add(time.Second), Actor: token, Action: "partner.update", Subject: "partner:1", Before: `{"n":1}`, After: `{"n":2}`, PartnerID: 1},
		{At: noon, Actor: token, Action: "partner.create", Subject: "partner:1", After: `{"name":"A & <B>","strict":false}`, PartnerID: 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(audit.Entry{}, "ID")); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestFactsAreJSON checks that both encodings of facts are the same as by encoding/json.
func TestFactsAreJSON(t *testing.T) {
	l := fill(t)
	for name, f := range map[string]audit.Facts{
		"none":     {},
		"usual":    {"z": 1, "a": int64(-7), "yes": true, "no": false, "text": "a b", "list": []string{"k1", "k2"}, "empty": []string{}},
		"escapes":  {"quote": `a"b\c`, "line": "a\nb", "umlaut": "ä", "list": []string{`"`}},
		"names":    {`a"b`: 1},
		"others":   {"float": 1.5, "null": nil, "nothing": []string(nil), "object": map[string]int{"a": 1}},
		"no ascii": {"del": "\x7f", "bad": "\xff"},
	} {
		var got []audit.Entry
		err := l.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			audit.Record(tx, noon, token, "test", "facts:"+name, f, f)
			return nil
		})
		if err == nil {
			got, _, err = l.List(t.Context(), audit.Filter{Subject: "facts:" + name}, paging.First())
		}
		want, jsonErr := json.Marshal(f)
		if err != nil || jsonErr != nil || len(got) != 1 || got[0].Before != string(want) || got[0].After != string(want) {
			t.Errorf("%s: got %v, want %s (%v, %v)", name, got, want, err, jsonErr)
		}
	}
}

func TestRecordGoesWithItsAct(t *testing.T) {
	l := fill(t)
	refused := errors.New("refused")
	err := l.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		audit.Record(tx, noon, token, "partner.update", "partner:9", nil, nil)
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatalf("Write = %v", err)
	}
	got, _, err := l.List(t.Context(), audit.Filter{Subject: "partner:9"}, paging.First())
	if err != nil || len(got) != 0 {
		t.Errorf("an act that failed has the entries %v (%v)", got, err)
	}
}

func TestList(t *testing.T) {
	l := fill(t)
	for _, c := range []struct {
		name   string
		filter audit.Filter
		page   paging.Page
		want   []string
		more   bool
	}{
		{"all", audit.Filter{}, paging.First(), []string{"token.create", "license.release", "partner.update", "partner.create"}, false},
		{"oldest first", audit.Filter{}, paging.Page{Number: 1, Limit: 2, Order: paging.OldestFirst}, []string{"partner.create", "partner.update"}, true},
		{"second page", audit.Filter{}, paging.Page{Number: 2, Limit: 3}, []string{"partner.create"}, false},
		{"exactly full", audit.Filter{}, paging.Page{Number: 1, Limit: 4}, []string{"token.create", "license.release", "partner.update", "partner.create"}, false},
		{"far past the end", audit.Filter{}, paging.Page{Number: math.MaxInt64, Limit: 100}, nil, false},
		{"by subject", audit.Filter{Subject: "partner:1"}, paging.First(), []string{"partner.update", "partner.create"}, false},
		{"by action", audit.Filter{Action: "license.release"}, paging.First(), []string{"license.release"}, false},
		{"by kind of actor", audit.Filter{ActorKind: audit.BySystem}, paging.First(), []string{"token.create"}, false},
		{"by actor", audit.Filter{ActorKind: audit.ByToken, ActorID: 7, Subject: "partner:1", Action: "partner.create"}, paging.First(), []string{"partner.create"}, false},
		{"by user", audit.Filter{ActorKind: audit.ByUser, ActorID: 3}, paging.First(), []string{"license.release"}, false},
		{"by another user", audit.Filter{ActorKind: audit.ByUser, ActorID: 7}, paging.First(), nil, false},
		{"from a time", audit.Filter{From: noon.Add(2 * time.Second)}, paging.First(), []string{"token.create", "license.release"}, false},
		{"to a time", audit.Filter{To: noon.Add(time.Second)}, paging.First(), []string{"partner.create"}, false},
		{"between", audit.Filter{From: noon.Add(time.Second), To: noon.Add(3 * time.Second), ActorKind: audit.ByToken}, paging.First(), []string{"partner.update"}, false},
		{"SQL in a filter", audit.Filter{Subject: "' OR 1=1 --"}, paging.First(), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, more, err := l.List(t.Context(), c.filter, c.page)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Action)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || more != c.more {
				t.Errorf("more %v, want %v; actions (-want +got):\n%s", more, c.more, diff)
			}
		})
	}
}
