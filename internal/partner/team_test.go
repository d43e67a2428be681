package partner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// as returns a member that acts for a partner.
func as(partnerID, userID int64) audit.Actor {
	return audit.Actor{Kind: audit.ByUser, ID: userID, ActingFor: partnerID}
}

// team makes a partner with members: user 1 has the first role, and so on.
func (d *harness) team(t *testing.T, roles ...partner.Role) partner.Partner {
	t.Helper()
	p, _ := d.create(t, partner.Draft{Name: "a"})
	for i, role := range roles {
		if _, err := d.AddMember(t.Context(), operator, p.ID, int64(i+1), role); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// roles returns the members of a partner as "user role".
func (d *harness) roles(t *testing.T, id int64) (list []string) {
	t.Helper()
	members, err := d.Members(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		list = append(list, fmt.Sprint(m.UserID, " ", m.Role))
	}
	return list
}

func TestTeam(t *testing.T) {
	d := open(t)
	p := d.team(t, partner.Admin, partner.Developer, partner.Viewer)
	q, _ := d.create(t, partner.Draft{Name: "b"})
	one, two := as(p.ID, 1), as(p.ID, 2)
	for name, c := range map[string]struct {
		do   func() error
		code string
	}{
		"demote the last admin": {func() error {
			_, err := d.ChangeRole(t.Context(), one, p.ID, 1, partner.Admin, partner.Viewer)
			return err
		}, "last_admin"},
		"the operator demotes the last admin": {func() error {
			_, err := d.AddMember(t.Context(), operator, p.ID, 1, partner.Viewer)
			return err
		}, "last_admin"},
		"the last admin leaves":   {func() error { return d.RemoveMember(t.Context(), one, p.ID, 1) }, "last_admin"},
		"remove nobody":           {func() error { return d.RemoveMember(t.Context(), one, p.ID, 9) }, "unknown_member"},
		"a developer removes":     {func() error { return d.RemoveMember(t.Context(), two, p.ID, 3) }, "unknown_partner"},
		"another partner's admin": {func() error { return d.RemoveMember(t.Context(), as(q.ID, 1), p.ID, 3) }, "unknown_partner"},
		"somebody who left":       {func() error { return d.RemoveMember(t.Context(), as(p.ID, 9), p.ID, 3) }, "unknown_partner"},
		"a role that is none": {func() error {
			_, err := d.ChangeRole(t.Context(), one, p.ID, 2, partner.Developer, "owner")
			return err
		}, "invalid_field"},
		"changed since it was shown": {func() error {
			_, err := d.ChangeRole(t.Context(), one, p.ID, 2, partner.Viewer, partner.Admin)
			return err
		}, "member_changed"},
		"of another partner": {func() error {
			_, err := d.ChangeRole(t.Context(), one, q.ID, 2, partner.Viewer, partner.Admin)
			return err
		}, "unknown_partner"},
	} {
		if err := c.do(); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if got := d.roles(t, p.ID); !cmp.Equal(got, []string{"1 admin", "2 developer", "3 viewer"}) {
		t.Fatalf("a refused change left %v", got)
	}
	if _, err := d.ChangeRole(t.Context(), one, p.ID, 2, partner.Developer, partner.Admin); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveMember(t.Context(), as(p.ID, 3), p.ID, 3); err != nil { // a viewer leaves
		t.Fatal(err)
	}
	if err := d.RemoveMember(t.Context(), two, p.ID, 1); err != nil {
		t.Fatal(err)
	}
	if got := d.roles(t, p.ID); !cmp.Equal(got, []string{"2 admin"}) {
		t.Errorf("left are %v", got)
	}
	var actions []string
	for _, e := range d.entries(t, "partner:1")[4:] {
		actions = append(actions, fmt.Sprint(e.Action, " by ", e.Actor.ID))
	}
	if want := []string{"partner.member by 1", "partner.member_leave by 3", "partner.member_remove by 2"}; !cmp.Equal(actions, want) {
		t.Errorf("the audit has %v", actions)
	}
}

// TestAdminsRemoveEachOther checks that one of two admins stays if they remove or demote each
// other, leave or are erased concurrently.
func TestAdminsRemoveEachOther(t *testing.T) {
	for name, act := range map[string]func(ctx context.Context, d *harness, p, by, other int64) error{
		"remove": func(ctx context.Context, d *harness, p, by, other int64) error {
			return d.RemoveMember(ctx, as(p, by), p, other)
		},
		"demote": func(ctx context.Context, d *harness, p, by, other int64) error {
			_, err := d.ChangeRole(ctx, as(p, by), p, other, partner.Admin, partner.Viewer)
			return err
		},
		"leave": func(ctx context.Context, d *harness, p, by, _ int64) error {
			return d.RemoveMember(ctx, as(p, by), p, by)
		},
		"erase": func(ctx context.Context, d *harness, _, by, _ int64) error {
			return d.DB.Write(ctx, func(tx *sqldb.Tx) error {
				return partner.Leave(ctx, tx, audit.Actor{Kind: audit.ByUser, ID: by}, by, noon)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			for range 5 {
				p := d.team(t, partner.Admin, partner.Admin)
				var wg sync.WaitGroup
				errs := make([]error, 2)
				for i, pair := range [][2]int64{{1, 2}, {2, 1}} {
					wg.Go(func() { errs[i] = act(t.Context(), d, p.ID, pair[0], pair[1]) })
				}
				wg.Wait()
				if (errs[0] == nil) == (errs[1] == nil) {
					t.Errorf("the two get %v and %v", errs[0], errs[1])
				}
				admins := 0
				members, err := d.Members(t.Context(), p.ID)
				for _, m := range members {
					if m.Role == partner.Admin {
						admins++
					}
				}
				if err != nil || admins != 1 {
					t.Errorf("%d admins are left, %v", admins, err)
				}
				d.clear(t, p.ID)
			}
		})
	}
}

// clear removes a team, so that erasing a user affects one partner.
func (d *harness) clear(t *testing.T, id int64) {
	t.Helper()
	err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), `DELETE FROM members WHERE partner_id = $1`, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestErasedMember checks that the marketplace can erase the last admin, and that they cannot erase
// themselves. In both cases the history shows that a member is gone.
func TestErasedMember(t *testing.T) {
	d := open(t)
	p := d.team(t, partner.Admin, partner.Developer)
	leave := func(by audit.Actor, userID int64) error {
		return d.DB.Write(t.Context(), func(tx *sqldb.Tx) error { return partner.Leave(t.Context(), tx, by, userID, noon) })
	}
	if sole, err := d.SoleAdminOf(t.Context(), 1); err != nil || len(sole) != 1 || sole[0].ID != p.ID {
		t.Errorf("sole admin of %v, %v", sole, err)
	}
	if sole, err := d.SoleAdminOf(t.Context(), 2); err != nil || len(sole) != 0 {
		t.Errorf("a developer is sole admin of %v, %v", sole, err)
	}
	if err := leave(audit.Actor{Kind: audit.ByUser, ID: 1}, 1); !fault.Is(err, "last_admin") {
		t.Errorf("the last admin erases the account: %v", err)
	}
	if err := leave(audit.Actor{Kind: audit.ByUser, ID: 2}, 2); err != nil {
		t.Error(err)
	}
	if err := leave(operator, 1); err != nil {
		t.Error(err)
	}
	if got := d.roles(t, p.ID); got != nil {
		t.Errorf("left are %v", got)
	}
	list := d.entries(t, "partner:1")
	if last := list[len(list)-1]; last.Action != "partner.member_erase" || last.Before == "" {
		t.Errorf("the audit has %+v", last)
	}
}
