package account_test

import (
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

const bob = "bob@example.com"

// signedUp returns a harness with one sign-up.
func signedUp(t *testing.T) (*harness, account.User) {
	t.Helper()
	d := open(t)
	d.signUp(t, bob, "correct horse battery", "")
	return d, d.known(t, bob)[0]
}

// known returns the users with an address.
func (d *harness) known(t *testing.T, email string) []account.User {
	t.Helper()
	list, _, err := d.List(t.Context(), account.Filter{Email: email}, paging.First())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// forget advances the clock and prunes.
func (d *harness) forget(t *testing.T, after time.Duration) {
	t.Helper()
	d.now = noon.Add(after)
	if _, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); err != nil {
		t.Fatal(err)
	}
}

const week = 7 * 24 * time.Hour

// TestForgetSignUp checks that nothing is left of an unconfirmed sign-up after a week, and that the
// address can sign up again.
func TestForgetSignUp(t *testing.T) {
	d, u := signedUp(t)
	d.forget(t, week)
	if n := len(d.known(t, bob)); n != 1 {
		t.Errorf("%d users after a week", n)
	}
	d.forget(t, week+time.Second)
	if _, err := d.Get(t.Context(), u.ID); !fault.Is(err, "unknown_user") {
		t.Errorf("the user is still there: %v", err)
	}
	browser := d.signUp(t, bob, "correct horse battery", "")
	if e := d.use(t, d.mailed(t), browser); e.User.ID == u.ID || e.NeedsPassword {
		t.Errorf("the new sign-up came to %+v", e)
	}
}

// TestForgetSignUpAfterTheLastMail checks that each email restarts the week, so that no working
// link loses its user.
func TestForgetSignUpAfterTheLastMail(t *testing.T) {
	for name, ask := range map[string]func(*harness) error{
		"sign-up": func(d *harness) error {
			_, err := d.SignUp(t.Context(), account.Person{Email: bob}, "correct horse battery", "", account.Client{})
			return err
		},
		"link":  func(d *harness) error { return d.SendLink(t.Context(), bob, "") },
		"reset": func(d *harness) error { return d.SendReset(t.Context(), bob, "") },
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := signedUp(t)
			d.now = noon.Add(week - time.Minute)
			if err := ask(d); err != nil {
				t.Fatal(err)
			}
			d.mailLinks(t)
			d.forget(t, week+time.Minute)
			d.use(t, d.mailed(t), "")
			d.forget(t, 3*week)
			if n := len(d.known(t, bob)); n != 1 {
				t.Errorf("%d users who confirmed", n)
			}
		})
	}
}

// TestForgetNobodyElse checks that users stay if they proved the address or were named by anyone
// but a visitor: other data may refer to them.
func TestForgetNobodyElse(t *testing.T) {
	for name, act := range map[string]func(*testing.T, *harness, account.User){
		"confirmed":               func(t *testing.T, d *harness, _ account.User) { d.use(t, d.mailed(t), "") },
		"created by the operator": func(t *testing.T, d *harness, _ account.User) { d.create(t, account.Person{Email: bob}) },
		"sold to": func(t *testing.T, d *harness, _ account.User) {
			d.write(t, func(tx *sqldb.Tx) error {
				_, err := account.Find(t.Context(), tx, account.Person{Email: bob}, d.now)
				return err
			})
		},
		"given an external id": func(t *testing.T, d *harness, _ account.User) {
			d.create(t, account.Person{Email: bob, ExternalID: "u-1"})
		},
		"locked by another package": func(t *testing.T, d *harness, u account.User) {
			d.write(t, func(tx *sqldb.Tx) error { return account.Present(t.Context(), tx, u.ID) })
		},
		"made an operator": func(t *testing.T, d *harness, u account.User) {
			d.write(t, func(tx *sqldb.Tx) error {
				_, err := account.SetRole(t.Context(), tx, operator, u.ID, account.RoleAdmin, d.now)
				return err
			})
		},
		"given a link": func(t *testing.T, d *harness, u account.User) {
			if _, _, err := d.Link(t.Context(), operator, u.ID, ""); err != nil {
				t.Fatal(err)
			}
		},
		"given a password": func(t *testing.T, d *harness, u account.User) {
			hash, err := d.NewPassword(t.Context(), "", "correct horse battery")
			if err != nil {
				t.Fatal(err)
			}
			d.write(t, func(tx *sqldb.Tx) error { return account.SetPassword(t.Context(), tx, operator, u.ID, hash, d.now) })
		},
		"erased": func(t *testing.T, d *harness, u account.User) {
			d.write(t, func(tx *sqldb.Tx) error {
				_, _, err := account.Erase(t.Context(), tx, operator, u.ID, d.now)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, u := signedUp(t)
			act(t, d, u)
			// A later sign-up does not change that.
			d.signUp(t, bob, "correct horse battery", "")
			d.forget(t, 2*week)
			if _, err := d.Get(t.Context(), u.ID); err != nil {
				t.Error(err)
			}
		})
	}
	d := open(t)
	u := d.create(t, account.Person{Email: bob})
	d.signUp(t, bob, "correct horse battery", "")
	d.forget(t, 2*week)
	if _, err := d.Get(t.Context(), u.ID); err != nil {
		t.Errorf("bought for, then signed up: %v", err)
	}
}

// TestForgetBesideFind prunes a sign-up during a sale to its address. Each user found stays.
func TestForgetBesideFind(t *testing.T) {
	d, _ := signedUp(t)
	d.now = noon.Add(2 * week)
	var wg sync.WaitGroup
	ids := make([]int64, 20)
	for i := range ids {
		wg.Go(func() {
			err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
				u, err := account.Find(t.Context(), tx, account.Person{Email: bob}, d.now)
				ids[i] = u.ID
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if _, err := d.Get(t.Context(), id); err != nil {
			t.Errorf("user %d: %v", id, err)
		}
	}
}
