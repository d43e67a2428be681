package wire_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"claviger/internal/wire"
)

// TestDeprecation: callers of a deprecated route are told so, also when they are refused, and
// callers of others are not.
func TestDeprecation(t *testing.T) {
	old := wire.Public("GET", "/v2/old", echo("old"))
	old.Deprecated = wire.Deprecation{
		Since:  time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC),
		Sunset: time.Date(2028, 9, 1, 2, 0, 0, 0, time.FixedZone("", 7200)),
	}
	refused := wire.Public("GET", "/v2/refused", func(http.ResponseWriter, *http.Request) error { return errors.New("inside") })
	refused.Deprecated = wire.Deprecation{Since: old.Deprecated.Since}
	mux := wire.NewMux(old, refused, wire.Public("GET", "/v2/new", echo("new")))
	for path, want := range map[string][2]string{
		"/v2/old":     {"@1803859200", "Fri, 01 Sep 2028 00:00:00 GMT"},
		"/v2/refused": {"@1803859200", ""},
		"/v2/new":     {"", ""},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		h := w.Header()
		if got := [2]string{h.Get("Deprecation"), h.Get("Sunset")}; got != want {
			t.Errorf("%s says %q, want %q", path, got, want)
		}
	}
}
