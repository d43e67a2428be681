package operator_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	yaml "github.com/oasdiff/yaml3"
)

// updating says whether the test was started with -update, which package
// wiretest defines.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// TestDescription keeps openapi.json, which the product serves, equal to
// openapi.yaml, which people write.
func TestDescription(t *testing.T) {
	source, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(source, &doc); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := writeJSON(&want, doc.Content[0]); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	if updating() {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("openapi.json is not made from openapi.yaml; run: go test ./internal/operator -run TestDescription -update")
	}
}

// writeJSON writes a YAML node as compact JSON: members in their order, aliases
// written out.
func writeJSON(b *bytes.Buffer, n *yaml.Node) error {
	open, end := byte('['), byte(']')
	switch n.Kind {
	case yaml.AliasNode:
		return writeJSON(b, n.Alias)
	case yaml.ScalarNode:
		var v any
		if err := n.Decode(&v); err != nil {
			return err
		}
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		err := enc.Encode(v)
		b.Truncate(b.Len() - 1)
		return err
	case yaml.MappingNode:
		open, end = '{', '}'
	case yaml.SequenceNode:
	case yaml.DocumentNode:
		return fmt.Errorf("line %d: a document inside the document", n.Line)
	}
	b.WriteByte(open)
	for i, child := range n.Content {
		switch {
		case open == '{' && i%2 == 1:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		if err := writeJSON(b, child); err != nil {
			return err
		}
	}
	b.WriteByte(end)
	return nil
}

// TestDescriptionIsValid checks the document by the rules of OpenAPI 3.1, its
// examples against their schemas included, and that no operation lacks what a
// reader wants of each.
func TestDescriptionIsValid(t *testing.T) {
	source, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Summary == "" || op.Description == "" || op.OperationID == "" || len(op.Tags) != 1 {
				t.Errorf("%s %s lacks a summary, a description, an id or its one tag", method, path)
			}
			if op.Security == nil && (op.Responses.Value("401") == nil || op.Responses.Value("403") == nil) {
				t.Errorf("%s %s takes a token and does not describe 401 and 403", method, path)
			}
			if op.RequestBody != nil && (op.Responses.Value("400") == nil || op.Responses.Value("413") == nil || op.Responses.Value("415") == nil) {
				t.Errorf("%s %s takes a body and does not describe 400, 413 and 415", method, path)
			}
		}
	}
}

// TestRoutesArePaths holds the table of routes and the description to one
// another.
func TestRoutesArePaths(t *testing.T) {
	h := build(t)
	var routes []string
	for _, r := range h.door.Routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	slices.Sort(routes)
	if diff := cmp.Diff(h.contract.Operations(), routes); diff != "" {
		t.Errorf("the routes are not the paths of openapi.yaml (-paths +routes):\n%s", diff)
	}
}

// TestDescriptionIsServed reads the description as anybody may.
func TestDescriptionIsServed(t *testing.T) {
	h := build(t)
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/operator/v1/openapi.json", "/operator/v1/openapi.json/"} {
		got := h.send("", "GET", path, "")
		if got.Status != 200 || got.Body != string(want) {
			t.Errorf("%s answered %d and %d bytes, want 200 and %d", path, got.Status, len(got.Body), len(want))
		}
	}
}
