package operator_test

import (
	"os"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"claviger/internal/wire/wiretest"
)

func TestDescription(t *testing.T) { wiretest.Description(t) }

// TestDescriptionIsValid checks the document by the rules of OpenAPI 3.1, including its examples
// against their schemas, and that every operation is fully documented.
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

// TestRoutesArePaths compares the table of routes with the description.
func TestRoutesArePaths(t *testing.T) {
	h := newHarness(t)
	var routes []string
	for _, r := range h.operator.Routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	slices.Sort(routes)
	if diff := cmp.Diff(h.contract.Operations(), routes); diff != "" {
		t.Errorf("the routes are not the paths of openapi.yaml (-paths +routes):\n%s", diff)
	}
}

// TestDescriptionIsServed reads the description without a token.
func TestDescriptionIsServed(t *testing.T) {
	h := newHarness(t)
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
