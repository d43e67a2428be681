package account_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// token is the token in a sign-in link.
func token(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Host != "market.example" || u.Path != "/sign-in/link" || len(u.Query().Get("token")) < 40 {
		t.Fatalf("%q is not a sign-in link (%v)", link, err)
	}
	return u.Query().Get("token")
}

func TestLink(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	make1 := func() string {
		t.Helper()
		link, expires, err := d.Link(t.Context(), operator, u.ID)
		if err != nil || !expires.Equal(d.now.Add(15*time.Minute)) {
			t.Fatalf("Link: expires %v, %v", expires, err)
		}
		return token(t, link)
	}
	first, second := make1(), make1()
	if got, err := d.UseLink(t.Context(), first); got != u || err != nil {
		t.Errorf("UseLink = %+v, %v; want %+v", got, err, u)
	}
	d.now = noon.Add(15 * time.Minute)
	for value, code := range map[string]string{first: "link_used", second: "link_expired", "x": "invalid_link", "": "invalid_link"} {
		_, err := d.UseLink(t.Context(), value)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unknown || f.Code != code {
			t.Errorf("UseLink(%q) = %v, want %s", value, err, code)
		}
	}
	third := make1()
	d.now = d.now.Add(15*time.Minute - time.Microsecond)
	if _, err := d.UseLink(t.Context(), third); err != nil {
		t.Errorf("just before it expires: %v", err)
	}
	d.now = noon.Add(48 * time.Hour)
	make1()
	if _, err := d.UseLink(t.Context(), second); !fault.Is(err, "invalid_link") {
		t.Errorf("a link that has long been dead: %v", err)
	}
	if _, _, err := d.Link(t.Context(), operator, 99); !fault.Is(err, "unknown_user") {
		t.Errorf("a link for nobody: %v", err)
	}
	stored, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT hash FROM login_links`)
	if err != nil || len(stored) == 0 {
		t.Fatal(err)
	}
	for _, s := range []string{first, second, third} {
		if strings.Contains(strings.Join(stored, " "), s) {
			t.Error("a link's token is stored as it is")
		}
	}
}

func TestPassword(t *testing.T) {
	d := open(t)
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	d.create(t, account.Person{Email: "bob@example.com"})
	hash, err := account.NewPassword(t.Context(), "correct horse")
	if err != nil || !strings.HasPrefix(string(hash), "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("NewPassword = %q, %v", hash, err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		return account.SetPassword(t.Context(), tx, operator, ann.ID, hash, d.now)
	})
	if got, err := d.SignIn(t.Context(), "ANN@example.com", "correct horse"); got.ID != ann.ID || err != nil {
		t.Errorf("SignIn = %+v, %v", got, err)
	}
	for name, c := range map[string][2]string{
		"wrong password": {"ann@example.com", "Correct horse"},
		"empty password": {"ann@example.com", ""},
		"huge password":  {"ann@example.com", strings.Repeat("x", 1<<20)},
		"no password":    {"bob@example.com", "correct horse"},
		"none, none":     {"bob@example.com", ""},
		"nobody":         {"eve@example.com", "correct horse"},
		"empty address":  {"", ""},
	} {
		_, err := d.SignIn(t.Context(), c[0], c[1])
		if f := fault.Of(err); f == nil || f.Kind != fault.Unknown || f.Code != "invalid_credentials" {
			t.Errorf("%s: %v, want invalid_credentials", name, err)
		}
	}
	if diff := cmp.Diff([]string{"user.create user:1", "user.create user:2", "user.password user:1"}, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestNewPasswordRefuses(t *testing.T) {
	for _, typed := range []string{"", "short", strings.Repeat("é", 7), strings.Repeat("x", 1025), "not utf-8 \xff\xff"} {
		if _, err := account.NewPassword(t.Context(), typed); !fault.Is(err, "invalid_field") {
			t.Errorf("NewPassword of %d bytes: %v", len(typed), err)
		}
	}
}

// TestNewPasswordWaits fills the seats, and finds that a caller who leaves does
// not wait on.
func TestNewPasswordWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	for range 20 {
		go func() {
			_, err := account.NewPassword(ctx, "correct horse")
			left <- err
		}()
	}
	cancel()
	for range 20 {
		if err := <-left; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

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
		"no scopes":     {"a", nil, time.Time{}, "scopes"},
		"unknown scope": {"a", []account.Scope{account.Read, "root"}, time.Time{}, "scopes"},
		"scope: spaces": {"a", []account.Scope{"read admin"}, time.Time{}, "scopes"},
		"in the past":   {"a", []account.Scope{account.Read}, noon, "expires_at"},
	} {
		_, _, err := d.AddToken(t.Context(), operator, c.name, c.scopes, c.expires, "")
		if f := fault.Of(err); f == nil || f.Code != "invalid_field" || f.Field != c.field {
			t.Errorf("%s: %v, want invalid_field on %s", name, err, c.field)
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
