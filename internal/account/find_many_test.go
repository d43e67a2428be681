package account_test

import (
	"testing"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// TestFindMany: of several persons in one transaction, those with an address or an external
// id in common are one user, whatever their order. Someone who is not acceptable is refused
// alone. Someone who only signed up stays from then on.
func TestFindMany(t *testing.T) {
	d, bought := signedUp(t)
	persons := []account.Person{
		{Email: "ann@example.com"},
		{Email: "not an address"},
		{Email: "ANN@example.com", ExternalID: "u-1"},
		{ExternalID: "u-1"},
		{ExternalID: "u-2", Email: "cal@example.com"},
		{ExternalID: "u-3", Email: "CAL@example.com"},
		{Email: bob},
	}
	var found []account.Found
	d.write(t, func(tx *sqldb.Tx) (err error) {
		found, err = account.QueueFinder(tx, persons...).Find(t.Context(), d.now, persons...)
		return err
	})
	ann, cal := found[0].User.ID, found[4].User.ID
	for i, c := range []struct {
		user int64
		code string
	}{{ann, ""}, {0, "invalid_field"}, {ann, ""}, {ann, ""}, {cal, ""}, {0, "user_conflict"}, {bought.ID, ""}} {
		got := found[i]
		if c.code != "" {
			refused(t, persons[i].Email, got.Err, c.code)
		} else if got.Err != nil || got.User.ID != c.user || c.user == 0 {
			t.Errorf("%+v is %+v, %v", persons[i], got.User, got.Err)
		}
	}
	if ann == cal || len(d.known(t, "ann@example.com")) != 1 {
		t.Errorf("Ann is user %d, Cal is user %d", ann, cal)
	}
	d.forget(t, week+1)
	if _, err := d.Get(t.Context(), bought.ID); err != nil {
		t.Errorf("someone who bought is gone: %v", err)
	}
	if u, err := d.Get(t.Context(), ann); err != nil || u.ExternalID != "u-1" {
		t.Errorf("Ann is %+v, %v", u, err)
	}
	err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		return errorOf(account.Find(t.Context(), tx, account.Person{Email: "broken"}, d.now))
	})
	if fault.Of(err) == nil {
		t.Errorf("someone who is not acceptable: %v", err)
	}
}
