package partner_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// inviting is a harness with an inviter and a partner that has user 1 as admin.
type inviting struct {
	*harness
	*partner.Inviter
	p   partner.Partner
	out *mail.Outbox
}

func openInviting(t *testing.T) *inviting {
	t.Helper()
	d := open(t)
	out := &mail.Outbox{Sealer: d.Sealer}
	return &inviting{harness: d, p: d.team(t, partner.Admin), out: out, Inviter: &partner.Inviter{
		Partners: d.Store, Mail: out, PublicURL: "https://market.example", Marketplace: "Market",
	}}
}

var tokenInMail = regexp.MustCompile(`https://market\.example/portal/invitation\?token=([0-9a-f]{64})`)

// invite invites an address and returns the emailed token.
func (d *inviting) invite(t *testing.T, email string, role partner.Role) string {
	t.Helper()
	if _, err := d.Invite(t.Context(), as(d.p.ID, 1), d.p.ID, email, role); err != nil {
		t.Fatal(err)
	}
	mails, err := d.out.Recent(t.Context(), d.DB, 1)
	if err != nil || len(mails) != 1 || mails[0].To != email {
		t.Fatalf("mailed %+v, %v", mails, err)
	}
	found := tokenInMail.FindStringSubmatch(mails[0].Text)
	if found == nil {
		t.Fatalf("the mail has no link:\n%s", mails[0].Text)
	}
	return found[1]
}

func (d *inviting) accept(t *testing.T, userID int64, email, token string) error {
	t.Helper()
	_, err := d.Accept(t.Context(), audit.Actor{Kind: audit.ByUser, ID: userID}, userID, invitation.Proof{Email: email, SignedIn: d.Now()}, token)
	return err
}

// TestInvitation checks that it can be opened, and accepted once, only by the person with the
// address.
func TestInvitation(t *testing.T) {
	d := openInviting(t)
	token := d.invite(t, "Bea@example.com", partner.Developer)
	for range 2 { // an email scanner opens it, too
		if o, err := d.Open(t.Context(), token); err != nil || o.Role != partner.Developer || o.Partner.ID != d.p.ID || o.Email != "Bea@example.com" {
			t.Fatalf("opened %+v, %v", o, err)
		}
	}
	for _, other := range []string{"eve@example.com", "", "bea@example.com.evil.example"} {
		if err := d.accept(t, 5, other, token); !fault.Is(err, "invitation_not_yours") {
			t.Errorf("as %q: %v", other, err)
		}
	}
	if err := d.accept(t, 5, "eve@example.com", token[1:]+"0"); !fault.Is(err, "invalid_invitation") {
		t.Errorf("a wrong token: %v", err)
	}
	if err := d.accept(t, 2, "bea@EXAMPLE.com", token); err != nil {
		t.Fatal(err)
	}
	if err := d.accept(t, 2, "bea@example.com", token); !fault.Is(err, "invalid_invitation") {
		t.Errorf("accepted twice: %v", err)
	}
	if got := d.roles(t, d.p.ID); !cmp.Equal(got, []string{"1 admin", "2 developer"}) {
		t.Errorf("the team is %v", got)
	}
	list := d.entries(t, "partner:1")
	if last := list[len(list)-1]; last.Action != "partner.invite_accept" || last.Actor.ActingFor != d.p.ID || strings.Contains(last.After, "@") {
		t.Errorf("the audit has %+v", last)
	}
}

