package wiretest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Exports are lines of JSON, which the validator does not know: it sees them as text.
func init() {
	openapi3filter.RegisterBodyDecoder(
		"application/x-ndjson",
		func(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
			text, err := io.ReadAll(body)
			return string(text), err
		},
	)
}

// Contract is an OpenAPI document for checking exchanges.
type Contract struct {
	doc    *openapi3.T
	router routers.Router
	bodies *bodies
	base   string // path of the document's server

	mu   sync.Mutex
	seen map[string]bool
}

// LoadContract reads an OpenAPI document, YAML or JSON. It does not validate the document: its own
// package has a test for that, which takes longer than all checks against it.
func LoadContract(t testing.TB, document []byte) *Contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatalf("read the OpenAPI document: %v", err)
	}
	c := &Contract{doc: doc, seen: make(map[string]bool)}
	// The tests run on another host than the document names.
	if len(doc.Servers) > 0 {
		u, err := url.Parse(doc.Servers[0].URL)
		if err != nil {
			t.Fatalf("read the server URL: %v", err)
		}
		c.base = strings.TrimSuffix(u.Path, "/")
	}
	doc.Servers = nil
	if c.base != "" {
		doc.Servers = openapi3.Servers{{URL: c.base}}
	}
	if c.router, err = gorillamux.NewRouter(doc); err != nil {
		t.Fatalf("route by the OpenAPI document: %v", err)
	}
	if c.bodies, err = newBodies(document); err != nil {
		t.Fatalf("read the schemas of the OpenAPI document: %v", err)
	}
	if err := simplify(doc); err != nil {
		t.Fatalf("the OpenAPI document: %v", err)
	}
	doc.OpenAPI = "3.0.3" // openapi3filter checks the rest without compiling
	return c
}

// ReadContract is LoadContract of a file.
func ReadContract(t testing.TB, file string) *Contract {
	t.Helper()
	document, err := os.ReadFile(file) //nolint:gosec // the test names it
	if err != nil {
		t.Fatal(err)
	}
	return LoadContract(t, document)
}

// SharedContract is ReadContract once per test binary, because reading takes longer than most
// tests. Unseen then covers all of them.
func SharedContract(t testing.TB, file string) *Contract {
	t.Helper()
	document, err := os.ReadFile(file) //nolint:gosec // the test names it
	if err != nil {
		t.Fatal(err)
	}
	return Shared(t, document)
}

// Shared is LoadContract once per test binary and document.
func Shared(t testing.TB, document []byte) *Contract {
	t.Helper()
	sharedLock.Lock()
	defer sharedLock.Unlock()
	if shared[string(document)] == nil {
		shared[string(document)] = LoadContract(t, document)
	}
	return shared[string(document)]
}

var (
	sharedLock sync.Mutex
	shared     = map[string]*Contract{}
)

// Operations lists the described operations, as "GET /v2/licenses", sorted. Compare it with the
// routes of the API.
func (c *Contract) Operations() []string {
	var list []string
	for path, item := range c.doc.Paths.Map() {
		for method := range item.Operations() {
			list = append(list, method+" "+c.base+path)
		}
	}
	slices.Sort(list)
	return list
}

// Unseen lists the operations that no exchange has answered with 2xx.
func (c *Contract) Unseen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(c.Operations(), func(op string) bool { return c.seen[op] })
}

// Client returns a client that fails the test on every exchange that violates the document: an
// undescribed status, header or body, or an accepted request that the document refuses. It does not
// check refused requests, because tests send bad input on purpose. It follows no redirects, because
// the APIs never redirect.
func (c *Contract) Client(t testing.TB) *http.Client {
	return &http.Client{
		Transport:     &checker{t: t, contract: c},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// checker is the RoundTripper of Client.
type checker struct {
	t        testing.TB
	contract *Contract
}

// RoundTrip sends the request and checks the exchange.
func (k *checker) RoundTrip(r *http.Request) (*http.Response, error) {
	k.t.Helper()
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read the request body: %w", err)
		}
		_ = r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(got))
	if err := k.contract.check(r, sent, resp, got); err != nil {
		k.t.Errorf(
			"%s %s answered %d, against the OpenAPI document: %v\n%s",
			r.Method,
			r.URL.RequestURI(),
			resp.StatusCode,
			err,
			got,
		)
	}
	return resp, nil
}

// check checks one exchange against the document.
func (c *Contract) check(r *http.Request, sent []byte, resp *http.Response, got []byte) error {
	ctx := context.WithoutCancel(r.Context())
	input, err := c.find(r)
	switch {
	case errors.Is(err, routers.ErrMethodNotAllowed):
		return c.checkRefusal(resp, got, http.StatusMethodNotAllowed)
	case err != nil:
		return c.checkRefusal(resp, got, http.StatusNotFound)
	}
	if resp.StatusCode < 300 {
		c.mu.Lock()
		c.seen[input.Route.Method+" "+c.base+input.Route.Path] = true
		c.mu.Unlock()
		if err := c.checkRequest(ctx, input, sent); err != nil {
			return fmt.Errorf("the request was accepted, and should not have been: %w", err)
		}
	}
	return c.checkAnswer(ctx, input, resp, got)
}

