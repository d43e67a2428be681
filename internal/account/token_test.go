package account_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
)

func TestTokens(t *testing.T) {
	d := open(t)
	until := noon.Add(time.Hour)
	sell, sellValue, err := d.AddToken(t.Context(), operator, " checkout ", []account.Scope{account.Sell, account.Read, account.Sell}, until, "")
	want := account.Token{ID: sell.ID, Name: "checkout", Scopes: []account.Scope{account.Read, account.Sell}, CreatedAt: noon, ExpiresAt: until}
	if diff := cmp.Diff(want, sell); diff != "" || err != nil || !strings.HasPrefix(sellValue, "op_") {
		t.Fatalf("AddToken: %q, %v; (-want +got):\n%s", sellValue, err, diff)
	}
	admin, adminValue, err := d.AddToken(t.Context(), audit.System("token add"), "admin", []account.Scope{account.Admin}, time.Time{}, "op_given")
	if err != nil || adminValue != "op_given" {
		t.Fatalf("AddToken: %q, %v", adminValue, err)
	}
	for value, want := range map[string]account.Token{sellValue: sell, "op_given": admin} {
		got, err := d.ByToken(t.Context(), value)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ByToken: %v; (-want +got):\n%s", err, diff)
		}
	}
	list, err := d.Tokens(t.Context())
	if diff := cmp.Diff([]account.Token{admin, sell}, list); diff != "" || err != nil {
		t.Errorf("Tokens: %v; (-want +got):\n%s", err, diff)
	}

	d.now = until
	revoked, err := d.RevokeToken(t.Context(), operator, admin.ID)
	if err != nil || !revoked.RevokedAt.Equal(d.now) {
		t.Errorf("RevokeToken = %+v, %v", revoked, err)
	}
	entries, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string],
		`SELECT action || before || after FROM audit_entries ORDER BY id`)
	if diff := cmp.Diff([]string{
		`token.create{"expires_at":"2026-03-04T13:00:00Z","name":"checkout","scopes":["read","sell"]}`,
		`token.create{"name":"admin","scopes":["admin"]}`, `token.revoke{"name":"admin","scopes":["admin"]}`,
	}, entries); diff != "" || err != nil {
		t.Errorf("audit: %v (-want +got):\n%s", err, diff)
	}
	d.now = until.Add(time.Hour)
	if again, err := d.RevokeToken(t.Context(), operator, admin.ID); err != nil || !again.RevokedAt.Equal(revoked.RevokedAt) {
		t.Errorf("revoked again: %+v, %v", again, err)
	}
	if _, err := d.RevokeToken(t.Context(), operator, 99); !fault.Is(err, "unknown_token") {
		t.Errorf("revoke of none: %v", err)
	}
	for name, value := range map[string]string{"expired": sellValue, "revoked": "op_given", "wrong": "op_x", "empty": "", "broken": "\x00\xff"} {
		_, err := d.ByToken(t.Context(), value)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unknown || f.Code != "invalid_token" {
			t.Errorf("%s: %v, want invalid_token", name, err)
		}
	}
	if diff := cmp.Diff([]string{"token.create token:1", "token.create token:2", "token.revoke token:2"}, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestAddTokenRefuses(t *testing.T) {
	d := open(t)
	for name, c := range map[string]struct {
		name    string
		scopes  []account.Scope
		expires time.Time
		field   string
	}{
		"no name":       {"", []account.Scope{account.Read}, time.Time{}, "name"},
		"turned round":  {"a\u202eb", []account.Scope{account.Read}, time.Time{}, "name"},
		"no scopes":     {"a", nil, time.Time{}, "scopes"},
		"unknown scope": {"a", []account.Scope{account.Read, "root"}, time.Time{}, "scopes"},
		"scope: spaces": {"a", []account.Scope{"read admin"}, time.Time{}, "scopes"},
		"in the past":   {"a", []account.Scope{account.Read}, noon, "expires_at"},
	} {
		_, value, sent, err := d.AddTokenOnce(t.Context(), operator, c.name, c.scopes, c.expires, "", nil)
		if f := fault.Of(err); f == nil || f.Code != "invalid_field" || f.Field != c.field {
			t.Errorf("%s: %v, want invalid_field on %s", name, err, c.field)
		}
		if value != "" || sent {
			t.Errorf("%s: it has the secret %q, sent before: %t", name, value, sent)
		}
	}
	if list, err := d.Tokens(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("refused tokens were made: %+v, %v", list, err)
	}
}

func TestMay(t *testing.T) {
	for _, c := range []struct {
		has  []account.Scope
		want string // of read, sell, support, admin
	}{
		{nil, "----"},
		{[]account.Scope{account.Read}, "r---"},
		{[]account.Scope{account.Sell}, "rs--"},
		{[]account.Scope{account.Support}, "r-u-"},
		{[]account.Scope{account.Sell, account.Support}, "rsu-"},
		{[]account.Scope{account.Admin}, "rsua"},
	} {
		got := ""
		for i, s := range []account.Scope{account.Read, account.Sell, account.Support, account.Admin} {
			if (account.Token{Scopes: c.has}).May(s) {
				got += "rsua"[i : i+1]
			} else {
				got += "-"
			}
		}
		if got != c.want {
			t.Errorf("%v may %s, want %s", c.has, got, c.want)
		}
	}
}

// TestTokenUse checks that uses of a token are written in the background, at most once a minute.
func TestTokenUse(t *testing.T) {
	d := open(t)
	d.TokenUses = account.NewTokenUses(d.DB, nil)
	_, value, err := d.AddToken(t.Context(), operator, "checkout", []account.Scope{account.Read}, time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	use := func(want time.Time, writes int64) {
		t.Helper()
		before, _ := d.DB.Counts()
		if _, err := d.ByToken(t.Context(), value); err != nil {
			t.Fatal(err)
		}
		if after, _ := d.DB.Counts(); after != before {
			t.Error("the request wrote")
		}
		if err := d.TokenUses.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after, _ := d.DB.Counts(); after-before != writes {
			t.Errorf("%d writes, want %d", after-before, writes)
		}
		list, err := d.Tokens(t.Context())
		if err != nil || !list[0].LastUsed.Equal(want) {
			t.Errorf("%+v, %v, want %s", list, err, want)
		}
	}
	if list, err := d.Tokens(t.Context()); err != nil || !list[0].LastUsed.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	use(noon, 1)
	d.now = noon.Add(59 * time.Second)
	use(noon, 0)
	d.now = noon.Add(time.Minute)
	use(d.now, 1)
	d.TokenUses = account.NewTokenUses(d.DB, nil) // of another node, without recorded uses
	d.now = noon.Add(119 * time.Second)
	use(noon.Add(time.Minute), 1)
}

// TestAddTokenOnce checks that a form sent twice, sequentially or concurrently, makes one token and
// shows its secret once.
func TestAddTokenOnce(t *testing.T) {
	d := open(t)
	add := func(key, name string) (value string, sent bool, err error) {
		form := idempotency.Request{Scope: "console:user:1", Key: key, Body: name}
		_, value, sent, err = d.AddTokenOnce(t.Context(), operator, name, []account.Scope{account.Read}, time.Time{}, "", &form)
		return value, sent, err
	}
	if value, sent, err := add("form-1", "checkout"); value == "" || sent || err != nil {
		t.Fatalf("%q, %t, %v", value, sent, err)
	}
	if value, sent, err := add("form-1", "checkout"); value != "" || !sent || err != nil {
		t.Errorf("sent again: %q, %t, %v", value, sent, err)
	}
	if _, _, err := add("form-1", "another"); !fault.Is(err, idempotency.CodeIdempotencyKeyReused) {
		t.Errorf("with another name: %v", err)
	}
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			value, sent, err := add("form-2", "shop")
			if value != "" {
				made.Add(1)
			}
			if (value == "") != (sent || fault.Is(err, idempotency.CodeIdempotencyKeyInUse)) {
				t.Errorf("at once: %q, %t, %v", value, sent, err)
			}
		})
	}
	wg.Wait()
	list, err := d.Tokens(t.Context())
	entries := strings.Count(strings.Join(d.actions(t), "\n"), "token.create")
	if err != nil || len(list) != 2 || made.Load() != 1 || entries != 2 {
		t.Errorf("%d tokens, %d secrets at once, %d audit entries, %v", len(list), made.Load(), entries, err)
	}
}
