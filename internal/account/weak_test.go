package account_test

import (
	"strings"
	"testing"

	"github.com/alexedwards/argon2id"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// TestGuessablePassword checks that guessable passwords are refused wherever one is chosen, with
// advice.
func TestGuessablePassword(t *testing.T) {
	const (
		common  = "is one of the 10,000 most common ones"
		address = "contains your email address"
		shop    = "contains the name of this marketplace"
	)
	for name, tt := range map[string]struct{ email, typed, why string }{
		"common":                              {"ann@example.com", "password", common},
		"common in capitals":                  {"ann@example.com", "QWERTYuiop", common},
		"common and long":                     {"ann@example.com", "1234567890", common},
		"what others name":                    {"maria@example.com", "xx-Maria-1987", address},
		"a name of four characters":           {"anna@example.com", "sunnanna!", address},
		"an address in capitals":              {"MARIA@Example.com", "xx-maria-1987", address},
		"a name of three characters":          {"ann@example.com", "sunnann!x", ""},
		"an address whose name is short":      {"ann@example.com", "ann@example.com", address},
		"without what is behind the plus":     {"maria+shop@example.com", "maria 1987", address},
		"the host":                            {"ann@example.com", "example.com!", ""},
		"the marketplace":                     {"ann@example.com", "my tide shop 1", shop},
		"the marketplace in one word":         {"ann@example.com", "TideShop2026", shop},
		"part of the name of the marketplace": {"ann@example.com", "tide and moon", ""},
		"several words":                       {"ann@example.com", "correct horse battery", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.Marketplace = "Tide Shop"
			u := d.create(t, account.Person{Email: tt.email})
			_, signUp := d.SignUp(t.Context(), account.Person{Email: tt.email}, tt.typed, "", account.Client{})
			_, reset := d.ResetPassword(t.Context(), operator, u.ID, tt.typed)
			if reset != nil {
				if _, err := d.ResetPassword(t.Context(), operator, u.ID, "staple of lettuce"); err != nil {
					t.Fatal(err)
				}
			} else if _, err := d.ChangePassword(t.Context(), operator, u.ID, tt.typed, "staple of lettuce"); err != nil {
				t.Fatal(err)
			}
			_, change := d.ChangePassword(t.Context(), operator, u.ID, "staple of lettuce", tt.typed)
			for way, err := range map[string]error{"sign-up": signUp, "reset": reset, "change": change} {
				f := fault.Of(err)
				switch {
				case tt.why == "" && err != nil:
					t.Errorf("%s: %v", way, err)
				case tt.why != "" && (f == nil || f.Field != "password" || !strings.Contains(f.Text, tt.why) || !strings.Contains(f.Text, "Choose several words")):
					t.Errorf("%s: %v, want %q", way, err, tt.why)
				}
			}
		})
	}
}

// TestGuessablePasswordSignsIn checks that a password from before the rule still signs in.
func TestGuessablePasswordSignsIn(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "maria@example.com"})
	for _, typed := range []string{"password", "maria1987", "claviger"} {
		hash, err := argon2id.CreateHash(typed, &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
		if err != nil {
			t.Fatal(err)
		}
		d.write(t, func(tx *sqldb.Tx) error {
			return account.SetPassword(t.Context(), tx, operator, u.ID, account.Password(hash), d.now)
		})
		if _, err := d.SignIn(t.Context(), u.Email, typed, account.Client{}); err != nil {
			t.Errorf("%s: %v", typed, err)
		}
	}
}
