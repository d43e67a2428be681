package profile

import (
	"testing"

	"claviger/internal/partner"
)

// TestEnrolmentContentNeverChanges pins the stored hash: a change of it turns repeats of earlier
// creations into conflicts.
func TestEnrolmentContentNeverChanges(t *testing.T) {
	hook, back := "https://two.example/hook", "https://two.example/back"
	e := Enrolment{Draft: partner.Draft{Name: "Two", Brand: "Acme", Strict: true, ExternalID: "app-2"}, Validate: true}
	got := e.content(urlUpdate{webhook: &hook, redirect: &back, connection: NewConnection(nil, new(ES256), new(false))})
	if want := "7dc9142b6ed6de91c2403bf7144e954e4941025a92a01526025c2d57b806aa40"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