func (c *Contract) checkRequest(ctx context.Context, input *openapi3filter.RequestValidationInput, sent []byte) error {
	contentType := input.Request.Header.Get("Content-Type")
	key := ""
	isJSON := false
	if body := input.Route.Operation.RequestBody; body != nil && len(sent) > 0 {
		key, isJSON = described(body.Value.Content, contentType)
	}
	wrong := mislabelled(contentType, sent)
	input.Request.Body = io.NopCloser(bytes.NewReader(sent))
	input.Options.ExcludeRequestBody = wrong || isJSON
	if err := openapi3filter.ValidateRequest(ctx, input); err != nil || wrong || !isJSON {
		return err
	}
	return c.bodies.check(
		sent,
		"paths",
		input.Route.Path,
		strings.ToLower(input.Route.Method),
		"requestBody",
		"content",
		key,
		"schema",
	)
}

func (c *Contract) checkAnswer(
	ctx context.Context,
	input *openapi3filter.RequestValidationInput,
	resp *http.Response,
	got []byte,
) error {
	answers := input.Route.Operation.Responses
	status := strconv.Itoa(resp.StatusCode)
	for _, wider := range []string{status[:1] + "XX", "default"} {
		if answers.Value(status) == nil {
			status = wider
		}
	}
	key := ""
	isJSON := false
	if answer := answers.Value(status); answer != nil && input.Request.Method != http.MethodHead &&
		resp.StatusCode != http.StatusNotModified {
		key, isJSON = described(answer.Value.Content, resp.Header.Get("Content-Type"))
	}
	input.Options.ExcludeResponseBody = isJSON
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: resp.StatusCode, Header: resp.Header, Options: input.Options,
	}
	if err := openapi3filter.ValidateResponse(ctx, answer.SetBodyBytes(got)); err != nil || !isJSON {
		return err
	}
	return c.bodies.check(
		got,
		"paths",
		input.Route.Path,
		strings.ToLower(input.Route.Method),
		"responses",
		status,
		"content",
		key,
		"schema",
	)
}

// find finds the operation of a request. A trailing slash makes no difference, and GET also
// describes HEAD.
func (c *Contract) find(r *http.Request) (*openapi3filter.RequestValidationInput, error) {
	probe := r.Clone(r.Context())
	if path := r.URL.EscapedPath(); path != "/" {
		probe.URL.Path, probe.URL.RawPath = strings.TrimSuffix(r.URL.Path, "/"), strings.TrimSuffix(path, "/")
	}
	if probe.Method == http.MethodHead {
		probe.Method = http.MethodGet
	}
	route, params, err := c.router.FindRoute(probe)
	if err != nil {
		return nil, err
	}
	probe.Method = r.Method
	return &openapi3filter.RequestValidationInput{
		Request: probe, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			MultiError:            true,
			SkipSettingDefaults:   true,
			AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
		},
	}, nil
}

// checkRefusal checks the answer to an undescribed request: its status, and its body by the
// document's error schema.
func (c *Contract) checkRefusal(resp *http.Response, got []byte, want int) error {
	if resp.StatusCode != want {
		return fmt.Errorf("the document does not describe this operation, so the status should be %d", want)
	}
	if want == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
		return errors.New("the header Allow is missing")
	}
	place := c.refusal(want)
	if resp.Request.Method == http.MethodHead || place == nil {
		return nil
	}
	return c.bodies.check(got, place...)
}

// refusal returns the place of the schema of refusals outside all operations: of the response
// MethodNotAllowed if it is one, else Error; nil if there is none.
func (c *Contract) refusal(status int) []string {
	parts := c.doc.Components
	if parts == nil {
		return nil
	}
	if r := parts.Responses["MethodNotAllowed"]; r != nil && status == http.StatusMethodNotAllowed {
		if media := r.Value.Content.Get("application/json"); media != nil {
			return []string{"components", "responses", "MethodNotAllowed", "content", "application/json", "schema"}
		}
	}
	if parts.Schemas["Error"] == nil {
		return nil
	}
	return []string{"components", "schemas", "Error"}
}

// mislabelled reports whether a body does not have its declared type. The APIs accept that, and a
// document cannot express it.
func mislabelled(contentType string, body []byte) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case len(body) == 0:
		return false
	case kind == "application/json":
		return !json.Valid(body)
	case kind == "application/x-www-form-urlencoded":
		return json.Valid(body)
	}
	return true
}
