package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"claviger/internal/app"
	"claviger/internal/apptest"
)

// TestDisputeFigures: disputes without evidence are counted, with the time until the nearest
// deadline.
func TestDisputeFigures(t *testing.T) {
	noon := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	h := apptest.Start(t, func(c *app.Config) {
		c.AdminAddr = "127.0.0.1:0"
		c.Now = func() time.Time { return noon }
	})
	figures := func() string {
		metrics := apptest.Send(t, http.DefaultClient, http.MethodGet, "http://"+h.App.AdminAddr()+"/metrics", "").Body
		return strings.Join(regexp.MustCompile(`(?m)^claviger_dispute.*$`).FindAllString(metrics, -1), "; ")
	}
	if got := figures(); got != "claviger_disputes_unanswered 0" {
		t.Errorf("without a dispute: %q", got)
	}
	for id, due := range map[string]time.Duration{"dp_1": time.Hour, "dp_2": 2 * time.Hour, "dp_3": -time.Hour} {
		h.Exec(`INSERT INTO payment_disputes (provider_id, checkout_id, amount, currency, status, held, created_at, updated_at, next_at, due_by)
			VALUES ($1, 0, 4900, 'USD', 'needs_response', $2, $3, $3, 0, $4)`, id, false, noon, noon.Add(due))
	}
	if got := figures(); got != "claviger_dispute_deadline_seconds 3600; claviger_disputes_unanswered 3" {
		t.Errorf("with three disputes: %q", got)
	}
	h.Exec(`UPDATE payment_disputes SET submissions = 1 WHERE provider_id = 'dp_1'`)
	if got := figures(); got != "claviger_dispute_deadline_seconds 7200; claviger_disputes_unanswered 2" {
		t.Errorf("with evidence for one: %q", got)
	}
}
