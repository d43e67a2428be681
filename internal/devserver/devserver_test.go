package devserver_test

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/audit"
	"claviger/internal/devserver"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// config returns the configuration of a server for one test.
func config(db string) devserver.Config {
	cfg := app.Defaults(app.Dev)
	cfg.Addr, cfg.DB = "127.0.0.1:0", db
	cfg.PublicURL = "http://dev.example" // constant, unlike the port
	cfg.Log = slog.New(slog.DiscardHandler)
	return devserver.Config{App: cfg, Prepare: func(s *app.Services) { apptest.Cheapen(s, db, 2048) }}
}

// once creates a server, closes it and returns its card and notes.
func once(t *testing.T, cfg devserver.Config) (devserver.Card, []string) {
	t.Helper()
	e, err := devserver.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	card := e.Card()
	card.AuthURL, card.BaseURL, card.OperatorURL, card.PortalURL, card.ConsoleURL, card.ShopURL, card.MailURL = "", "", "", "", "", "", ""
	return card, e.Notes()
}

// services opens the services of a dev database, to change it between two starts.
func services(t *testing.T, db string) (*sqldb.DB, *partner.Store, *account.Store) {
	t.Helper()
	opened := sqldbtest.OpenWith(t, db, sqldb.Options{})
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return opened, &partner.Store{DB: opened, Sealer: box, Now: app.Now}, &account.Store{DB: opened, Now: app.Now}
}

// TestSeed signs in with the credentials of the card.
func TestSeed(t *testing.T) {
	db := sqldbtest.URL(t)
	card, notes := once(t, config(db))
	if len(notes) > 0 {
		t.Errorf("a fresh start has notes: %v", notes)
	}
	_, partners, accounts := services(t, db)
	p, err := partners.ByKey(t.Context(), card.Partner.APIKey)
	if err != nil || p.ID != card.Partner.ID || p.ClientID != card.Partner.ClientID {
		t.Fatalf("the API key is that of %+v, %v", p, err)
	}
	plans, err := partners.Plans(t.Context(), p.ID)
	if err != nil || len(plans) != 3 || plans[0].Tier != 1 || plans[2].Tier != 3 {
		t.Errorf("the plans are %+v, %v", plans, err)
	}
	for _, who := range []devserver.PersonCard{card.Buyer, card.Member, card.Operator} {
		u, err := accounts.SignIn(t.Context(), who.Email, who.Password, account.Client{})
		if err != nil {
			t.Fatalf("%s cannot sign in: %v", who.Email, err)
		}
		if want := who == card.Operator; u.Operator() != want {
			t.Errorf("%s is an operator: %v, want %v", who.Email, u.Operator(), want)
		}
		if who == card.Member {
			members, err := partners.Members(t.Context(), p.ID)
			if err != nil || len(members) != 1 || members[0].UserID != u.ID || members[0].Role != partner.Admin {
				t.Errorf("the members are %+v, %v", members, err)
			}
		}
	}
	token, err := accounts.ByToken(t.Context(), card.OperatorToken)
	if err != nil || !token.May(account.Admin) {
		t.Errorf("the token is %+v, %v", token, err)
	}
}

// TestSeededPasswords: derived passwords are hashed cheaply, for a fast start. Chosen ones cost the
// same as elsewhere.
func TestSeededPasswords(t *testing.T) {
	cfg := config(sqldbtest.URL(t))
	var accounts *account.Store
	cfg.Prepare = func(s *app.Services) { accounts = s.Accounts }
	once(t, cfg)
	db, _, _ := services(t, cfg.App.DB)
	hashes, err := sqldb.All(t.Context(), db, sqldb.Value[string], `SELECT password_hash FROM users`)
	if err != nil || len(hashes) != 3 {
		t.Fatalf("there are %v, %v", hashes, err)
	}
	for _, hash := range hashes {
		if !strings.HasPrefix(hash, "$argon2id$v=19$m=8,t=1,p=1$") {
			t.Errorf("hashed as %s", hash)
		}
	}
	if accounts.HashCost != (account.HashCost{}) {
		t.Errorf("passwords cost %+v", accounts.HashCost)
	}
}

// TestSeedsDiffer: two databases share no secret, and each secret is unique.
func TestSeedsDiffer(t *testing.T) {
	one, _ := once(t, config(sqldbtest.URL(t)))
	two, _ := once(t, config(sqldbtest.URL(t)))
	seen := map[string]bool{}
	for _, c := range []devserver.Card{one, two} {
		for _, s := range []string{
			c.OperatorToken, c.Partner.ClientID, c.Partner.ClientSecret, c.Partner.APIKey, c.Partner.WebhookSecret,
			c.Buyer.Password, c.Member.Password, c.Operator.Password,
		} {
			if seen[s] || s == "" {
				t.Errorf("%q is empty or there twice", s)
			}
			seen[s] = true
		}
	}
}

