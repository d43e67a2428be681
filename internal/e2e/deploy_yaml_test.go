package e2e_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	yaml "github.com/oasdiff/yaml3"
)

// document is a part of a YAML file.
type document = map[string]any

// at follows names and numbers into a document, and fails if there is nothing.
func at[T any](t *testing.T, doc any, path ...any) T {
	t.Helper()
	for i, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := doc.(document)
			doc = m[step]
		case int:
			list, _ := doc.([]any)
			if step >= len(list) {
				t.Fatalf("there is nothing at %v", path[:i+1])
			}
			doc = list[step]
		}
	}
	value, ok := doc.(T)
	if !ok {
		t.Fatalf("%v is %#v", path, doc)
	}
	return value
}

// yamlFile reads the documents of a file of deploy/.
func yamlFile(t *testing.T, name string) []document {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(deployFile(t, name)))
	var list []document
	for {
		var doc document
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, doc)
	}
}

// configCheck runs `config check` with only these variables.
func configCheck(t *testing.T, variables document) (string, error) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "config", "check")
	cmd.Dir, cmd.Env = t.TempDir(), []string{"TMPDIR=" + os.TempDir()}
	for name, value := range variables {
		text, ok := value.(string)
		if !ok {
			t.Errorf("%s is %#v, not a text", name, value)
		}
		cmd.Env = append(cmd.Env, name+"="+text)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestCompose: the parts of the compose file fit together, and the program accepts the
// settings of its nodes.
func TestCompose(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	file := yamlFile(t, "compose/compose.yaml")[0]
	checkComposeNode(t, file, "node1")
	checkComposeNode(t, file, "node2")
	for _, name := range []string{".gitignore", ".dockerignore"} {
		if !regexp.MustCompile(`(?m)^(\*\*/)?\.env$`).Match(readFile(t, "../../"+name)) {
			t.Errorf("%s does not have .env, which holds the secrets", name)
		}
	}
	mounted, _, _ := strings.Cut(at[string](t, file, "services", "caddy", "volumes", 0), ":")
	if _, err := os.Stat(deployed + "/compose/" + mounted); err != nil {
		t.Error(err)
	}
	for name, service := range at[document](t, file, "services") {
		for _, network := range at[[]any](t, service, "networks") {
			at[document](t, file, "networks", network)
		}
		if image := at[string](t, service, "image"); name != "node1" && name != "node2" && !strings.Contains(image, ":") {
			t.Errorf("%s has the image %s without a version", name, image)
		}
	}
}

// checkComposeNode checks one node: its settings, its ports, and its stop.
func checkComposeNode(t *testing.T, file document, name string) {
	t.Helper()
	given := map[string]string{"SECRET_KEY": strings.Repeat("ab", 32), "POSTGRES_PASSWORD": "hush"}
	substitute := regexp.MustCompile(`\$\{([A-Z_]+):([-?])([^}]*)\}`)
	nodes := at[string](t, file, "services", "caddy", "environment", "NODES")
	env := at[document](t, file, "services", name, "environment")
	for key, value := range env {
		env[key] = substitute.ReplaceAllStringFunc(value.(string), func(s string) string {
			m := substitute.FindStringSubmatch(s)
			if given[m[1]] == "" && m[2] == "-" {
				return m[3]
			}
			return given[m[1]]
		})
	}
	if out, err := configCheck(t, env); err != nil {
		t.Errorf("the settings of %s: %v\n%s", name, err, out)
	}
	if !strings.Contains(nodes, name+env["CLAVIGER_ADDR"].(string)) {
		t.Errorf("Caddy leads to %s, and %s listens on %s", nodes, name, env["CLAVIGER_ADDR"])
	}
	for _, network := range at[[]any](t, file, "services", name, "networks") {
		if network != "inside" && slices.Contains(at[[]any](t, file, "services", "caddy", "networks"), network) {
			t.Errorf("%s may see Caddy by its address in %s, which it does not trust", name, network)
		}
	}
	if at[string](t, file, "networks", "inside", "ipam", "config", 0, "subnet") != env["CLAVIGER_TRUSTED_PROXIES"] {
		t.Errorf("%s trusts %s, which is not the network that it shares with Caddy", name, env["CLAVIGER_TRUSTED_PROXIES"])
	}
	if mailer := env["CLAVIGER_SMTP_URL"]; mailer != "smtp://mail:1025?tls=none" {
		t.Errorf("%s mails by %s; the mail catcher offers no TLS", name, mailer)
	}
	stop, err := time.ParseDuration(at[string](t, file, "services", name, "stop_grace_period"))
	if err != nil || stop <= stopLimit(defaultDrain) {
		t.Errorf("%s has %v to stop (%v), and may take %v", name, stop, err, stopLimit(defaultDrain))
	}
	if _, err := os.Stat(deployed + "/compose/" + at[string](t, file, "services", name, "build", "context") + "/" + at[string](t, file, "services", name, "build", "dockerfile")); err != nil {
		t.Error(err)
	}
}

// TestKubernetes: the manifests fit together and with the program.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	kinds := make(map[string]document)
	for _, doc := range append(yamlFile(t, "kubernetes/claviger.yaml"), yamlFile(t, "kubernetes/secret.example.yaml")...) {
		kind := at[string](t, doc, "kind")
		kinds[kind] = doc
		if kind != "Namespace" && (at[string](t, doc, "metadata", "namespace") != "claviger" || at[string](t, doc, "metadata", "name") != "claviger") {
			t.Errorf("%s is not claviger in claviger", kind)
		}
	}
	env := at[document](t, kinds["ConfigMap"], "data")
	for name, value := range at[document](t, kinds["Secret"], "stringData") {
		env[name] = value
	}
	if out, err := configCheck(t, env); err == nil || !strings.Contains(out, "secret-key") {
		t.Errorf("the example of a secret key is not refused: %v\n%s", err, out)
	}
	env["CLAVIGER_SECRET_KEY"] = strings.Repeat("ab", 32)
	if out, err := configCheck(t, env); err != nil {
		t.Errorf("the settings: %v\n%s", err, out)
	}
	checkPod(t, kinds, env)
	if host := at[string](t, kinds["Ingress"], "spec", "rules", 0, "host"); "https://"+host != env["CLAVIGER_PUBLIC_URL"] {
		t.Errorf("the Ingress has the host %s, and the public URL is %s", host, env["CLAVIGER_PUBLIC_URL"])
	}
	replicas := at[int](t, kinds["Deployment"], "spec", "replicas")
	if keep := at[int](t, kinds["PodDisruptionBudget"], "spec", "minAvailable"); keep < 1 || keep >= replicas {
		t.Errorf("of %d replicas %d are to stay", replicas, keep)
	}
}

