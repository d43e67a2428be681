package license_test

import (
	"testing"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/license"
)

// TestEraseIsWhole: an erasure that one of its parts refuses erases nothing. Afterwards
// nothing of the person is left, and to repeat it does nothing.
func TestEraseIsWhole(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	p, other := h.partner(), h.partner()
	for _, id := range []int64{p, other, p} {
		h.buy(license.Purchase{PartnerID: id, Tier: 1, Buyer: new(person("ann"))})
	}
	ann := h.user("ann")
	herself := audit.Actor{Kind: audit.ByUser, ID: ann.ID, Name: "ann", Client: "192.0.2.1"}
	h.exec(`INSERT INTO members (partner_id, user_id, role, created_at) VALUES ($1, $2, 'admin', 1)`, p, ann.ID)
	h.exec(`INSERT INTO profiles (partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at, updated_at)
		VALUES ($1, '', 0, '', 0, 0, 1, 1)`, p)
	h.exec(`INSERT INTO contacts (partner_id, name, email, email_key, created_at, updated_at) VALUES ($1, 'Ann', $2, $2, 1, 1)`, p, ann.Email)
	h.exec(`INSERT INTO refund_requests (license_id, license_key, redemption_id, partner_id, user_id, state, reason, answer, failure,
			asked_at, decided_at, created_at, updated_at) VALUES (1, 'k', 'r', $1, $2, 3, 'too slow', 'she has used it', '', 0, 1, 1, 1)`, p, ann.ID)
	h.exec(`INSERT INTO invitations (partner_id, email, email_key, role, hash, invited_by, created_at, expires_at, ended_at)
		VALUES ($1, $2, $2, 'viewer', 'h', 1, 1, 1, 0)`, other, ann.Email)
	erases := func(by audit.Actor, userID int64) string {
		_, err := h.licenses.EraseUser(ctx, by, userID)
		return code(err)
	}
	const broken = "find contacts to erase"
	const left = `SELECT (SELECT count(*) FROM users WHERE email <> '')
		+ (SELECT count(*) FROM licenses WHERE NOT erased) + (SELECT count(*) FROM members) - (SELECT count(*) FROM audit_entries WHERE action = 'user.erase')`
	check := func(what, got, want string, rows int64) {
		t.Helper()
		if n := h.count(left); got != want || n != rows {
			t.Errorf("%s: %q and %d rows, want %q and %d", what, got, n, want, rows)
		}
	}
	check("nobody", erases(tester, 99), account.CodeUnknownUser, 5)
	check("the last admin of a partner", erases(herself, ann.ID), "last_admin", 5)
	h.exec(`INSERT INTO members (partner_id, user_id, role, created_at) VALUES ($1, 99, 'admin', 1)`, p)
	h.exec(`ALTER TABLE contacts RENAME TO kept`)
	check("where the address cannot be erased", erases(herself, ann.ID)[:len(broken)], broken, 6)
	h.exec(`ALTER TABLE kept RENAME TO contacts`)
	check("in the end", erases(herself, ann.ID), "", 0)
	check("again", erases(tester, ann.ID), "", 0)
	if n := h.count(`SELECT count(*) FROM contacts`); n != 0 {
		t.Errorf("%d contacts have her address", n)
	}
	if n := h.count(`SELECT count(*) FROM invitations WHERE email LIKE 'ann%' OR email_key LIKE 'ann%'`); n != 0 {
		t.Errorf("%d invitations have her address", n)
	}
	if n := h.count(`SELECT count(*) FROM refund_requests WHERE reason <> '' OR answer <> ''`); n != 0 {
		t.Errorf("%d refund requests have words of her or to her", n)
	}
	if n := h.count(`SELECT count(*) FROM audit_entries WHERE client <> ''`); n != 0 {
		t.Errorf("%d audit entries have the address of her client", n)
	}
	if list, err := h.licenses.Redeemable(ctx, ann.ID, p); err != nil || len(list) != 0 {
		t.Errorf("she can redeem %d licenses, %v", len(list), err)
	}
	h.verify()
}
