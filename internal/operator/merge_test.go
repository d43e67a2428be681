package operator_test

import (
	"fmt"
	"testing"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
)

type userAnswer struct {
	ID         int64  `json:"id"`
	Email      string `json:"email"`
	MergedInto int64  `json:"merged_into"`
	ErasedAt   string `json:"erased_at"`
}

// newUser makes a user by the API.
func (h *harness) newUser(email string) (u userAnswer) {
	h.Helper()
	h.must(201, "POST", "/operator/v1/users", fmt.Sprintf(`{"email":%q}`, email)).Into(h, &u)
	return u
}

// TestMergeUsers: everything goes to the other buyer, nothing is released, and the merge can be
// repeated.
func TestMergeUsers(t *testing.T) {
	h := newHarness(t)
	h.must(201, "POST", "/operator/v1/partners", `{"name":"Tide Planner","external_id":"tide"}`)
	ann, other := h.newUser("ann@example.com"), h.newUser("ann@other.example")
	var sold struct {
		Licenses struct {
			Items []struct {
				Key string `json:"license_key"`
			} `json:"items"`
		} `json:"licenses"`
	}
	h.must(201, "POST", "/operator/v1/purchases", `{"partner_id":1,"tier":1,"external_id":"o-1","amount_cents":5900,"currency":"USD","user":{"email":"ann@other.example"}}`).Into(t, &sold)
	key := sold.Licenses.Items[0].Key
	h.must(200, "POST", "/operator/v1/licenses/"+key+"/activate", "")
	events := h.must(200, "GET", "/operator/v1/licenses/"+key+"/events", "").Body
	path := fmt.Sprintf("/operator/v1/users/%d/merge", other.ID)
	into := fmt.Sprintf(`{"into":%d}`, ann.ID)
	for scope, token := range h.tokens {
		if a := h.send(token, "POST", path, into); scope != account.Admin && a.Status != 403 {
			t.Errorf("a token with the scope %s: %d", scope, a.Status)
		}
	}
	h.must(200, "POST", path, into)
	h.must(200, "POST", path, into)
	var left userAnswer
	h.must(200, "GET", fmt.Sprintf("/operator/v1/users/%d", other.ID), "").Into(t, &left)
	if left.MergedInto != ann.ID || left.Email != "" || left.ErasedAt == "" {
		t.Errorf("left of the user: %+v", left)
	}
	var l struct {
		Status string `json:"status"`
		Owner  int64  `json:"owner_id"`
	}
	h.must(200, "GET", "/operator/v1/licenses/"+key, "").Into(t, &l)
	if l.Status != "active" || l.Owner != ann.ID {
		t.Errorf("the license is %+v", l)
	}
	if now := h.must(200, "GET", "/operator/v1/licenses/"+key+"/events", "").Body; now != events {
		t.Errorf("the merge made events: %s", now)
	}
	sales, err := h.Licenses.FindSales(t.Context(), license.FindSales{Users: []int64{ann.ID}}, 0, 10)
	if err != nil || len(sales.Sales) != 1 {
		t.Errorf("purchases: %+v, %v", sales, err)
	}
}

