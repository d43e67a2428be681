package wiretest_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/wire"
	"claviger/internal/wire/wiretest"
)

// board is a small service for conversations.
type board struct{ made int }

type note struct {
	ID        string    `json:"id"`
	Text      string    `json:"text"`
	CreatedAt wire.Time `json:"created_at"`
}

func (b *board) add(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Text string `json:"text"`
	}
	if _, err := (wire.Decoder{}).Decode(w, r, &in); err != nil {
		return err
	}
	if in.Text == "" {
		return fault.New(fault.Invalid, "empty", "The note at %s is empty.", "http://"+r.Host)
	}
	b.made++
	w.Header().Set("X-Secret", strings.Repeat("0a", 32))
	return wire.JSON(w, http.StatusCreated, note{
		ID:   fmt.Sprintf("00000000-0000-4000-8000-%012d", time.Now().UnixNano()%1e9*1000+int64(b.made)),
		Text: in.Text, CreatedAt: wire.Time(time.Now()),
	})
}

func (b *board) list(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("X-Total-Count", "0")
	return wire.JSON(w, http.StatusOK, wire.List[note](nil))
}

func (b *board) remove(w http.ResponseWriter, r *http.Request) error {
	return wire.Text(w, http.StatusOK, "Removed "+r.PathValue("id"))
}

func (b *board) routes() []wire.Route {
	return []wire.Route{
		wire.Public("GET", "/v1/notes", b.list),
		wire.Public("POST", "/v1/notes", b.add),
		wire.Public("DELETE", "/v1/notes/{id}", b.remove),
	}
}

func contract(t *testing.T) *wiretest.Contract {
	t.Helper()
	document, err := os.ReadFile("testdata/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return wiretest.LoadContract(t, document)
}

func TestConversations(t *testing.T) {
	c := contract(t)
	wiretest.Run(t, "testdata/*.txtar", func(t *testing.T) wiretest.Stage {
		return wiretest.Stage{
			Client:  c.Client(t),
			URL:     wiretest.Serve(t, wire.NewMux((&board{}).routes()...)),
			Vars:    map[string]string{"who": "Anna of the meadows", "n": "1"},
			Headers: []string{"X-Secret"},
		}
	})
	if left := c.Unseen(); len(left) > 0 {
		t.Errorf("no conversation shows %v", left)
	}
}

func TestOperationsAreTheRoutes(t *testing.T) {
	var routes []string
	for _, rt := range (&board{}).routes() {
		routes = append(routes, rt.Method+" "+rt.Path)
	}
	slices.Sort(routes)
	if d := cmp.Diff(routes, contract(t).Operations()); d != "" {
		t.Errorf("routes and document differ (-routes +document):\n%s", d)
	}
}

// witness is a test that may fail: it records its messages.
type witness struct {
	testing.TB
	said []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

const good = `{"id":"00000000-0000-4000-8000-000000000001","text":"x","created_at":"2026-01-01T00:00:00.000000Z"}`

// exchanges are right or wrong according to testdata/openapi.yaml.
var exchanges = []struct {
	name           string
	method, target string
	contentType    string
	sent           string
	status         int
	header         string // "Name: value"
	body           string
	want           string // part of the complaint; "": none
}{
	{"right", "POST", "/v1/notes", "application/json", `{"text":"x"}`, 201, "", good, ""},
	{"right, with a slash", "POST", "/v1/notes/", "application/json", `{"text":"x"}`, 201, "", good, ""},
	{"right, as a form", "POST", "/v1/notes", "application/x-www-form-urlencoded", `text=x`, 201, "", good, ""},
	{"mislabelled, and let through on purpose", "POST", "/v1/notes", "application/json", `text=x`, 201, "", good, ""},
	{"bad input that was refused", "POST", "/v1/notes", "application/json", `{"text":5}`, 400, "", `{"error":"e","message":"m","request_id":"r"}`, ""},
	{"bad input that was accepted", "POST", "/v1/notes", "application/json", `{"text":5}`, 201, "", good, "should not have been"},
	{"bad parameter that was accepted", "GET", "/v1/notes?limit=1000", "", "", 200, "X-Total-Count: 0", `{"size":0,"items":[]}`, "should not have been"},
	{"another status", "POST", "/v1/notes", "application/json", `{"text":"x"}`, 200, "", good, "status is not supported"},
	{"a member too few", "POST", "/v1/notes", "application/json", `{"text":"x"}`, 201, "", `{"id":"x"}`, "text"},
	{"a member too many", "POST", "/v1/notes", "application/json", `{"text":"x"}`, 201, "", strings.Replace(good, "{", `{"more":1,`, 1), "more"},
	{"null", "GET", "/v1/notes", "", "", 200, "X-Total-Count: 0", `{"size":0,"items":null}`, "items"},
	{"no JSON", "GET", "/v1/notes", "", "", 200, "X-Total-Count: 0", `oops`, "decode"},
	{"missing header", "GET", "/v1/notes", "", "", 200, "", `{"size":0,"items":[]}`, "X-Total-Count"},
	{"another type", "DELETE", "/v1/notes/1", "", "", 200, "", `{}`, "Content-Type"},
	{"unknown path", "GET", "/v1/other", "", "", 404, "", `{"error":"e","message":"m","request_id":"r"}`, ""},
	{"unknown path with a poor error", "GET", "/v1/other", "", "", 404, "", `{"error":"e"}`, "message"},
	{"unknown path that answers", "GET", "/v1/other", "", "", 200, "", `{}`, "does not describe"},
	{"wrong method", "PUT", "/v1/notes", "", "", 405, "Allow: GET", `{"error":"e","message":"m","request_id":"r"}`, ""},
	{"wrong method without Allow", "PUT", "/v1/notes", "", "", 405, "", `{"error":"e","message":"m","request_id":"r"}`, "Allow"},
}

func TestContractCatches(t *testing.T) {
	c := contract(t)
	for _, tt := range exchanges {
		t.Run(tt.name, func(t *testing.T) {
			url := wiretest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if name, value, ok := strings.Cut(tt.header, ": "); ok {
					w.Header().Set(name, value)
				}
				_ = wire.Raw(w, tt.status, []byte(tt.body))
			}))
			r, err := http.NewRequestWithContext(t.Context(), tt.method, url+tt.target, strings.NewReader(tt.sent))
			if err != nil {
				t.Fatal(err)
			}
			if tt.contentType != "" {
				r.Header.Set("Content-Type", tt.contentType)
			}
			w := &witness{TB: t}
			resp, err := c.Client(w).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != tt.body {
				t.Errorf("the caller got %q, %v", got, err)
			}
			said := strings.Join(w.said, "\n")
			if (said == "") != (tt.want == "") || !strings.Contains(said, tt.want) {
				t.Errorf("it said %q, want %q", said, tt.want)
			}
		})
	}
}
