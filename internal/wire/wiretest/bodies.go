package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documentURL is the URL of the document that the compiler requires.
const documentURL = "https://claviger.invalid/openapi.json"

// bodies checks JSON bodies against the schemas of a document. It compiles each schema once:
// openapi3filter does that for every body, which took half of the time of the API's tests.
type bodies struct {
	document any

	mu       sync.Mutex
	compiler *jsonschema.Compiler          // guarded by mu
	compiled map[string]*jsonschema.Schema // by pointer; guarded by mu
}

// newBodies reads a document, YAML or JSON.
func newBodies(document []byte) (*bodies, error) {
	if !json.Valid(document) {
		var err error
		if document, err = toJSON(document); err != nil {
			return nil, err
		}
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: func(v any) error {
		if n, ok := v.(json.Number); ok {
			_, err := n.Int64()
			return err
		}
		return nil
	}})
	for _, name := range []string{"email", "uri"} { // "" means none
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := compiler.AddResource(documentURL, read); err != nil {
		return nil, err
	}
	return &bodies{document: read, compiler: compiler, compiled: make(map[string]*jsonschema.Schema)}, nil
}

// check checks a body against the schema at a place of the document.
func (b *bodies) check(body []byte, place ...string) error {
	schema, err := b.schema(place)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("decode the body: %w", err)
	}
	return schema.Validate(v)
}

// schema returns the compiled schema at a place, from the cache if possible.
func (b *bodies) schema(place []string) (*jsonschema.Schema, error) {
	pointer, err := b.pointer(place)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.compiled[pointer] == nil {
		schema, err := b.compiler.Compile(documentURL + pointer)
		if err != nil {
			return nil, err
		}
		b.compiled[pointer] = schema
	}
	return b.compiled[pointer], nil
}

// pointer returns the fragment of a place, following references.
func (b *bodies) pointer(place []string) (string, error) {
	at := b.document
	pointer := "#"
	for len(place) > 0 {
		object, ok := at.(map[string]any)
		if !ok {
			return "", fmt.Errorf("%s is no object in the document", pointer)
		}
		if ref, ok := object["$ref"].(string); ok {
			target, ok := strings.CutPrefix(ref, "#/")
			if !ok {
				return "", fmt.Errorf("the reference %s leaves the document", ref)
			}
			way := strings.Split(target, "/")
			for i := range way {
				way[i] = unescape.Replace(way[i])
			}
			place = append(way, place...)
			at = b.document
			pointer = "#"
			continue
		}
		if at, ok = object[place[0]]; !ok {
			return "", fmt.Errorf("%s has no %s in the document", pointer, place[0])
		}
		pointer += "/" + escape.Replace(place[0])
		place = place[1:]
	}
	return pointer, nil
}

// Escapes of names in JSON pointers in URL fragments.
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// described returns the key of the content that describes a body of this type, if it is JSON and
// has a schema.
func described(content openapi3.Content, contentType string) (string, bool) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" {
		return "", false
	}
	media := content.Get(contentType)
	for key, m := range content {
		if m == media {
			return key, m.Schema != nil
		}
	}
	return "", false
}

// simplify turns each const in schemas of parameters, headers and non-JSON bodies into an enum of
// one value. openapi3filter checks these as OpenAPI 3.0, without compiling. Schemas that 3.0 cannot
// express are refused.
func simplify(doc *openapi3.T) error {
	var all []error
	simple := func(ref *openapi3.SchemaRef) {
		if ref == nil {
			return
		}
		all = append(all, ref.WalkSubtree(func(_ string, ref *openapi3.SchemaRef) error {
			s := ref.Value
			if s.Const != nil {
				s.Enum = []any{s.Const}
				s.Const = nil
			}
			if s.If != nil || len(s.PrefixItems) > 0 || len(s.PatternProperties) > 0 || s.PropertyNames != nil ||
				s.Contains != nil ||
				s.UnevaluatedProperties.Has != nil || s.UnevaluatedItems.Has != nil || len(s.DependentRequired) > 0 ||
				len(s.DependentSchemas) > 0 {
				return errors.New("a parameter, header or form has a schema that only bodies of JSON may have")
			}
			return nil
		}))
	}
	content := func(c openapi3.Content) {
		for kind, media := range c {
			if _, ok := described(c, kind); !ok {
				simple(media.Schema)
			}
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, p := range append(append(openapi3.Parameters{}, item.Parameters...), op.Parameters...) {
				simple(p.Value.Schema)
			}
			if op.RequestBody != nil {
				content(op.RequestBody.Value.Content)
			}
			for _, r := range op.Responses.Map() {
				for _, h := range r.Value.Headers {
					simple(h.Value.Schema)
				}
				content(r.Value.Content)
			}
		}
	}
	return errors.Join(all...)
}