// TestMergeRefusals: nobody is merged with themselves, and nobody who has more than licenses.
func TestMergeRefusals(t *testing.T) {
	h := newHarness(t)
	h.must(201, "POST", "/operator/v1/partners", `{"name":"Tide Planner","external_id":"tide"}`)
	ann, bob := h.newUser("ann@example.com"), h.newUser("bob@example.com")
	member, invited := h.newUser("member@example.com"), h.newUser("invited@example.com")
	h.must(201, "POST", "/operator/v1/partners/1/members", `{"email":"member@example.com","role":"viewer"}`)
	if _, err := h.Inviter.Invite(t.Context(), tester, 1, "invited@example.com", partner.Viewer); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Accounts.AddOperator(t.Context(), tester, "operator@example.com"); err != nil {
		t.Fatal(err)
	}
	operator := h.User("operator@example.com")
	merge := func(from, into int64) answer {
		return h.send(h.tokens[account.Admin], "POST", fmt.Sprintf("/operator/v1/users/%d/merge", from), fmt.Sprintf(`{"into":%d}`, into))
	}
	for name, c := range map[string]struct {
		from, into int64
		status     int
		code       string
	}{
		"with themselves":  {ann.ID, ann.ID, 422, "same_person"},
		"nobody":           {ann.ID, 9999, 404, "unknown_user"},
		"of nobody":        {9999, ann.ID, 404, "unknown_user"},
		"without a number": {ann.ID, 0, 422, "invalid_field"},
		"a member":         {member.ID, ann.ID, 409, "has_role"},
		"into a member":    {ann.ID, member.ID, 409, "has_role"},
		"who is invited":   {invited.ID, ann.ID, 409, "has_role"},
		"an operator":      {operator.ID, ann.ID, 409, "has_role"},
		"into an operator": {ann.ID, operator.ID, 409, "has_role"},
	} {
		if a := merge(c.from, c.into); a.Status != c.status || a.Code() != c.code {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	h.must(200, "DELETE", fmt.Sprintf("/operator/v1/users/%d", bob.ID), "")
	if a := merge(bob.ID, ann.ID); a.Status != 409 || a.Code() != "user_erased" {
		t.Errorf("an erased one: %d %s", a.Status, a.Body)
	}
}

// TestSetEmail: the new address is not proven, both addresses are told, and sessions end. So does the
// password, which is known to the person with the old address.
func TestSetEmail(t *testing.T) {
	h := newHarness(t)
	h.Accounts.Mail.Off = nil // there is no mail server, and the test reads the queue
	ann, bob := h.newUser("ann@example.com"), h.newUser("bob@example.com")
	path := fmt.Sprintf("/operator/v1/users/%d", ann.ID)
	const password = "correct horse battery"
	h.SetPassword(ann.ID, password)
	before, err := h.Accounts.SignIn(t.Context(), "ann@example.com", password, account.Client{})
	if err != nil {
		t.Fatal(err)
	}
	h.must(422, "PATCH", path, `{"email":"nobody"}`)
	if a := h.send(h.tokens[account.Support], "PATCH", path, `{"email":"new@example.com"}`); a.Status != 403 {
		t.Errorf("a token with the scope support: %d", a.Status)
	}
	if a := h.send(h.tokens[account.Admin], "PATCH", path, `{"email":"BOB@example.com"}`); a.Status != 409 || a.Code() != "user_conflict" {
		t.Errorf("an address of somebody else: %d %s", a.Status, a.Body)
	}
	var u userAnswer
	h.must(200, "PATCH", path, `{"email":"new@example.com"}`).Into(t, &u)
	now, err := h.Accounts.Get(t.Context(), ann.ID)
	if err != nil || u.Email != "new@example.com" || !now.ProvenAt.IsZero() || now.SessionEpoch <= before.SessionEpoch {
		t.Errorf("%+v, stored %+v, %v", u, now, err)
	}
	if _, err := h.Accounts.SignIn(t.Context(), "new@example.com", password, account.Client{}); !fault.Is(err, account.CodeInvalidCredentials) {
		t.Errorf("the old password with the new address: %v", err)
	}
	mails, err := h.Mail.Recent(t.Context(), h.DB, 10)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, m := range mails {
		told[m.To] = true
	}
	if !told["new@example.com"] || !told["ann@example.com"] {
		t.Errorf("told: %v", told)
	}
	h.must(201, "POST", "/operator/v1/partners", `{"name":"Tide Planner","external_id":"tide"}`)
	h.must(201, "POST", "/operator/v1/partners/1/members", `{"email":"bob@example.com","role":"viewer"}`)
	if a := h.send(h.tokens[account.Admin], "PATCH", fmt.Sprintf("/operator/v1/users/%d", bob.ID), `{"email":"b@example.com"}`); a.Status != 409 || a.Code() != "has_role" {
		t.Errorf("a member: %d %s", a.Status, a.Body)
	}
}
