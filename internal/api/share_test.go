package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/wire"
)

// TestPartnersShareReadersAndBytes: a partner whose requests hold all that it may
// is told to wait, whichever of its lists it asks for, and the other is served.
func TestPartnersShareReadersAndBytes(t *testing.T) {
	for name, hold := range map[string]func(*house) *wire.Share{
		"readers": func(h *house) *wire.Share { return h.Readers },
		"bytes":   func(h *house) *wire.Share { return h.Bytes },
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t)
			h.Readers, h.Bytes = &wire.Share{Total: 8, Patience: time.Nanosecond}, &wire.Share{Total: 1 << 20, Patience: time.Nanosecond}
			s := h.tell()
			url, client := h.serve(), contract(t).Client(t)
			share := hold(h)
			part := share.Total / 2
			h.must(share.Acquire(t.Context(), "partner:1", part))
			paths := []string{"/v2/licenses", "/v2/licenses/events", "/v2/profile"}
			for _, path := range []string{"", "/events", "/webhook-responses", "/explain"} {
				paths = append(paths, "/v2/licenses/"+s.active.Key+path)
			}
			for _, path := range paths {
				got := h.ask(client, "GET", url+path, "")
				if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" || !strings.Contains(got.body, `"too_many_at_once"`) {
					t.Errorf("%s answered %d %s", path, got.status, got.body)
				}
			}
			if got := h.ask(client, "GET", url+"/v2/profile", "", "Authorization: Bearer "+h.otherKey); got.status != http.StatusOK {
				t.Errorf("the other partner is answered %d %s", got.status, got.body)
			}
			share.Release("partner:1", part)
			if got := h.ask(client, "GET", url+"/v2/profile", ""); got.status != http.StatusOK {
				t.Errorf("in the end it is answered %d %s", got.status, got.body)
			}
		})
	}
}
