package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const deployed = "../../deploy"

// kinds are the types of our manifests, by version and kind.
var kinds = map[string]func() any{
	"v1 Namespace":                            func() any { return &core.Namespace{} },
	"v1 ConfigMap":                            func() any { return &core.ConfigMap{} },
	"v1 Secret":                               func() any { return &core.Secret{} },
	"v1 Service":                              func() any { return &core.Service{} },
	"apps/v1 Deployment":                      func() any { return &apps.Deployment{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1 Ingress":            func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"monitoring.coreos.com/v1 PodMonitor":     func() any { return &monitoring.PodMonitor{} },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
}

// decode decodes one manifest strictly: an unknown or doubled member is an error.
func decode(text []byte) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return err
	}
	made, ok := kinds[head.APIVersion+" "+head.Kind]
	if !ok {
		return &unknownKind{head.APIVersion + " " + head.Kind}
	}
	return yaml.UnmarshalStrict(text, made())
}

// unknownKind is the error for a kind that this test has no type for.
type unknownKind struct{ kind string }

func (e *unknownKind) Error() string { return "there is no type for " + e.kind }

// TestKubernetes: every manifest has only members that its type has, with the right types.
func TestKubernetes(t *testing.T) {
	files, err := filepath.Glob(deployed + "/kubernetes/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range strings.Split(string(text), "\n---\n") {
			if err := decode([]byte(doc)); err != nil {
				t.Errorf("%s, document %d: %v", file, i+1, err)
			}
		}
	}
}

// TestRules: the alerts are the spec of a PrometheusRule, as docs/deploy.md makes one.
func TestRules(t *testing.T) {
	text, err := os.ReadFile(deployed + "/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rule := "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: claviger, namespace: claviger}\nspec:\n  " +
		strings.ReplaceAll(string(text), "\n", "\n  ")
	if err := decode([]byte(rule)); err != nil {
		t.Error(err)
	}
}

// TestStrict: mistakes that a lenient decoder overlooks are found.
func TestStrict(t *testing.T) {
	for name, text := range map[string]string{
		"unknown member": "apiVersion: v1\nkind: Service\nspec: {selectors: {app: x}}",
		"wrong type":     "apiVersion: v1\nkind: Service\nspec: {ports: [{port: http}]}",
		"wrong place":    "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {readOnlyRootFilesystem: true}}}",
		"twice":          "apiVersion: v1\nkind: Service\nspec: {clusterIP: None, clusterIP: None}",
		"unknown kind":   "apiVersion: v1\nkind: Servise",
	} {
		if decode([]byte(text)) == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

// compose loads the compose file as docker compose does, with every profile.
func compose(t *testing.T, change func(string) string) (*types.Project, error) {
	t.Helper()
	file := deployed + "/compose/compose.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  filepath.Dir(file),
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: []byte(change(string(text)))}},
		Environment: types.Mapping{"SECRET_KEY": strings.Repeat("ab", 32), "POSTGRES_PASSWORD": "hush"},
	}, func(o *loader.Options) { o.Profiles = []string{"*"} })
}

// TestCompose: the file follows the schema of Compose, and its parts fit together.
func TestCompose(t *testing.T) {
	project, err := compose(t, func(s string) string { return s })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node1", "node2", "postgres", "caddy", "prometheus", "grafana"} {
		if _, err := project.GetService(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := compose(t, func(s string) string { return strings.Replace(s, "stop_grace_period", "stop_grace_time", 1) }); err == nil {
		t.Error("an unknown member was accepted")
	}
}
