package oauth_test

import (
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// noon is when the clock of a world starts.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a server among the rooms that it works with, and a clock that stands
// until it is moved.
type world struct {
	testing.TB
	*oauth.Server
	clock    *clock
	accounts *account.Book
}

// clock is a time that several goroutines may read.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// pass moves the clock on.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func testBox(t testing.TB) *secret.Sealer {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db, box, c := sqldbtest.Open(t), testBox(t), &clock{now: noon}
	partners := &partner.Registry{DB: db, Sealer: box, Now: c.Now}
	return &world{
		TB: t, clock: c,
		accounts: &account.Book{DB: db, Now: c.Now},
		Server: &oauth.Server{
			DB: db, Sealer: box, Now: c.Now, Partners: partners,
			Profiles: &profile.Book{DB: db, Partners: partners, Now: c.Now},
			Licenses: &license.Registry{DB: db, Now: c.Now},
			Keys:     &oauth.Keys{DB: db, Sealer: box, Now: c.Now},
			Issuer:   "https://licenses.example",
			Life:     oauth.Lifetimes{Code: 10 * time.Minute, Access: time.Hour, Refresh: 30 * 24 * time.Hour},
		},
	}
}

// theOperator is who does what is not under test.
var theOperator = audit.System("test")

// enrol makes a partner that sells one tier and wants its users at a URL.
func (w *world) enrol(redirect string) partner.Partner {
	w.Helper()
	p, _, _, err := w.Profiles.Enrol(w.Context(), theOperator, partner.Draft{Name: "Acme"}, profile.URLs{Redirect: redirect}, false, partner.Credentials{})
	if err != nil {
		w.Fatal(err)
	}
	if _, _, err := w.Partners.PutPlan(w.Context(), theOperator, p.ID, partner.Plan{Tier: 1, Name: "One", Currency: "USD"}); err != nil {
		w.Fatal(err)
	}
	return p
}

// move saves another redirect URL.
func (w *world) move(p partner.Partner, redirect string) {
	w.Helper()
	if _, _, _, err := w.Profiles.Amend(w.Context(), theOperator, p.ID, partner.Change{}, profile.URLChange{Redirect: &redirect}, false); err != nil {
		w.Fatal(err)
	}
}

func (w *world) user(name string) account.User {
	w.Helper()
	u, _, err := w.accounts.Create(w.Context(), theOperator, account.Person{Email: name + "@example.com"})
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// buy buys a license that nobody has claimed.
func (w *world) buy(p partner.Partner) license.License {
	w.Helper()
	var sale license.Sale
	_, err := w.Licenses.Purchase(w.Context(), theOperator, license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1, ExternalID: secret.UUID()},
		func(s license.Sale) []byte {
			sale = s
			return []byte(`{}`)
		})
	if err != nil {
		w.Fatal(err)
	}
	return sale.Licenses[0]
}

// count asks the database for a number.
func (w *world) count(sql string, args ...any) int64 {
	w.Helper()
	n, err := sqldb.One(w.Context(), w.DB, sqldb.Value[int64], sql, args...)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// exec changes the database behind the rooms' backs.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	err := w.DB.Write(w.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(w.Context(), sql, args...)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}
