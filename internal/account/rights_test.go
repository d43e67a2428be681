package account_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// TestMayAssist checks the rights to make a sign-in link for each kind of user.
func TestMayAssist(t *testing.T) {
	d := open(t)
	member := d.create(t, account.Person{Email: "member@example.com"})
	d.Serves = func(_ context.Context, _ sqldb.Reader, id int64) (bool, error) { return id == member.ID, nil }
	plain := d.admins(t, "plain@example.com")[0]
	secured, _, _ := d.enrolled(t, "secured@example.com")
	secured = d.admins(t, secured.Email)[0]
	helper, _, _ := d.enrolled(t, "helper@example.com")
	d.write(t, func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, operator, helper.ID, account.RoleSupport, d.now)
		return err
	})
	invited := d.create(t, account.Person{Email: "Invited@example.com"})
	d.Mail.Sealer = d.Sealer
	if _, err := (account.Inviter{Accounts: d.Store}).Invite(t.Context(), audit.Actor{Kind: audit.ByUser, ID: plain.ID}, "invited@EXAMPLE.com", account.RoleViewer); err != nil {
		t.Fatal(err)
	}
	buyer := d.create(t, account.Person{Email: "buyer@example.com"})
	person := func(u account.User) audit.Actor { return audit.Actor{Kind: audit.ByUser, ID: u.ID} }
	for _, by := range []struct {
		name  string
		actor audit.Actor
		all   bool
	}{
		{"support with a second factor", person(helper), false},
		{"an admin without one", person(plain), false},
		{"a token", audit.Actor{Kind: audit.ByToken, ID: 1}, false},
		{"an admin with one", person(secured), true},
	} {
		for code, u := range map[string]account.User{"operator_account": plain, "member_account": member, "invited_account": invited, "": buyer} {
			_, _, err := d.Link(t.Context(), by.actor, u.ID, "")
			switch f := fault.Of(err); {
			case by.all || code == "":
				if err != nil {
					t.Errorf("%s, %s: %v", by.name, u.Email, err)
				}
			case f == nil || f.Code != code || f.Kind != fault.Forbidden:
				t.Errorf("%s, %s: %v, want %s", by.name, u.Email, err, code)
			}
		}
	}
	if _, _, err := d.Link(t.Context(), audit.System("restore"), plain.ID, ""); err != nil {
		t.Errorf("the service: %v", err)
	}
	if _, _, err := d.Link(t.Context(), audit.Actor{Kind: audit.ByUser, ID: 999}, plain.ID, ""); err == nil {
		t.Error("nobody may")
	}
	away := errors.New("away")
	d.Serves = func(context.Context, sqldb.Reader, int64) (bool, error) { return false, away }
	if _, _, err := d.Link(t.Context(), operator, buyer.ID, ""); !errors.Is(err, away) {
		t.Errorf("without knowing who is a member: %v", err)
	}
	d.Serves = nil
	d.now = d.now.Add(invitation.Life) // it expired
	if _, _, err := d.Link(t.Context(), audit.Actor{Kind: audit.ByToken, ID: 1}, invited.ID, ""); err != nil {
		t.Errorf("after the invitation: %v", err)
	}
}

// TestGainedAndLost: a right that another package keeps ends all sessions and links when a
// user gains it, and the sessions in the console and the portal when they lose it.
func TestGainedAndLost(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	link, _, err := d.Link(t.Context(), operator, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		account.Lost(tx, u.ID)
		return nil
	})
	u.StaffEpoch++
	if got, err := d.Get(t.Context(), u.ID); err != nil || got != u {
		t.Errorf("lost: %+v, %v", got, err)
	}
	if _, err := d.PeekLink(t.Context(), token(t, link)); err != nil {
		t.Errorf("lost: %v", err)
	}
	gain := func(id int64) (epoch int64, err error) {
		err = d.DB.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
			epoch, err = account.Gained(t.Context(), tx, id, d.now)
			return err
		})
		return epoch, err
	}
	u.SessionEpoch++
	if epoch, err := gain(u.ID); err != nil || epoch != u.SessionEpoch {
		t.Errorf("the epoch is %d, %v", epoch, err)
	}
	if got, err := d.Get(t.Context(), u.ID); err != nil || got != u {
		t.Errorf("gained: %+v, %v", got, err)
	}
	d.dead(t, map[string]string{token(t, link): account.CodeLinkExpired})
	_, err = gain(999)
	refused(t, "nobody gains", err, account.CodeUnknownUser)
}

// TestNoAddressFromOthers: a purchase that names somebody without an address adds one, but
// not for somebody with a second factor or a role: the address would be a way in.
func TestNoAddressFromOthers(t *testing.T) {
	d := open(t)
	for name, prepare := range map[string]string{
		"": "", "role": `UPDATE users SET operator_role = 'viewer' WHERE id = $1 AND $2`, "factor": `UPDATE users SET second_factor = $2 WHERE id = $1`,
	} {
		u := d.create(t, account.Person{ExternalID: "u-" + name})
		if prepare != "" {
			d.write(t, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(t.Context(), prepare, u.ID, true)
				return err
			})
		}
		got := d.create(t, account.Person{ExternalID: u.ExternalID, Email: name + "eve@example.com"})
		if added := got.Email != ""; added != (prepare == "") {
			t.Errorf("%q: the address is %q", name, got.Email)
		}
	}
}

// TestRoleEpochs checks that a role with more rights ends all sessions and links. A role with only
// fewer rights ends the sessions in the console and the portal; the same role ends none.
func TestRoleEpochs(t *testing.T) {
	d := open(t)
	d.admins(t, "first@example.com")
	u := d.create(t, account.Person{Email: "ann@example.com"})
	for _, c := range []struct {
		role       account.Role
		all, staff int64
	}{
		{account.RoleViewer, 1, 0},
		{account.RoleViewer, 1, 0},
		{account.RoleSupport, 2, 0},
		{account.RoleSales, 3, 0},
		{account.RoleAdmin, 4, 0},
		{account.RoleSupport, 4, 1},
		{account.RoleViewer, 4, 2},
		{"", 4, 3},
	} {
		d.now = d.now.Add(time.Hour)
		link, _, err := d.Link(t.Context(), audit.System("test"), u.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		before := u
		d.write(t, func(tx *sqldb.Tx) (err error) {
			u, err = account.SetRole(t.Context(), tx, operator, u.ID, c.role, d.now)
			return err
		})
		if got, err := d.Get(t.Context(), u.ID); err != nil || got != u || got.SessionEpoch != c.all || got.StaffEpoch != c.staff {
			t.Errorf("%q: %+v, %v, want the epochs %d and %d", c.role, got, err, c.all, c.staff)
		}
		_, err = d.PeekLink(t.Context(), token(t, link))
		if ended := err != nil; ended != (before.SessionEpoch != c.all) {
			t.Errorf("%q: the link: %v", c.role, err)
		}
	}
}
