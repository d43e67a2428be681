package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// sessions returns the ids of the sessions that the API lists for a user.
func (h *harness) sessions(u account.User) string {
	h.Helper()
	a := h.must(200, "GET", fmt.Sprintf("/operator/v1/users/%d/sessions", u.ID), "")
	var list struct {
		Items []struct {
			ID, Browser, Client string
		}
	}
	a.Into(h, &list)
	var ids []string
	for _, s := range list.Items {
		if s.Browser != "Firefox on Linux" || s.Client != "192.0.2.7" || strings.Contains(a.Body, "key") {
			h.Errorf("listed is %s", a.Body)
		}
		ids = append(ids, s.ID)
	}
	return strings.Join(ids, " ")
}

// TestSessions: support lists and ends the sessions of a buyer, one or all; ids of other people's
// sessions are refused.
func TestSessions(t *testing.T) {
	h := newHarness(t)
	ann, bob := h.User("ann@example.com"), h.User("bob@example.com")
	first, second, other := h.Session(ann, "key 1"), h.Session(ann, "key 2"), h.Session(bob, "key 3")
	if got := h.sessions(ann); got != second+" "+first {
		t.Fatalf("listed are %q, want %s and %s", got, second, first)
	}
	path := fmt.Sprintf("/operator/v1/users/%d/sessions", ann.ID)
	if a := h.send(h.tokens[account.Support], "DELETE", path+"/"+other, ""); a.Status != 404 || a.Code() != "unknown_session" {
		t.Errorf("a session of somebody else: %d %s", a.Status, a.Body)
	}
	for _, want := range []int{204, 404} {
		if a := h.send(h.tokens[account.Support], "DELETE", path+"/"+first, ""); a.Status != want {
			t.Errorf("one: %d %s, want %d", a.Status, a.Body, want)
		}
	}
	if got := h.sessions(ann); got != second {
		t.Errorf("left are %q", got)
	}
	h.Session(ann, "key 4")
	if a := h.send(h.tokens[account.Support], "DELETE", path, ""); a.Status != 204 {
		t.Errorf("all: %d %s", a.Status, a.Body)
	}
	if got := h.sessions(ann) + "," + h.sessions(bob); got != ","+other {
		t.Errorf("left are %q", got)
	}
}

// wantSessionsForAdmin checks that the sessions of a user need the scope admin.
func (h *harness) wantSessionsForAdmin(u account.User, code string) {
	h.Helper()
	path := fmt.Sprintf("/operator/v1/users/%d/sessions", u.ID)
	for _, call := range [][2]string{{"GET", path}, {"DELETE", path + "/" + h.Session(u, "key")}, {"DELETE", path}} {
		if a := h.send(h.tokens[account.Support], call[0], call[1], ""); a.Status != 403 || a.Code() != code {
			h.Errorf("support, %s: %d %s", call, a.Status, a.Body)
		}
		if a := h.send(h.tokens[account.Admin], call[0], call[1], ""); a.Status >= 300 {
			h.Errorf("admin, %s: %d %s", call, a.Status, a.Body)
		}
	}
}

// TestLinkOfAnOperator: no token makes a sign-in link for an operator.
func TestLinkOfAnOperator(t *testing.T) {
	h := newHarness(t)
	u, _, err := h.operator.Accounts.Create(t.Context(), tester, account.Person{Email: "boss@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, tester, u.ID, account.RoleAdmin, h.clock.Now())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/operator/v1/users/%d/session", u.ID)
	for _, scope := range []account.Scope{account.Support, account.Admin} {
		if a := h.send(h.tokens[scope], "POST", path, ""); a.Status != 403 || a.Code() != "operator_account" {
			t.Errorf("%s: %d %s", scope, a.Status, a.Body)
		}
	}
	h.wantSessionsForAdmin(h.User(u.Email), "operator_account")
}

// TestLinkForMember: no token makes a sign-in link for a member of a partner, nor for someone
// invited to a team.
func TestLinkForMember(t *testing.T) {
	h := newHarness(t)
	member := h.must(201, "POST", "/operator/v1/users", `{"email":"mem@example.com"}`)
	buyer := h.must(201, "POST", "/operator/v1/users", `{"email":"buyer@example.com"}`)
	var m, b struct {
		ID int64 `json:"id"`
	}
	member.Into(t, &m)
	buyer.Into(t, &b)
	h.must(201, "POST", "/operator/v1/partners", `{"name":"Tide Planner","external_id":"tide"}`)
	h.must(201, "POST", "/operator/v1/partners/1/members", `{"email":"mem@example.com","role":"viewer"}`)
	link := func(scope account.Scope, id int64) answer {
		return h.send(h.tokens[scope], "POST", fmt.Sprintf("/operator/v1/users/%d/session", id), "")
	}
	for _, scope := range []account.Scope{account.Support, account.Admin} {
		if a := link(scope, m.ID); a.Status != 403 || a.Code() != "member_account" {
			t.Errorf("%s, a member: %d %s", scope, a.Status, a.Body)
		}
		if a := link(scope, b.ID); a.Status != 201 {
			t.Errorf("%s, a buyer: %d %s", scope, a.Status, a.Body)
		}
	}
	invited, err := h.Inviter.Invite(t.Context(), tester, 1, "Buyer@example.com", partner.Viewer)
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []account.Scope{account.Support, account.Admin} {
		if a := link(scope, b.ID); a.Status != 403 || a.Code() != "invited_account" {
			t.Errorf("%s, who is invited: %d %s", scope, a.Status, a.Body)
		}
	}
	if err := h.Inviter.Withdraw(t.Context(), tester, 1, invited.ID); err != nil {
		t.Fatal(err)
	}
	if a := link(account.Support, b.ID); a.Status != 201 {
		t.Errorf("who is no longer invited: %d %s", a.Status, a.Body)
	}
	h.wantSessionsForAdmin(h.User("mem@example.com"), "member_account")
}