// TestInvitationEnds checks that it ends by time, by a newer one, by being withdrawn, and when its
// sender is no longer an admin.
func TestInvitationEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, d *inviting) error
		code string
	}{
		"time":  {func(_ *testing.T, d *inviting) error { d.now = d.now.Add(partner.InvitationLife); return nil }, "invitation_expired"},
		"newer": {func(t *testing.T, d *inviting) error { d.invite(t, "BEA@example.com", partner.Viewer); return nil }, "invalid_invitation"},
		"withdrawn": {func(t *testing.T, d *inviting) error {
			list, err := d.List(t.Context(), d.p.ID)
			if err != nil || len(list) != 1 {
				t.Fatalf("open are %v, %v", list, err)
			}
			if err := d.Withdraw(t.Context(), operator, d.p.ID+1, list[0].ID); !fault.Is(err, "unknown_partner") {
				t.Errorf("by another partner: %v", err)
			}
			return d.Withdraw(t.Context(), as(d.p.ID, 1), d.p.ID, list[0].ID)
		}, "invalid_invitation"},
		"removed": {func(t *testing.T, d *inviting) error {
			if _, err := d.AddMember(t.Context(), operator, d.p.ID, 9, partner.Admin); err != nil {
				return err
			}
			return d.RemoveMember(t.Context(), as(d.p.ID, 9), d.p.ID, 1)
		}, "invalid_invitation"},
		"demoted": {func(t *testing.T, d *inviting) error {
			if _, err := d.AddMember(t.Context(), operator, d.p.ID, 9, partner.Admin); err != nil {
				return err
			}
			_, err := d.ChangeRole(t.Context(), as(d.p.ID, 9), d.p.ID, 1, partner.Admin, partner.Viewer)
			return err
		}, "invalid_invitation"},
		"erased": {func(t *testing.T, d *inviting) error {
			return d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
				partner.EraseInvitations(tx, "bea@example.com")
				return nil
			})
		}, "invalid_invitation"},
	} {
		t.Run(name, func(t *testing.T) {
			d := openInviting(t)
			token := d.invite(t, "bea@example.com", partner.Admin)
			if err := c.end(t, d); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Open(t.Context(), token); !fault.Is(err, c.code) {
				t.Errorf("shown: %v", err)
			}
			if err := d.accept(t, 2, "bea@example.com", token); !fault.Is(err, c.code) {
				t.Errorf("accepted: %v", err)
			}
		})
	}
}

// TestInviteRefuses checks the right to invite and its limits.
func TestInviteRefuses(t *testing.T) {
	d := openInviting(t)
	if _, err := d.AddMember(t.Context(), operator, d.p.ID, 2, partner.Developer); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by    audit.Actor
		email string
		role  partner.Role
		code  string
	}{
		"a developer":   {as(d.p.ID, 2), "bea@example.com", partner.Viewer, "unknown_partner"},
		"no address":    {as(d.p.ID, 1), "bea", partner.Viewer, "invalid_field"},
		"no role":       {as(d.p.ID, 1), "bea@example.com", "", "invalid_field"},
		"somebody else": {as(d.p.ID+1, 1), "bea@example.com", partner.Viewer, "unknown_partner"},
	} {
		if _, err := d.Invite(t.Context(), c.by, d.p.ID, c.email, c.role); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	for range partner.MaxInvitations {
		d.invite(t, "bea@example.com", partner.Viewer)
		d.now = d.now.Add(time.Second)
	}
	_, err := d.Invite(t.Context(), as(d.p.ID, 1), d.p.ID, "cid@example.com", partner.Viewer)
	if f := fault.Of(err); f == nil || f.Kind != fault.Throttled || f.After != time.Hour-partner.MaxInvitations*time.Second {
		t.Errorf("too many: %v", err)
	}
	d.now = noon.Add(time.Hour)
	d.invite(t, "cid@example.com", partner.Viewer)
}

// TestAcceptKeepsTheRole checks that an existing member keeps the role, so that the last admin
// cannot lose it, and that of several concurrent calls one succeeds.
func TestAcceptKeepsTheRole(t *testing.T) {
	d := openInviting(t)
	if err := d.accept(t, 1, "admin@example.com", d.invite(t, "admin@example.com", partner.Viewer)); err != nil {
		t.Fatal(err)
	}
	token := d.invite(t, "bea@example.com", partner.Viewer)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := d.accept(t, 2, "bea@example.com", token); err != nil && !fault.Is(err, "invalid_invitation") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := d.roles(t, d.p.ID); !cmp.Equal(got, []string{"1 admin", "2 viewer"}) {
		t.Errorf("the team is %v", got)
	}
}

// TestInvitationAtRest checks that the token is not stored, and that old invitations are pruned.
func TestInvitationAtRest(t *testing.T) {
	d := openInviting(t)
	token := d.invite(t, "bea@example.com", partner.Viewer)
	for table, texts := range sqldbtest.Texts(t, d.DB) {
		for _, text := range texts {
			if strings.Contains(text, token) {
				t.Errorf("%s has the token: %s", table, text)
			}
		}
	}
	d.now = noon.Add(partner.InvitationLife + 30*24*time.Hour)
	if n, err := prune.Rows(t.Context(), d.DB, d.now, invitation.Expiring()); n != 0 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	d.now = d.now.Add(time.Microsecond)
	if n, err := prune.Rows(t.Context(), d.DB, d.now, invitation.Expiring()); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
}
