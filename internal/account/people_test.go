package account_test

import (
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
