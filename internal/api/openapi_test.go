package api_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"claviger/internal/wire/wiretest"
)

func TestDescription(t *testing.T) { wiretest.Description(t) }

// TestDescriptionIsValid checks the document by the rules of OpenAPI 3.1, including its examples
// against their schemas, and that every operation is fully documented.
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

// TestExamplesAreWritten compares the first answer shown in the prose with the example of the list.
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
