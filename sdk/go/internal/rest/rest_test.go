package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/sdk/go/internal/rest"
)

// fake is a service with prepared answers, and a client that does not wait.
type fake struct {
	*rest.Client
	answers []func(http.ResponseWriter)
	seen    []string
	waited  []time.Duration
}

func newFake(t *testing.T, retries int, answers ...func(http.ResponseWriter)) *fake {
	t.Helper()
	f := &fake{answers: answers}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.seen = append(f.seen, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key")))
		answer := f.answers[0]
		if len(f.answers) > 1 {
			f.answers = f.answers[1:]
		}
		answer(w)
	}))
	t.Cleanup(srv.Close)
	c, err := rest.New(rest.Config{URL: srv.URL + "/", Secret: "s", Retries: retries, Wait: func(_ context.Context, d time.Duration) error {
		f.waited = append(f.waited, d.Truncate(time.Second))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.Client = c
	return f
}

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"error":"code_%d","message":"No.","field":"tier","request_id":"req_1"}`, code)
	}
}

// TestRetries: only safe requests are repeated, only after 429 and 503, after the time that the
// service demands, and not for ever.
func TestRetries(t *testing.T) {
	ok := status(200)
	for name, c := range map[string]struct {
		request rest.Request
		answers []func(http.ResponseWriter)
		sent    int
		waited  []time.Duration
		status  int
	}{
		"GET after 429":            {rest.Request{Method: "GET"}, []func(http.ResponseWriter){status(429, "Retry-After", "7"), ok}, 2, []time.Duration{7 * time.Second}, 200},
		"GET after 503":            {rest.Request{Method: "GET"}, []func(http.ResponseWriter){status(503), status(503), ok}, 3, []time.Duration{time.Second, 2 * time.Second}, 200},
		"a long wait":              {rest.Request{Method: "GET"}, []func(http.ResponseWriter){status(429, "Retry-After", "3600"), ok}, 2, []time.Duration{30 * time.Second}, 200},
		"GET for ever":             {rest.Request{Method: "GET"}, []func(http.ResponseWriter){status(503, "Retry-After", "1")}, 4, slices.Repeat([]time.Duration{time.Second}, 3), 503},
		"GET after 500":            {rest.Request{Method: "GET"}, []func(http.ResponseWriter){status(500), ok}, 1, nil, 500},
		"GET after 404":            {rest.Request{Method: "GET"}, []func(http.ResponseWriter){status(404), ok}, 1, nil, 404},
		"POST":                     {rest.Request{Method: "POST"}, []func(http.ResponseWriter){status(503), ok}, 1, nil, 503},
		"DELETE":                   {rest.Request{Method: "DELETE"}, []func(http.ResponseWriter){status(503), ok}, 1, nil, 503},
		"POST with a key":          {rest.Request{Method: "POST", IdempotencyKey: "k"}, []func(http.ResponseWriter){status(503), ok}, 2, []time.Duration{time.Second}, 200},
		"POST with a key, refused": {rest.Request{Method: "POST", IdempotencyKey: "k"}, []func(http.ResponseWriter){status(409), ok}, 1, nil, 409},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, 0, c.answers...)
			c.request.Path = "/x"
			_, err := f.Do(t.Context(), c.request, nil)
			var refused *rest.Error
			got := 200
			if errors.As(err, &refused) {
				if got = refused.Status; got != c.status {
					t.Errorf("ended with %d, want %d", got, c.status)
				}
			} else if err != nil || got != c.status {
				t.Errorf("ended with %v, want %d", err, c.status)
			}
			if len(f.seen) != c.sent || len(slices.Compact(slices.Clone(f.seen))) != 1 {
				t.Errorf("sent %v, want %d times the same", f.seen, c.sent)
			}
			if d := cmp.Diff(c.waited, f.waited); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRetriesCanBeSwitchedOff(t *testing.T) {
	f := newFake(t, -1, status(503))
	if _, err := f.Do(t.Context(), rest.Request{Method: "GET", Path: "/x"}, nil); err == nil || len(f.seen) != 1 {
		t.Errorf("sent %v, %v", f.seen, err)
	}
}

// roundTrip answers requests in memory.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := roundTrip(func(*http.Request) *http.Response {
			w := httptest.NewRecorder()
			status(503, "Retry-After", "30")(w)
			return w.Result()
		})
		c, err := rest.New(rest.Config{URL: "https://licenses.example.com", Secret: "s", HTTP: &http.Client{Transport: busy}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		_, err = c.Do(ctx, rest.Request{Method: "GET", Path: "/x"}, nil)
		var refused *rest.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &refused) || time.Since(begun) != 5*time.Second {
			t.Errorf("ended with %v after %v", err, time.Since(begun))
		}
	})
}

func TestErrors(t *testing.T) {
	f := newFake(t, 0, status(422), func(w http.ResponseWriter) {
		w.Header().Set("X-Request-Id", "req_2")
		w.WriteHeader(502)
		_, _ = w.Write([]byte("<h1>Bad gateway</h1>"))
	})
	for _, want := range []rest.Error{
		{Status: 422, Code: "code_422", Message: "No.", Field: "tier", RequestID: "req_1"},
		{Status: 502, Message: "GET /x was not answered by the service", RequestID: "req_2"},
	} {
		_, err := f.Do(t.Context(), rest.Request{Method: "GET", Path: "/x"}, nil)
		var refused *rest.Error
		if !errors.As(err, &refused) {
			t.Fatalf("ended with %v", err)
		}
		if d := cmp.Diff(want, *refused); d != "" {
			t.Error(d)
		}
	}
}

// TestRedirectsAreNotFollowed: the key stays with the service.
func TestRedirectsAreNotFollowed(t *testing.T) {
	f := newFake(t, 0, status(302, "Location", "/elsewhere"))
	_, err := f.Do(t.Context(), rest.Request{Method: "GET", Path: "/x"}, nil)
	if err == nil || len(f.seen) != 1 || f.seen[0] != "GET /x Bearer s " {
		t.Errorf("sent %q, %v", f.seen, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []rest.Config{{URL: "licenses.example.com", Secret: "s"}, {URL: "ftp://x", Secret: "s"}, {Secret: "s"}, {URL: "https://x"}} {
		if _, err := rest.New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// TestPages follows next to the end, and stops with its reader.
func TestPages(t *testing.T) {
	page := func(link, items string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Link", link)
			_, _ = w.Write([]byte(`{"size":2,"items":[` + items + `]}`))
		}
	}
	const first = `</l?page=1>; rel="first", </l?cursor=a%2Bb&page=2>; rel="next"`
	f := newFake(t, 0, page(first, `1,2`), page(`</l?page=1>; rel="first"`, `3`), status(500))
	var got []int
	for n, err := range rest.All[int](t.Context(), f.Client, "/l?limit=2") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if d := cmp.Diff([]int{1, 2, 3}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"GET /l?limit=2 Bearer s ", "GET /l?cursor=a%2Bb&page=2 Bearer s "}, f.seen); d != "" {
		t.Error(d)
	}
	for n, err := range rest.All[int](t.Context(), f.Client, "/l") {
		if n != 0 || err == nil {
			t.Errorf("got %d, %v", n, err)
		}
	}
	f = newFake(t, 0, page(first, `1,2`))
	for range rest.All[int](t.Context(), f.Client, "/l") {
		break
	}
	if len(f.seen) != 1 {
		t.Errorf("asked %v", f.seen)
	}
	if _, err := rest.GetPage[int](t.Context(), f.Client, "https://elsewhere.example.com/l"); err == nil || len(f.seen) != 1 {
		t.Error("a page of another service was asked for")
	}
}
