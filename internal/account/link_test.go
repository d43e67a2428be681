package account_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// token returns the token in a sign-in link.
func token(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Host != "market.example" || u.Path != "/sign-in/link" || len(u.Query().Get("token")) < 40 {
		t.Fatalf("%q is not a sign-in link (%v)", link, err)
	}
	return u.Query().Get("token")
}

// dead peeks at and uses links that do not work, and checks the codes of the faults.
func (d *harness) dead(t *testing.T, codes map[string]string) {
	t.Helper()
	for value, code := range codes {
		_, err := d.UseLink(t.Context(), value, "", "")
		if f := fault.Of(err); f == nil || f.Kind != fault.Unknown || f.Code != code {
			t.Errorf("UseLink(%q) = %v, want %s", value, err, code)
		}
		_, err = d.PeekLink(t.Context(), value)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unknown || f.Code != code {
			t.Errorf("PeekLink(%q) = %v, want %s", value, err, code)
		}
	}
}

func TestLink(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	make1 := func() string {
		t.Helper()
		link, expires, err := d.Link(t.Context(), operator, u.ID, "")
		if err != nil || !expires.Equal(d.now.Add(15*time.Minute)) {
			t.Fatalf("Link: expires %v, %v", expires, err)
		}
		return token(t, link)
	}
	first, second := make1(), make1()
	d.now = noon.Add(time.Minute)
	for range 2 { // peeking does not use it
		want := account.Opened{Purpose: account.ForAssisted, Email: "ann@example.com"}
		if got, err := d.PeekLink(t.Context(), first); got != want || err != nil {
			t.Errorf("PeekLink = %+v, %v; want %+v", got, err, want)
		}
	}
	want := account.Entry{User: u, Purpose: account.ForAssisted} // it does not prove the address
	if got, err := d.UseLink(t.Context(), first, "", ""); got != want || err != nil {
		t.Errorf("UseLink = %+v, %v; want %+v", got, err, want)
	}
	if got, err := d.Get(t.Context(), u.ID); got != u || err != nil {
		t.Errorf("Get = %+v, %v; want %+v", got, err, u)
	}
	// The second was made for the same purpose, and ended with the first.
	d.dead(t, map[string]string{first: "link_used", second: "link_expired", "x": "invalid_link", "": "invalid_link", "\x00\xff": "invalid_link"})

	third, fourth := make1(), make1()
	d.now = d.now.Add(15*time.Minute - time.Microsecond)
	if got, err := d.UseLink(t.Context(), third, "", ""); got.User != u || err != nil {
		t.Errorf("just before it expires: %+v, %v; want %+v", got, err, u)
	}
	d.now = d.now.Add(time.Microsecond)
	d.dead(t, map[string]string{fourth: "link_expired"})
	if _, _, err := d.Link(t.Context(), operator, 99, ""); !fault.Is(err, "unknown_user") {
		t.Errorf("a link for nobody: %v", err)
	}
	stored, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT hash FROM login_links`)
	if err != nil || len(stored) == 0 {
		t.Fatal(err)
	}
	for _, s := range []string{first, second, third, fourth} {
		if strings.Contains(strings.Join(stored, " "), s) {
			t.Error("a link's token is stored as it is")
		}
	}
}

// TestUsedLinkLeadsOn checks that a used link still names the page that it leads to, and nothing
// about its user.
func TestUsedLinkLeadsOn(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	link, _, err := d.Link(t.Context(), operator, u.ID, "/licenses")
	if err != nil {
		t.Fatal(err)
	}
	d.use(t, token(t, link), "")
	got, err := d.PeekLink(t.Context(), token(t, link))
	if want := (account.Opened{Next: "/licenses"}); got != want || !fault.Is(err, account.CodeLinkUsed) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

// TestLinkLife checks each link just before and at its expiry.
func TestLinkLife(t *testing.T) {
	for purpose, life := range map[account.Purpose]time.Duration{
		account.ForSignIn: 15 * time.Minute, account.ForReset: 15 * time.Minute, account.ForSignUp: 24 * time.Hour,
	} {
		t.Run(string(purpose), func(t *testing.T) {
			d := open(t)
			d.create(t, account.Person{Email: "ann@example.com"})
			value := d.ask(t, purpose, "ann@example.com")
			d.now = noon.Add(life - time.Microsecond)
			if got, err := d.PeekLink(t.Context(), value); got.Purpose != purpose || err != nil {
				t.Errorf("just before it expires: %+v, %v", got, err)
			}
			d.now = noon.Add(life)
			d.dead(t, map[string]string{value: "link_expired"})
		})
	}
}

// TestLinkEndsOthers checks that using a link ends the user's other unused links for the same
// purpose, and no other user's.
func TestLinkEndsOthers(t *testing.T) {
	d := open(t)
	d.create(t, account.Person{Email: "ann@example.com"})
	d.create(t, account.Person{Email: "bob@example.com"})
	first, reset, second := d.ask(t, account.ForSignIn, "ann@example.com"), d.ask(t, account.ForReset, "ann@example.com"), d.ask(t, account.ForSignIn, "ann@example.com")
	bobs := d.ask(t, account.ForSignIn, "bob@example.com")
	d.use(t, second, "")
	d.dead(t, map[string]string{first: "link_expired", second: "link_used"})
	d.use(t, reset, "")
	d.use(t, bobs, "")
}

// TestAssistedLinkProvesNothing checks that a link made by others proves no address, neither an
// existing one nor one from a later purchase. An emailed link proves it.
func TestAssistedLinkProvesNothing(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{ExternalID: "u-1"})
	for range 2 {
		link, _, err := d.Link(t.Context(), operator, u.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := d.use(t, token(t, link), ""); !got.User.ProvenAt.IsZero() || got.First {
			t.Errorf("%+v; want an address that is not proven", got)
		}
		u = d.create(t, account.Person{ExternalID: "u-1", Email: "ann@example.com"})
	}
	if got := d.use(t, d.ask(t, account.ForSignIn, "ann@example.com"), ""); got.User.ProvenAt.IsZero() || !got.First {
		t.Errorf("%+v; want a proven address", got)
	}
}

func TestForgetLinks(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	const old = 2005 // more than two batches
	d.write(t, func(tx *sqldb.Tx) error {
		for i := range old {
			tx.Queue(`INSERT INTO login_links (user_id, hash, created_at, expires_at, used_at) VALUES ($1, $2, 1, $3, 0)`,
				u.ID, strconv.Itoa(i), noon.Add(-time.Duration(i)*time.Second))
		}
		return nil
	})
	value := d.ask(t, account.ForSignIn, "ann@example.com")
	d.now = noon.Add(24 * time.Hour)
	// The link that ended at noon has exactly the maximum age.
	for _, want := range []int64{old - 1, 0} {
		if n, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); n != want || err != nil {
			t.Errorf("Forget = %d, %v; want %d", n, err, want)
		}
	}
	d.dead(t, map[string]string{value: "link_expired"})
	d.now = noon.Add(24*time.Hour + 16*time.Minute)
	if n, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); n != 2 || err != nil {
		t.Errorf("Forget = %d, %v; want 2", n, err)
	}
	d.dead(t, map[string]string{value: "invalid_link"})
}

func TestLocalPath(t *testing.T) {
	for next, want := range map[string]string{
		"/":                               "/",
		"/licenses?page=2":                "/licenses?page=2",
		"/openid/authorize?a=//b":         "/openid/authorize?a=//b",
		"/ä":                              "/ä",
		"":                                "",
		"licenses":                        "",
		"//evil.example":                  "",
		`/\evil.example`:                  "",
		`/./\evil.example`:                "",
		"/%":                              "",
		"https://evil.example/":           "",
		"javascript:alert(1)":             "",
		" /licenses":                      "",
		"/\t/evil.example":                "",
		"/\n/evil.example":                "",
		"/a\r\nSet-Cookie: b":             "",
		"/\x00":                           "",
		"/\x7f":                           "",
		"/\u0085":                         "",
		"/\xff":                           "",
		"/" + strings.Repeat("a", 7999):   "/" + strings.Repeat("a", 7999),
		"/" + strings.Repeat("a", 24<<10): "",
	} {
		if got := account.LocalPath(next); got != want {
			t.Errorf("LocalPath(%.50q) = %.50q, want %.50q", next, got, want)
		}
	}
}

// TestNextIsLocal checks that no email leads to another site.
func TestNextIsLocal(t *testing.T) {
	d := open(t)
	d.signUp(t, "bob@example.com", "correct horse", "//evil.example")
	for _, next := range []string{`/\evil.example`, "https://evil.example", "/a\nb", "/\x00"} {
		if got, err := d.PeekLink(t.Context(), d.mailed(t)); got.Next != "" || err != nil {
			t.Errorf("leads to %q, %v", got.Next, err)
		}
		if err := d.SendLink(t.Context(), "bob@example.com", next); err != nil {
			t.Error(err)
		}
	}
	if got := d.use(t, d.mailed(t), ""); got.Next != "" {
		t.Errorf("leads to %q", got.Next)
	}
}

// TestJunkTokensWriteNothing checks that invalid tokens are refused by a read, so that they do not
// wait for writers.
func TestJunkTokensWriteNothing(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	link, _, err := d.Link(t.Context(), operator, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	used := token(t, link)
	if _, err := d.UseLink(t.Context(), used, "", ""); err != nil {
		t.Fatal(err)
	}
	writing, release := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() {
		written <- d.DB.Write(t.Context(), func(*sqldb.Tx) error {
			close(writing)
			<-release
			return nil
		})
	}()
	<-writing
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.dead(t, map[string]string{"": "invalid_link", "junk": "invalid_link", strings.Repeat("0", 64): "invalid_link", used: "link_used"})
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("a junk token waits for somebody else's write") // on SQLite, with its single writer
	}
	close(release)
	<-done
	if err := <-written; err != nil {
		t.Fatal(err)
	}
}
