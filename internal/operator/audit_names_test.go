package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/sqldb"
)

// TestAuditNamesUsers: an entry has the actor's id. The name is the current one, or the address if
// there is none, and goes with the person.
func TestAuditNamesUsers(t *testing.T) {
	h := newHarness(t)
	var ids []int64
	for _, p := range []account.Person{{Email: "ann@example.com", Name: "Ann"}, {Email: "bob@example.com"}} {
		u, _, err := h.operator.Accounts.Create(t.Context(), tester, p)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, u.ID)
	}
	err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, id := range ids {
			audit.Record(tx, h.clock.Now(), audit.Actor{Kind: audit.ByUser, ID: id, Session: "0123456789abcdef", Client: "203.0.113.9"}, "test.act", "test:1", nil, nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	names := func() string {
		var list struct {
			Items []struct {
				Actor struct{ Name, Session, Client string }
			}
		}
		h.send(h.tokens[account.Read], "GET", "/operator/v1/audit?actor=user&action=test.act&order=asc", "").Into(t, &list)
		var out []string
		for _, e := range list.Items {
			out = append(out, fmt.Sprintf("%s %s %s", e.Actor.Name, e.Actor.Session, e.Actor.Client))
		}
		return strings.Join(out, ", ")
	}
	if got := names(); got != "Ann 0123456789abcdef 203.0.113.9, bob@example.com 0123456789abcdef 203.0.113.9" {
		t.Errorf("the actors are %q", got)
	}
	h.send(h.tokens[account.Admin], "DELETE", fmt.Sprintf("/operator/v1/users/%d", ids[0]), "")
	if got := names(); got != " 0123456789abcdef , bob@example.com 0123456789abcdef 203.0.113.9" {
		t.Errorf("after the erasure the actors are %q", got)
	}
}
