package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/wire"
)

// TestPartnersSharePictures: while a picture of a partner is being read, its next one waits, and is
// finally refused. The other partner is served.
func TestPartnersSharePictures(t *testing.T) {
	h := newHarness(t)
	url, client := h.serve(), contract(t).Client(t)
	slots := h.API.Partners.Pictures
	slots.Patience = time.Nanosecond
	h.Must(slots.Acquire(t.Context(), "1", 1))
	body := `{"icon": "UklGRiYAAABXRUJQVlA4TBoAAAAvD8ADAAcQ/Y/+ByKi/wEIEvSzmtOI6H8A"}`
	got := h.ask(client, "PATCH", url+"/v2/product", body, "Content-Type: application/json")
	if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "5" || !strings.Contains(got.Body, `"too_many_pictures"`) {
		t.Errorf("while another one is read: %d %s", got.Status, got.Body)
	}
	other := "Authorization: Bearer " + h.otherKey
	if got := h.ask(client, "PATCH", url+"/v2/product", body, "Content-Type: application/json", other); got.Status != http.StatusOK {
		t.Errorf("the other partner is answered %d %s", got.Status, got.Body)
	}
}

// TestPartnersShareReadersAndBytes: a partner that uses its whole share is told to wait, for all of
// its lists, and the other is served.
func TestPartnersShareReadersAndBytes(t *testing.T) {
	for name, hold := range map[string]func(*harness) *wire.Share{
		"readers": func(h *harness) *wire.Share { return h.Readers },
		"bytes":   func(h *harness) *wire.Share { return h.Bytes },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.Readers, h.Bytes = &wire.Share{Total: 8, Patience: time.Nanosecond}, &wire.Share{Total: 1 << 20, Patience: time.Nanosecond}
			s := h.licenses()
			url, client := h.serve(), contract(t).Client(t)
			share := hold(h)
			part := share.Total / 2
			h.Must(share.Acquire(t.Context(), "partner:1", part))
			paths := []string{"/v2/licenses", "/v2/licenses/events", "/v2/profile"}
			for _, path := range []string{"", "/events", "/webhook-responses", "/explain"} {
				paths = append(paths, "/v2/licenses/"+s.active.Key+path)
			}
			for _, path := range paths {
				got := h.ask(client, "GET", url+path, "")
				if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "1" || !strings.Contains(got.Body, `"too_many_at_once"`) {
					t.Errorf("%s answered %d %s", path, got.Status, got.Body)
				}
			}
			if got := h.ask(client, "GET", url+"/v2/profile", "", "Authorization: Bearer "+h.otherKey); got.Status != http.StatusOK {
				t.Errorf("the other partner is answered %d %s", got.Status, got.Body)
			}
			share.Release("partner:1", part)
			if got := h.ask(client, "GET", url+"/v2/profile", ""); got.Status != http.StatusOK {
				t.Errorf("in the end it is answered %d %s", got.Status, got.Body)
			}
		})
	}
}
