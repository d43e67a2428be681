package apptest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Answer is an answer with its body.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Code returns the code of an error answer, or "".
func (a Answer) Code() string {
	var e struct {
		Error string `json:"error"`
	}
	if a.Status < 400 || json.Unmarshal([]byte(a.Body), &e) != nil {
		return ""
	}
	return e.Error
}

// Into decodes the body, which must be JSON.
func (a Answer) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		t.Fatalf("decode the answer %d %s: %v", a.Status, a.Body, err)
	}
}

// Send sends a request and reads its answer; header lines are "Name: value". Any goroutine may call
// it: an error fails the test without ending it.
func Send(t testing.TB, client *http.Client, method, url, body string, header ...string) Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return Answer{}
	}
	for _, line := range header {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return Answer{}
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return Answer{resp.StatusCode, resp.Header, string(got)}
}
