package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/app"
)

// scrapeJob returns the only scrape job of a configuration of Prometheus. The alerts expect its
// name.
func scrapeJob(t *testing.T, name string) document {
	t.Helper()
	jobs := at[[]any](t, yamlFile(t, name)[0], "scrape_configs")
	if len(jobs) != 1 || at[string](t, jobs[0], "job_name") != "claviger" {
		t.Fatalf("%s has the jobs %v", name, jobs)
	}
	return at[document](t, jobs[0])
}

// TestPrometheusConfigs: Prometheus accepts each configuration with the alerts beside it.
func TestPrometheusConfigs(t *testing.T) {
	t.Parallel()
	promtool := deployTool(t, "promtool")
	for _, name := range []string{"prometheus.yml", "compose.yml", "kubernetes.yml"} {
		dir := t.TempDir()
		copied := map[string]string{name: "prometheus/" + name, "alerts.yaml": "alerts.yaml"}
		for to, from := range copied {
			if err := os.WriteFile(filepath.Join(dir, to), []byte(deployFile(t, from)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.CommandContext(t.Context(), promtool, "check", "config", filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestScrapeOfMachine: the configuration for one machine asks the default admin address.
func TestScrapeOfMachine(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	job := scrapeJob(t, "prometheus/prometheus.yml")
	want := app.Defaults(app.Serve).AdminAddr
	if got := at[string](t, job, "static_configs", 0, "targets", 0); got != want {
		t.Errorf("it asks %s, and the metrics are at %s", got, want)
	}
}

// TestScrapeOfCompose: Prometheus asks each node of the compose file, in a network that both have,
// and every mounted file exists.
func TestScrapeOfCompose(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	file := yamlFile(t, "compose/compose.yaml")[0]
	targets := at[[]any](t, scrapeJob(t, "prometheus/compose.yml"), "static_configs", 0, "targets")
	asked := at[[]any](t, file, "services", "prometheus", "networks")
	for _, name := range []string{"node1", "node2"} {
		node := at[document](t, file, "services", name)
		if target := name + at[string](t, node, "environment", "CLAVIGER_ADMIN_ADDR"); !slices.Contains(targets, any(target)) {
			t.Errorf("Prometheus asks %v, and not %s", targets, target)
		}
		networks := at[[]any](t, node, "networks")
		if !slices.ContainsFunc(networks, func(n any) bool { return slices.Contains(asked, n) }) {
			t.Errorf("Prometheus has no network with %s", name)
		}
		if _, published := node["ports"]; published {
			t.Errorf("%s publishes ports, and so its metrics", name)
		}
	}
	for name, service := range at[document](t, file, "services") {
		volumes, _ := service.(document)["volumes"].([]any)
		for i := range volumes {
			from, _, _ := strings.Cut(at[string](t, volumes, i), ":")
			if _, err := os.Stat(filepath.Join(deployed, "compose", from)); strings.HasPrefix(from, "..") && err != nil {
				t.Errorf("%s mounts a file that does not exist: %v", name, err)
			}
		}
	}
}

// TestScrapeOfKubernetes: the admin port has one name and number in all manifests, and the policy
// lets only the proxy and Prometheus in.
func TestScrapeOfKubernetes(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	kinds := make(map[string]document)
	for _, doc := range yamlFile(t, "kubernetes/claviger.yaml") {
		kinds[at[string](t, doc, "kind")] = doc
	}
	port := at[document](t, kinds["Deployment"], "spec", "template", "spec", "containers", 0, "ports", 1)
	name, number := at[string](t, port, "name"), at[int](t, port, "containerPort")
	if got := at[string](t, kinds["ConfigMap"], "data", "CLAVIGER_ADMIN_ADDR"); got != ":"+strconv.Itoa(number) {
		t.Errorf("the port %s is %d, and the metrics are at %s", name, number, got)
	}
	policy := at[document](t, kinds["NetworkPolicy"], "spec")
	if at[string](t, policy, "podSelector", "matchLabels", "app") != "claviger" {
		t.Errorf("the policy is for %v", policy["podSelector"])
	}
	var open []string
	for i := range at[[]any](t, policy, "ingress") {
		at[document](t, policy, "ingress", i, "from", 0, "namespaceSelector", "matchLabels")
		open = append(open, at[string](t, policy, "ingress", i, "ports", 0, "port"))
	}
	if !slices.Equal(open, []string{"http", name}) {
		t.Errorf("the policy opens %q", open)
	}
	service := yamlFile(t, "kubernetes/metrics.yaml")[0]
	if at[string](t, service, "spec", "ports", 0, "targetPort") != name || at[string](t, service, "spec", "clusterIP") != "None" {
		t.Errorf("the Service of the metrics is %v", service["spec"])
	}
	found := at[document](t, scrapeJob(t, "prometheus/kubernetes.yml"), "dns_sd_configs", 0)
	host := at[string](t, service, "metadata", "name") + "." + at[string](t, service, "metadata", "namespace") + ".svc"
	if at[string](t, found, "names", 0) != host || at[int](t, found, "port") != number {
		t.Errorf("Prometheus asks %v, and the pods are at %s:%d", found, host, number)
	}
	monitor := at[document](t, yamlFile(t, "kubernetes/podmonitor.yaml")[0], "spec")
	if at[string](t, monitor, "podMetricsEndpoints", 0, "port") != name ||
		at[string](t, monitor, "selector", "matchLabels", "app") != "claviger" || at[string](t, monitor, "jobLabel") != "app" {
		t.Errorf("the PodMonitor is %v", monitor)
	}
}
