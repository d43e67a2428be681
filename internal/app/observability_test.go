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

// notHere are metrics that the install of this test lacks, with the reasons.
var notHere = map[string]string{
	"claviger_backup_age_seconds":                   "there was no backup; TestBackupAge has one",
	"claviger_certificate_expiry_timestamp_seconds": "its URL is not https; TestCertificateFigure has one",
	"claviger_dispute_deadline_seconds":             "there is no dispute; TestDisputeFigures has one",
	"claviger_database_disk_free_bytes":             "on PostgreSQL; TestCertificateFigure has it on SQLite",
}

// TestAlertsAndDashboard: alerts and dashboard use existing metrics and labels.
func TestAlertsAndDashboard(t *testing.T) {
	metrics := scraped(t)
	ask := func(where, expr string) {
		for _, name := range metricName.FindAllString(expr, -1) {
			if notHere[name] == "" && !strings.Contains(metrics, "\n"+name+" ") && !strings.Contains(metrics, "\n"+name+"{") {
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

// ruleTests are the tests of the rules for promtool.
type ruleTests struct {
	Tests []struct {
		AlertRuleTest []struct {
			Alertname string
			ExpAlerts []any `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

// TestAlertsFire: each alert fires when it must and is silent when it must be, as the rules are
// evaluated by Prometheus. Without promtool the test is skipped; script/deploy-tools installs it.
func TestAlertsFire(t *testing.T) {
	const file = "testdata/alerts.test.yaml"
	tested := map[string][2]bool{}
	for _, test := range read[ruleTests](t, "../internal/app/"+file, yaml.Unmarshal).Tests {
		for _, r := range test.AlertRuleTest {
			seen := tested[r.Alertname]
			tested[r.Alertname] = [2]bool{seen[0] || len(r.ExpAlerts) > 0, seen[1] || len(r.ExpAlerts) == 0}
		}
	}
	for _, group := range read[rules](t, "alerts.yaml", yaml.Unmarshal).Groups {
		for _, r := range group.Rules {
			if tested[r.Alert] != [2]bool{true, true} {
				t.Errorf("%s: [fires, is silent] are tested: %v", r.Alert, tested[r.Alert])
			}
		}
	}
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on this machine; script/deploy-tools installs it")
	}
	if out, err := exec.CommandContext(t.Context(), tool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
