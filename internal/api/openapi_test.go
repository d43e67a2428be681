package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	yaml "github.com/oasdiff/yaml3"
)

// updating reports whether -update was given; package wiretest declares it.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// TestDescription keeps openapi.json, which the product serves, equal to
// openapi.yaml, which people write.
func TestDescription(t *testing.T) {
	source, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := toJSON(source)
	if err != nil {
		t.Fatal(err)
	}
	if updating() {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := readDescription(t); !bytes.Equal(got, want) {
		t.Error("openapi.json is not made from openapi.yaml; run: go test ./internal/api -run TestDescription -update")
	}
}

// TestDescriptionIsValid checks the document by the rules of OpenAPI 3.1, its
// examples against their schemas included, and that it forgets nothing that a
// reader wants of every operation.
func TestDescriptionIsValid(t *testing.T) {
	doc := loadDescription(t)
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.Summary == "" || op.Description == "" || op.OperationID == "" || len(op.Tags) != 1 {
				t.Errorf("%s lacks a summary, a description, an id or its one tag", name)
			}
			for _, status := range []string{"405", "500"} {
				if op.Responses.Value(status) == nil {
					t.Errorf("%s does not describe %s", name, status)
				}
			}
			if op.Security == nil && (op.Responses.Value("401") == nil || op.Responses.Value("429") == nil) {
				t.Errorf("%s takes a key and does not describe 401 and 429", name)
			}
		}
	}
}

func readDescription(t testing.TB) []byte {
	t.Helper()
	source, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func loadDescription(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(readDescription(t))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestExamplesAreWritten compares a shown answer with what its description in
// prose promises: the first answer in the text is that of the list.
func TestExamplesAreWritten(t *testing.T) {
	doc := loadDescription(t)
	_, after, ok := strings.Cut(doc.Info.Description, "```json\n")
	shown, _, found := strings.Cut(after, "\n```")
	if !ok || !found {
		t.Fatal("the introduction shows no answer")
	}
	var got, want any
	if err := json.Unmarshal([]byte(shown), &got); err != nil {
		t.Fatal(err)
	}
	example := doc.Paths.Value("/v2/licenses").Get.Responses.Value("200").Value.Content["application/json"].Examples["page"].Value.Value
	want = map[string]any{"size": 1.0, "items": []any{example.(map[string]any)["items"].([]any)[1]}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer in the introduction is not that of the example (-want +got):\n%s", diff)
	}
}

// toJSON turns a YAML document into compact JSON, its members in their order and
// its aliases written out.
func toJSON(source []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(source, &doc); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := writeNode(&b, doc.Content[0]); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func writeNode(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.AliasNode:
		return writeNode(b, n.Alias)
	case yaml.MappingNode:
		return writeEach(b, '{', '}', n.Content, 2)
	case yaml.SequenceNode:
		return writeEach(b, '[', ']', n.Content, 1)
	case yaml.ScalarNode:
		return writeScalar(b, n)
	case yaml.DocumentNode:
	}
	return fmt.Errorf("line %d: a node of kind %d", n.Line, n.Kind)
}

// writeEach writes nodes between two brackets; in a mapping, every other one is
// the name of a member.
func writeEach(b *bytes.Buffer, open, end byte, nodes []*yaml.Node, step int) error {
	b.WriteByte(open)
	for i, n := range nodes {
		switch {
		case step == 2 && i%2 == 1:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		if err := writeNode(b, n); err != nil {
			return err
		}
	}
	b.WriteByte(end)
	return nil
}

func writeScalar(b *bytes.Buffer, n *yaml.Node) error {
	var v any
	if n.Tag == "!!timestamp" {
		return fmt.Errorf("line %d: quote the time %s", n.Line, n.Value)
	}
	if err := n.Decode(&v); err != nil {
		return err
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}
