package wire_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"claviger/internal/wire"
)

// TestMisplaced: the sender of a misplaced secret is told the mistake, and the secret is not shown.
func TestMisplaced(t *testing.T) {
	isSecret := func(s string) bool { return strings.HasPrefix(s, "lk_") }
	for name, c := range map[string]struct{ path, header, value, want string }{
		"nothing":        {"/", "X-Other", "hello", ""},
		"empty":          {"/", "Authorization", "", ""},
		"no scheme":      {"/", "Authorization", "lk_c0ffee", "lacks the word Bearer"},
		"no secret":      {"/", "Authorization", "Bearer ", "nothing behind Bearer"},
		"another scheme": {"/", "Authorization", "lk_c0ffee lk_c0ffee", "another scheme"},
		"another header": {"/", "X-Api-Key", "lk_c0ffee", "The header X-Api-Key has a secret"},
		"query":          {"/?key=lk_c0ffee", "X-Other", "", "The query has a secret"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", c.path, nil)
		r.Header.Set(c.header, c.value)
		got := wire.Misplaced(r, isSecret)
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "c0ffee") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
