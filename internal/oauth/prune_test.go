package oauth_test

import (
	"testing"
	"time"

	"claviger/internal/oauth"
	"claviger/internal/prune"
)

// TestForget: expired rows are deleted, and errors for late uses still name the cause.
func TestForget(t *testing.T) {
	h := newEndpoints(t)
	forget := func(want int64) {
		t.Helper()
		answers, err := prune.Rows(t.Context(), h.DB, h.clock.Now(), oauth.ExpiringAnswers())
		h.Must(err)
		n, err := prune.Rows(t.Context(), h.DB, h.clock.Now(), oauth.Expiring())
		h.Must(err)
		if n += answers; n != want {
			t.Errorf("forgot %d rows, want %d", n, want)
		}
	}
	l, held := h.connect()
	unused := h.code(l)
	next := h.tokens(h.post(h.refreshOf(held.Refresh)))
	h.clock.Advance(30 * time.Second)
	forget(0)
	h.clock.Advance(time.Millisecond)
	forget(1) // the stored answer
	if n := h.Count(`SELECT count(*) FROM oauth_answers`); n != 0 {
		t.Errorf("%d answers are kept", n)
	}
	h.clock.Advance(time.Hour)
	forget(2) // both access tokens
	h.refused(h.post(h.exchangeOf(unused)), 400, "invalid_grant", "expired")
	next = h.tokens(h.post(h.refreshOf(next.Refresh)))
	h.clock.Advance(29 * 24 * time.Hour)
	next = h.tokens(h.post(h.refreshOf(next.Refresh)))
	h.clock.Advance(2 * 24 * time.Hour)
	// Two answers, two access tokens, three used refresh tokens, and the unused code. The grant of
	// the valid token stays.
	forget(8)
	if n := h.Count(`SELECT count(*) FROM oauth_grants`); n != 1 {
		t.Errorf("%d grants are left, want 1", n)
	}
	h.tokens(h.post(h.refreshOf(next.Refresh)))
	h.clock.Advance(31 * 24 * time.Hour)
	forget(5) // an answer, the last three tokens, and their grant
	if n := h.Count(`SELECT count(*) FROM oauth_grants`) + h.Count(`SELECT count(*) FROM oauth_tokens`) + h.Count(`SELECT count(*) FROM oauth_answers`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	forget(0)
}

// TestForgetManyGrants: more than one batch, between grants that stay.
func TestForgetManyGrants(t *testing.T) {
	h := newEndpoints(t)
	h.connect()
	h.Exec(`INSERT INTO oauth_grants (code_hash, partner_id, license_id, user_id, license_epoch, redirect_url, redirect_epoch,
			challenge, nonce, scope, auth_time, created_at, expires_at, used_at, burned, revoked_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
		SELECT 'c' || i, 1, 1, 1, 0, '', 0, '', '', '', 0, $1, 0, 0, '', 0 FROM n`, noon.Add(-32*24*time.Hour))
	n, err := prune.Rows(t.Context(), h.DB, h.clock.Now(), oauth.Expiring())
	h.Must(err)
	if n != 2500 || h.Count(`SELECT count(*) FROM oauth_grants`) != 1 {
		t.Errorf("forgot %d grants, want all but the live one", n)
	}
}
