package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "github.com/oasdiff/yaml3"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// scraped returns the metrics of an install with some activity.
func scraped(t *testing.T) string {
	t.Helper()
	application := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(application.Close)
	h := apptest.Start(t, func(c *app.Config) { c.AdminAddr = "127.0.0.1:0" })
	p, _ := h.Partner("App", profile.URLs{Webhook: application.URL})
	h.Plans(p.ID, 1, partner.Plan{})
	h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: "ann@example.com"}})
	h.Logged.Attempts().Next(t)
	apptest.Send(t, http.DefaultClient, http.MethodGet, "http://"+h.App.Addr()+"/openid/jwks", "")
	// These metrics exist once their job has run.
	late := []string{"\nclaviger_job_last_success_timestamp_seconds{", "\nclaviger_webhook_deliveries{"}
	for {
		metrics := apptest.Send(t, http.DefaultClient, http.MethodGet, "http://"+h.App.AdminAddr()+"/metrics", "").Body
		missing := func(name string) bool { return !strings.Contains(metrics, name) }
		if !slices.ContainsFunc(late, missing) {
			return metrics
		}
	}
}

// rules is the file of alerts.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Expr        string
			For         string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

// dashboard is the decoded part of the dashboard.
type dashboard struct {
	Panels []struct {
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

var (
	metricName = regexp.MustCompile(`\b(claviger|process)_[a-z_]+`)
	selector   = regexp.MustCompile(`\b((?:claviger)_[a-z_]+)\{([a-z]+)="([^"]+)"\}`)
)

// TestLabels: no metric has a label that Prometheus sets itself at each scrape.
func TestLabels(t *testing.T) {
	metrics := scraped(t)
	if m := regexp.MustCompile(`(?m)^\w+\{(?:[^}]*,)?(?:job|instance)="[^}]*\}`).FindString(metrics); m != "" {
		t.Errorf("Prometheus overwrites a label of %s", m)
	}
	if want := `claviger_job_failing{task="`; !strings.Contains(metrics, want) {
		t.Errorf("there is no %s", want)
	}
}

// TestAlertsAndDashboard: alerts and dashboard use existing metrics and labels.
func TestAlertsAndDashboard(t *testing.T) {
	metrics := scraped(t)
	ask := func(where, expr string) {
		for _, name := range metricName.FindAllString(expr, -1) {
			if !strings.Contains(metrics, "\n"+name+" ") && !strings.Contains(metrics, "\n"+name+"{") {
				t.Errorf("%s asks for %s, which there is not", where, name)
			}
		}
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			// No request fails in this test.
			if !strings.Contains(metrics, fmt.Sprintf(`%s="%s"`, s[2], s[3])) && s[3] != "5xx" {
				t.Errorf("%s asks for %s, which there is not", where, s[0])
			}
		}
	}
	for _, group := range read[rules](t, "alerts.yaml", yaml.Unmarshal).Groups {
		for _, r := range group.Rules {
			ask(r.Alert, r.Expr)
			if r.For == "" || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) || r.Annotations["summary"] == "" ||
				r.Annotations["description"] == "" || r.Annotations["runbook"] != "docs/runbooks.md#"+strings.ToLower(r.Alert) {
				t.Errorf("%s lacks something: %+v", r.Alert, r)
			}
		}
	}
	places := map[string]string{}
	for _, p := range read[dashboard](t, "dashboard.json", json.Unmarshal).Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			ask(p.Title, target.Expr)
		}
		at := fmt.Sprint(p.GridPos)
		if other := places[at]; other != "" {
			t.Errorf("the panels %s and %s are at the same place", other, p.Title)
		}
		places[at] = p.Title
	}
}

func read[T any](t *testing.T, file string, unmarshal func([]byte, any) error) (v T) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/" + file)
	if err == nil {
		err = unmarshal(text, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// TestAlertsAreRules: Prometheus accepts the rules; skipped if its tool is not installed.
func TestAlertsAreRules(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", "../../deploy/alerts.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
