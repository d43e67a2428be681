package portal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/profile"
)

// TestSetUpInterrupted: a check does not run forever after its node stops, whether the node could
// record that or not, and the URL is not saved.
func TestSetUpInterrupted(t *testing.T) {
	clock := &apptest.Clock{}
	h := start(t, clock.Set)
	app := h.server(h.tide)
	app.hold = make(chan struct{})
	defer close(app.hold)
	runs := &profile.Runs{Store: h.Profiles}
	may := func(context.Context) error { return nil }
	h.Must(runs.Start(t.Context(), apptest.Tester, h.tide.ID, profile.Webhook, app.url, may))
	<-app.seen
	stopped, stop := context.WithCancel(t.Context())
	stop()
	runs.Run(stopped)
	if got := h.as(viewer).Get(h.path("/setup")).Text(); !strings.Contains(got, "The check was interrupted") {
		t.Errorf("the page says %s", got)
	}
	if err := runs.Start(t.Context(), apptest.Tester, h.tide.ID, profile.Webhook, app.url, may); err == nil {
		t.Error("a node that stops begins a check")
	}
	h.Exec(`UPDATE url_checks SET state = 'running', started_at = $2 WHERE partner_id = $1`, h.tide.ID, h.Profiles.Now().Add(-time.Minute))
	last, err := runs.Last(t.Context(), h.tide.ID)
	if err != nil || last[profile.Webhook].State != profile.Interrupted {
		t.Errorf("after its time: %+v, %v", last, err)
	}
	if p, err := h.Profiles.Read(t.Context(), h.DB, h.tide.ID); err != nil || p.WebhookURL != "" {
		t.Errorf("the URL is %q, %v", p.WebhookURL, err)
	}
}
