package account_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"claviger/internal/account"
	"claviger/internal/sqldb"
)

// TestPeopleByID: users are found by their ids, and nobody else with them. An erased user
// has neither a name nor an address, and stays on the list for the next restore.
func TestPeopleByID(t *testing.T) {
	d := open(t)
	ann := d.create(t, account.Person{Email: "ann@example.com", Name: "Ann"})
	bob := d.create(t, account.Person{Email: "bob@example.com"})
	cal := d.create(t, account.Person{ExternalID: "cal"})
	gone := d.create(t, account.Person{Email: "gone@example.com", Name: "Gone"})
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, gone.ID, d.now)
		return err
	})
	for _, c := range []struct {
		ids    []int64
		names  map[int64]string
		emails map[int64]string
	}{
		{nil, map[int64]string{}, map[int64]string{}},
		{[]int64{ann.ID}, map[int64]string{ann.ID: "Ann"}, map[int64]string{ann.ID: ann.Email}},
		{
			[]int64{bob.ID, cal.ID, gone.ID, 999},
			map[int64]string{bob.ID: bob.Email, cal.ID: ""},
			map[int64]string{bob.ID: bob.Email},
		},
	} {
		names, err := d.Names(t.Context(), c.ids)
		if err != nil || !maps.Equal(names, c.names) {
			t.Errorf("the names of %d: %v, %v", c.ids, names, err)
		}
		emails, err := account.Emails(t.Context(), d.DB, c.ids)
		if err != nil || !maps.Equal(emails, c.emails) {
			t.Errorf("the addresses of %d: %v, %v", c.ids, emails, err)
		}
	}
	users, err := d.Users(t.Context(), []int64{ann.ID, gone.ID})
	if want := map[int64]account.User{ann.ID: ann}; err != nil || !maps.Equal(users, want) {
		t.Errorf("users: %+v, %v", users, err)
	}
	if erased, err := d.Erased(t.Context()); err != nil || !slices.Equal(erased, []int64{gone.ID}) {
		t.Errorf("erased: %d, %v", erased, err)
	}
}

// TestErasedAfterMerge: a merged user is erased again after a restore if the other one was erased,
// and not otherwise.
func TestErasedAfterMerge(t *testing.T) {
	d := open(t)
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	was := d.create(t, account.Person{Email: "was@example.com"})
	d.write(t, func(tx *sqldb.Tx) error {
		_, err := account.Absorb(t.Context(), tx, was.ID, ann.ID, d.now)
		return err
	})
	if erased, err := d.Erased(t.Context()); err != nil || len(erased) != 0 {
		t.Errorf("while the other one is there: %d, %v", erased, err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, ann.ID, d.now)
		return err
	})
	if erased, err := d.Erased(t.Context()); err != nil || !slices.Equal(erased, []int64{ann.ID, was.ID}) {
		t.Errorf("afterwards: %d, %v", erased, err)
	}
}

// TestPaidGuestsFirst: nobody hides a purchase by typing its address often, and the data of a guest has
// the address.
func TestPaidGuestsFirst(t *testing.T) {
	d := open(t)
	start := func(browser string) account.User {
		u, err := d.StartGuest(t.Context(), account.GuestOrder{Email: "Typed@example.com", Browser: browser, PartnerID: 1, Tier: 1})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	paid := start("pays")
	d.exec(t, `UPDATE guests SET paid_at = $2 WHERE user_id = $1`, paid.ID, d.now)
	for i := range 101 {
		start(fmt.Sprint("does not pay ", i))
	}
	ids, err := d.FindAll(t.Context(), "typed@example.com")
	if err != nil || len(ids) != 100 || ids[0] != paid.ID {
		t.Errorf("found %d, %v", ids, err)
	}
	ann := d.create(t, account.Person{Email: "typed@example.com"})
	if ids, err = d.FindAll(t.Context(), "typed@example.com"); err != nil || !slices.Equal(ids[:2], []int64{ann.ID, paid.ID}) {
		t.Errorf("with an account: %d, %v", ids, err)
	}
	if data, err := d.Data(t.Context(), paid.ID); err != nil || data.Email != "Typed@example.com" {
		t.Errorf("the data of a guest: %+v, %v", data, err)
	}
}
