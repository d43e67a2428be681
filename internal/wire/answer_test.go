package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/wire"
)

func TestJSON(t *testing.T) {
	w := httptest.NewRecorder()
	if err := wire.JSON(w, http.StatusCreated, map[string]any{"url": "https://x.example/?a=1&b=<2>", "n": 1}); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Body.String(), `{"n":1,"url":"https://x.example/?a=1&b=<2>"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := http.Header{
		"Content-Type":           {"application/json"},
		"Content-Length":         {"44"},
		"Cache-Control":          {"no-store"},
		"X-Content-Type-Options": {"nosniff"},
	}
	if d := cmp.Diff(want, w.Header()); d != "" || w.Code != http.StatusCreated {
		t.Errorf("status %d, headers (-want +got):\n%s", w.Code, d)
	}
}

func TestJSONThatCannotBeEncoded(t *testing.T) {
	w := httptest.NewRecorder()
	err := wire.JSON(w, http.StatusOK, map[string]any{"f": func() {}})
	if err == nil || w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("got %v, %q, %v: want an error and nothing written", err, w.Body, w.Header())
	}
}

func TestAppendRawText(t *testing.T) {
	for range 3 { // the buffer is reused
		w := httptest.NewRecorder()
		if err := wire.Append(w, http.StatusOK, func(b []byte) []byte { return append(b, `"x"`...) }); err != nil || w.Body.String() != `"x"` {
			t.Errorf("got %q, %v", w.Body, err)
		}
	}
	w := httptest.NewRecorder()
	if err := wire.Text(w, http.StatusOK, "Contact deleted"); err != nil || w.Body.String() != "Contact deleted" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("got %q, %v, %v", w.Body, w.Header(), err)
	}
	w = httptest.NewRecorder()
	if err := wire.NoContent(w); err != nil || w.Code != http.StatusNoContent || w.Body.Len() > 0 {
		t.Errorf("got %d, %q, %v", w.Code, w.Body, err)
	}
}

func TestEnvelopeIsNeverNull(t *testing.T) {
	for want, v := range map[string]any{
		`{"size":0,"items":[]}`:          wire.List[int](nil),
		`{"size":2,"items":[3,4]}`:       wire.List([]int{3, 4}),
		`{"size":0,"items":[] }`:         wire.ListOf(nil, func(int) string { return "" }),
		`{"size":2,"items":["<3>","4"]}`: wire.ListOf([]int{3, 4}, func(n int) string { return map[int]string{3: "<3>", 4: "4"}[n] }),
	} {
		got, err := wire.Encode(v)
		if err != nil || string(got) != strings.ReplaceAll(want, " ", "") {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestPageHeaders(t *testing.T) {
	p := paging.Page{Number: 2, Limit: 10}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v2/licenses?page=2&limit=10", nil)
	w := httptest.NewRecorder()
	wire.PageHeaders(w, r, p, 25, false)
	if w.Header().Get("X-Total-Count") != "25" || w.Header().Get("Link") != p.Links(r.URL, 25, false) {
		t.Errorf("with a total: %v", w.Header())
	}
	w = httptest.NewRecorder()
	wire.PageHeaders(w, r, p, -1, true)
	if _, has := w.Header()["X-Total-Count"]; has || !strings.Contains(w.Header().Get("Link"), `rel="next"`) {
		t.Errorf("without a total: %v", w.Header())
	}
}

// body is the decoded error body.
type body struct {
	Error     string          `json:"error"`
	Message   string          `json:"message"`
	RequestID string          `json:"request_id"`
	Field     string          `json:"field"`
	Checks    json.RawMessage `json:"checks"`
}

func fail(ctx context.Context, t *testing.T, err error) (*httptest.ResponseRecorder, body, *wire.RequestLog) {
	t.Helper()
	ctx, note := wire.Begin(ctx, "req_1", "")
	w := httptest.NewRecorder()
	wire.Fail(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil), err)
	var b body
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
			t.Fatalf("the error body %q is no JSON: %v", w.Body, err)
		}
	}
	return w, b, note
}

func TestFailShowsFaults(t *testing.T) {
	kinds := map[fault.Kind]int{
		fault.Invalid: 400, fault.Unknown: 401, fault.Forbidden: 403, fault.Missing: 404, fault.Conflict: 409,
		fault.TooLarge: 413, fault.Unsupported: 415, fault.Unprocessable: 422, fault.Throttled: 429, fault.Busy: 503,
	}
	for kind, status := range kinds {
		err := fmt.Errorf("add a contact: %w", fault.New(kind, "some_code", "A sentence.").On("email"))
		w, got, note := fail(t.Context(), t, err)
		want := body{Error: "some_code", Message: "A sentence.", RequestID: "req_1", Field: "email"}
		if d := cmp.Diff(want, got); d != "" || w.Code != status {
			t.Errorf("kind %d: status %d, want %d; body (-want +got):\n%s", kind, w.Code, status, d)
		}
		if got, want := w.Header().Get("WWW-Authenticate") == "Bearer", kind == fault.Unknown; got != want {
			t.Errorf("kind %d: WWW-Authenticate is %q", kind, w.Header().Get("WWW-Authenticate"))
		}
		if got, want := w.Header().Get("Retry-After") != "", kind == fault.Throttled || kind == fault.Busy; got != want {
			t.Errorf("kind %d: Retry-After is %q", kind, w.Header().Get("Retry-After"))
		}
		if !errors.Is(note.Err, err) || note.Gone {
			t.Errorf("kind %d: noted %v", kind, note.Err)
		}
	}
	// A new kind without a status would be answered as 500.
	if wire.Status(fault.Busy+1) != 500 {
		t.Error("there is a kind of fault that this test does not know")
	}
}

func TestFailDetails(t *testing.T) {
	f := fault.New(fault.Unprocessable, "url_check_failed", "It did not answer.")
	f.Checks = []fault.Check{
		{URL: "https://x.example/?a&b", Step: "GET", OK: true},
		{Step: "POST", Warning: true, Text: "no", Likely: []string{"why"}, Sent: "s", Signed: []fault.Signature{{Header: "h", Text: "t"}}, Answer: "a"},
	}
	w, _, _ := fail(t.Context(), t, f)
	want := `{"error":"url_check_failed","message":"It did not answer.","request_id":"req_1","checks":[` +
		`{"url":"https://x.example/?a&b","step":"GET","ok":true,"warning":false,"text":"","sent":"","answer":""},` +
		`{"url":"","step":"POST","ok":false,"warning":true,"text":"no","likely":["why"],"sent":"s","signed":[{"header":"h","text":"t"}],"answer":"a"}]}`
	if got := w.Body.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f = fault.New(fault.Throttled, "rate_limited", "Wait.")
	f.After = 1500 * time.Millisecond
	if w, _, _ := fail(t.Context(), t, f); w.Header().Get("Retry-After") != "2" {
		t.Errorf("Retry-After is %q, want the next whole second", w.Header().Get("Retry-After"))
	}
}

// away is the error of an unavailable database.
type away struct{ error }

func (away) Unavailable() bool { return true }

func TestFailHidesTheRest(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	inside := errors.New("pq: password authentication failed for user claviger")
	tests := []struct {
		name   string
		ctx    context.Context
		err    error
		status int
		code   string
		gone   bool
	}{
		{"internal", t.Context(), inside, 500, "internal_error", false},
		{"the database took too long", t.Context(), fmt.Errorf("read: %w", context.DeadlineExceeded), 503, "unavailable", false},
		{"the database is away", t.Context(), fmt.Errorf("read: %w", away{inside}), 503, "unavailable", false},
		{"the request took too long", late, inside, 503, "unavailable", false},
		{"cut off by a stop", t.Context(), fmt.Errorf("read: %w", context.Canceled), 503, "unavailable", false},
		{"the client went away", cancelled, fmt.Errorf("read: %w", context.Canceled), wire.StatusGone, "", true},
		{"a fault after time was up", late, fault.New(fault.Missing, "unknown_license", "No."), 404, "unknown_license", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, b, note := fail(tt.ctx, t, tt.err)
			if w.Code != tt.status || b.Error != tt.code || note.Gone != tt.gone {
				t.Errorf("got %d %q, gone %v, want %d %q, %v", w.Code, b.Error, note.Gone, tt.status, tt.code, tt.gone)
			}
			if strings.Contains(w.Body.String(), "claviger") || strings.Contains(w.Body.String(), "context") {
				t.Errorf("the answer tells too much: %s", w.Body)
			}
			if !errors.Is(note.Err, tt.err) {
				t.Errorf("noted %v", note.Err)
			}
			if got, want := w.Header().Get("Retry-After") != "", tt.status == 503; got != want {
				t.Errorf("Retry-After is %q", w.Header().Get("Retry-After"))
			}
		})
	}
}

// brokenPipe is a client that has gone.
type brokenPipe struct{ *httptest.ResponseRecorder }

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (brokenPipe) Written() bool             { return true }

func TestFailAfterTheAnswerBegan(t *testing.T) {
	ctx, note := wire.Begin(t.Context(), "req_1", "")
	w := brokenPipe{httptest.NewRecorder()}
	err := wire.Raw(w, http.StatusOK, []byte("{}"))
	if err == nil {
		t.Fatal("a failed write went unnoticed")
	}
	wire.Fail(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil), err)
	if !note.Gone || w.Code != http.StatusOK {
		t.Errorf("gone %v, status %d", note.Gone, w.Code)
	}
}