// TestSecondStart: the second start prints the same and leaves changed or deleted data alone.
func TestSecondStart(t *testing.T) {
	db := sqldbtest.URL(t)
	first, _ := once(t, config(db))
	opened, partners, _ := services(t, db)
	if err := partners.DeletePlan(t.Context(), audit.System("test"), first.Partner.ID, 3); err != nil {
		t.Fatal(err)
	}
	written := auditSize(t, opened)
	second, _ := once(t, config(db))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("cards (-first +second):\n%s", diff)
	}
	plans, err := partners.Plans(t.Context(), first.Partner.ID)
	if err != nil || len(plans) != 2 {
		t.Errorf("a deleted plan came back: %+v, %v", plans, err)
	}
	if n := auditSize(t, opened); n != written {
		t.Errorf("the second start wrote %d entries into the audit", n-written)
	}
}

func auditSize(t *testing.T, db *sqldb.DB) int {
	t.Helper()
	entries, _, err := (&audit.Log{DB: db}).List(t.Context(), audit.Filter{}, paging.First())
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestInterruptedSeed: an interrupted first start is completed by the next.
func TestInterruptedSeed(t *testing.T) {
	db := sqldbtest.URL(t)
	first, _ := once(t, config(db))
	opened, partners, accounts := services(t, db)
	err := opened.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`DELETE FROM dev_seeds WHERE id = 2`) // as if interrupted before the end
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := partners.DeletePlan(t.Context(), audit.System("test"), first.Partner.ID, 3); err != nil {
		t.Fatal(err)
	}
	second, _ := once(t, config(db))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("cards (-first +second):\n%s", diff)
	}
	plans, err := partners.Plans(t.Context(), first.Partner.ID)
	if err != nil || len(plans) != 3 {
		t.Errorf("the plans are %+v, %v", plans, err)
	}
	users, _, err := accounts.List(t.Context(), account.Filter{}, paging.First())
	if err != nil || len(users) != 3 {
		t.Errorf("%d users, %v; want 3", len(users), err)
	}
}

// TestRotated: the notes name rotated secrets as different from the card.
func TestRotated(t *testing.T) {
	db := sqldbtest.URL(t)
	card, _ := once(t, config(db))
	_, partners, accounts := services(t, db)
	for _, what := range []partner.Secret{partner.APIKey, partner.ClientSecret} {
		if _, err := partners.Rotate(t.Context(), audit.System("test"), card.Partner.ID, what, 0); err != nil {
			t.Fatal(err)
		}
	}
	token, err := accounts.ByToken(t.Context(), card.OperatorToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.RevokeToken(t.Context(), audit.System("test"), token.ID); err != nil {
		t.Fatal(err)
	}
	_, notes := once(t, config(db))
	said := strings.Join(notes, "\n")
	for _, want := range []string{"api_key", "client_secret", "operator_token"} {
		if !strings.Contains(said, want) {
			t.Errorf("no note of the %s: %v", want, notes)
		}
	}
	if strings.Contains(said, "webhook_secret") {
		t.Errorf("a note of a secret that was not touched: %v", notes)
	}
}

func TestRefusals(t *testing.T) {
	foreign := sqldbtest.URL(t)
	opened, partners, _ := services(t, foreign)
	book := &profile.Store{DB: opened, Partners: partners, Now: app.Now}
	if _, _, _, err := book.Enrol(t.Context(), audit.System("test"), partner.Draft{Name: "Real"}, profile.URLs{}, false, partner.Credentials{}); err != nil {
		t.Fatal(err)
	}
	webhook := config("")
	webhook.Webhook = "127.0.0.1:3000/hook"
	redirect := config("")
	redirect.Redirect = "http://user:password@127.0.0.1/"
	tests := map[string]struct {
		cfg  devserver.Config
		want string
	}{
		"a real database":        {config(foreign), "not_a_dev_database"},
		"a webhook that is none": {webhook, "invalid_url"},
		"a redirect with a user": {redirect, "invalid_url"},
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := devserver.New(t.Context(), tt.cfg)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it started"), e.Close()))
			}
			if !fault.Is(err, tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%d temporary folders are left, %v", len(left), err)
	}
}