// checkPod checks the program, its service and its stop.
func checkPod(t *testing.T, kinds map[string]document, env document) {
	t.Helper()
	pod := at[document](t, kinds["Deployment"], "spec", "template", "spec")
	container := at[document](t, pod, "containers", 0)
	for _, selector := range []document{
		at[document](t, kinds["Service"], "spec", "selector"),
		at[document](t, kinds["PodDisruptionBudget"], "spec", "selector", "matchLabels"),
		at[document](t, kinds["Deployment"], "spec", "selector", "matchLabels"),
	} {
		if selector["app"] != at[string](t, kinds["Deployment"], "spec", "template", "metadata", "labels", "app") {
			t.Errorf("%v selects nothing", selector)
		}
	}
	if port := at[int](t, container, "ports", 0, "containerPort"); env["CLAVIGER_ADDR"] != ":"+strconv.Itoa(port) {
		t.Errorf("the port is %d, and the service listens on %s", port, env["CLAVIGER_ADDR"])
	}
	probed := []string{
		at[string](t, container, "startupProbe", "httpGet", "path"),
		at[string](t, container, "livenessProbe", "httpGet", "path"), at[string](t, container, "readinessProbe", "httpGet", "path"),
	}
	if !slices.Equal(probed, []string{"/livez", "/livez", "/readyz"}) {
		t.Errorf("the probes ask for %q", probed)
	}
	if at[bool](t, pod, "enableServiceLinks") || !at[bool](t, pod, "securityContext", "runAsNonRoot") || !at[bool](t, container, "securityContext", "readOnlyRootFilesystem") {
		t.Error("the pod is not confined")
	}
	user := strconv.Itoa(at[int](t, pod, "securityContext", "runAsUser"))
	if !strings.Contains(deployFile(t, "Dockerfile"), "USER "+user+":") {
		t.Errorf("the image has another user than %s", user)
	}
	grace := time.Duration(at[int](t, pod, "terminationGracePeriodSeconds")) * time.Second
	drain, err := time.ParseDuration(env["CLAVIGER_DRAIN_DELAY"].(string))
	if err != nil || grace <= stopLimit(drain) {
		t.Errorf("the pod has %v to stop (%v), and may take %v", grace, err, stopLimit(drain))
	}
}
