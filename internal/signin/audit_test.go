package signin_test

import (
	"testing"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/paging"
	"claviger/internal/visitor/pagetest"
)

// TestActsNameSessionAndClient checks that a person's acts are recorded with the session and the
// address of the client, and without their name.
func TestActsNameSessionAndClient(t *testing.T) {
	h := pagetest.New(t)
	id := h.AddUser(pagetest.Ann, pagetest.Password).ID
	b := h.NewBrowser()
	b.SignIn(pagetest.Ann, pagetest.Password)
	b.Post("/account/sign-out-everywhere").WantRedirect("/account")
	list, _, err := (&audit.Log{DB: h.DB}).List(t.Context(), audit.Filter{ActorKind: audit.ByUser}, paging.First())
	if err != nil || len(list) < 2 {
		t.Fatalf("the audit has %+v, %v", list, err)
	}
	for _, e := range list[:2] {
		if e.Actor.ID != id || e.Actor.Name != "" || e.Actor.Client != "192.0.2.1" {
			t.Errorf("%s is by %+v", e.Action, e.Actor)
		}
	}
	if out := list[0]; out.Action != "user.sign_out_everywhere" || len(out.Actor.Session) != 16 || out.Actor.Session == account.SessionID("") {
		t.Errorf("the newest entry is %+v", out)
	}
}

// TestDeletedLeavesNoClient checks that after users delete their own account, no entry has the
// address of the client, not even that of the deletion.
func TestDeletedLeavesNoClient(t *testing.T) {
	h := pagetest.New(t)
	id := h.AddUser(pagetest.Ann, pagetest.Password).ID
	b := h.NewBrowser()
	b.SignIn(pagetest.Ann, pagetest.Password)
	b.Post("/account/delete", "confirm", pagetest.Ann).WantRedirect("/goodbye")
	list, _, err := (&audit.Log{DB: h.DB}).List(t.Context(), audit.Filter{ActorKind: audit.ByUser, ActorID: id}, paging.First())
	if err != nil || len(list) < 2 || list[0].Action != "user.erase" {
		t.Fatalf("the audit has %+v, %v", list, err)
	}
	for _, e := range list {
		if e.Actor.Client != "" {
			t.Errorf("%s is by %+v", e.Action, e.Actor)
		}
	}
}
