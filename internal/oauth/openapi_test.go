package oauth_test

import (
	"os"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"claviger/internal/oauth"
	"claviger/internal/wire/wiretest"
)

func TestDescription(t *testing.T) { wiretest.Description(t) }

// TestDescriptionIsValid checks the document and its examples by the rules of OpenAPI 3.1, and that
// every operation is fully described.
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
			name := method + " " + path
			if op.Summary == "" || op.Description == "" || op.OperationID == "" || len(op.Tags) != 1 {
				t.Errorf("%s lacks a summary, a description, an id or its one tag", name)
			}
			if op.Responses.Value("405") == nil || op.Responses.Value("500") == nil {
				t.Errorf("%s does not describe 405 and 500", name)
			}
		}
	}
}

func TestOperationsAreTheRoutes(t *testing.T) {
	var routes []string
	for _, rt := range (&oauth.Server{}).Routes() {
		routes = append(routes, rt.Method+" "+rt.Path)
	}
	slices.Sort(routes)
	if d := cmp.Diff(routes, wiretest.SharedContract(t, "openapi.json").Operations()); d != "" {
		t.Errorf("routes and document differ (-routes +document):\n%s", d)
	}
}
