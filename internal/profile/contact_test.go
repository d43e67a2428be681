package profile_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/profile"
)

func TestAddContact(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	other, _ := d.enrol(t, profile.URLs{})
	d.now = noon.Add(time.Minute)
	ann, err := d.AddContact(t.Context(), itself, p.ID, "  Ann Lee ", " Ann@Example.com ")
	want := profile.Contact{ID: ann.ID, Name: "Ann Lee", Email: "Ann@Example.com", CreatedAt: d.now, UpdatedAt: d.now}
	if ann != want || err != nil {
		t.Fatalf("AddContact = %+v, %v; want %+v", ann, err, want)
	}
	_, err = d.AddContact(t.Context(), itself, p.ID, "Ann again", "aNN@example.COM")
	if f := fault.Of(err); f == nil || f.Kind != fault.Conflict || f.Code != "contact_exists" {
		t.Errorf("the same address: %v", err)
	}
	if _, err := d.AddContact(t.Context(), itself, other.ID, "Ann", "ann@example.com"); err != nil {
		t.Errorf("the same address at another partner: %v", err)
	}
	bob, err := d.AddContact(t.Context(), itself, p.ID, "'; DROP TABLE contacts; --", "bob@example.com")
	if err != nil {
		t.Fatal(err)
	}
	got, contacts := d.get(t, p.ID)
	if diff := cmp.Diff([]profile.Contact{bob, ann}, contacts); diff != "" || !got.UpdatedAt.Equal(d.now) {
		t.Errorf("profile changed %v; contacts, newest first (-want +got):\n%s", got.UpdatedAt, diff)
	}
	if _, err := d.AddContact(t.Context(), itself, 99, "Ann", "ann@example.com"); !fault.Is(err, "unknown_partner") {
		t.Errorf("unknown partner: %v", err)
	}
}

func TestAddContactRefuses(t *testing.T) {
	d := open(t, private)
	p, before := d.enrol(t, profile.URLs{})
	d.now = noon.Add(time.Minute)
	for what, c := range map[string]struct{ name, email, field string }{
		"no address":     {"Ann", "", "email"},
		"not an address": {"Ann", "ann", "email"},
		"two @":          {"Ann", "a@b@c", "email"},
		"NUL":            {"Ann", "ann\x00@example.com", "email"},
		"header":         {"Ann", "ann@example.com\r\nBcc: eve@example.com", "email"},
		"no name":        {"", "ann@example.com", "name"},
		"long name":      {strings.Repeat("n", 101), "ann@example.com", "name"},
		"broken name":    {"\xff", "ann@example.com", "name"},
		"turned round":   {"Ann\u202eeel", "ann@example.com", "name"},
	} {
		_, err := d.AddContact(t.Context(), itself, p.ID, c.name, c.email)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unprocessable || f.Code != "invalid_field" || f.Field != c.field {
			t.Errorf("%s: %v, want invalid_field on %s", what, err, c.field)
		}
	}
	if after, contacts := d.get(t, p.ID); after != before || len(contacts) != 0 {
		t.Errorf("refused contacts left %+v and %d contacts", after, len(contacts))
	}
}

func TestDeleteContact(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	other, _ := d.enrol(t, profile.URLs{})
	ann, err := d.AddContact(t.Context(), itself, p.ID, "Ann", "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := d.get(t, p.ID)
	d.now = noon.Add(time.Minute)
	for name, c := range map[string]struct{ partner, contact int64 }{
		"another partner's": {other.ID, ann.ID}, "unknown": {p.ID, ann.ID + 1}, "negative": {p.ID, -1}, "zero": {p.ID, 0},
	} {
		if err := d.DeleteContact(t.Context(), itself, c.partner, c.contact); !fault.Is(err, "unknown_contact") || fault.Of(err).Kind != fault.Missing {
			t.Errorf("%s: %v, want unknown_contact", name, err)
		}
	}
	if after, contacts := d.get(t, p.ID); after != before || len(contacts) != 1 {
		t.Errorf("refused deletes left %+v and %d contacts", after, len(contacts))
	}
	if err := d.DeleteContact(t.Context(), itself, p.ID, ann.ID); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteContact(t.Context(), itself, p.ID, ann.ID); !fault.Is(err, "unknown_contact") {
		t.Errorf("deleted again: %v", err)
	}
	if after, contacts := d.get(t, p.ID); len(contacts) != 0 || !after.UpdatedAt.Equal(d.now) {
		t.Errorf("%d contacts are left, profile changed %v", len(contacts), after.UpdatedAt)
	}
	if _, err := d.AddContact(t.Context(), itself, p.ID, "Ann", "ann@example.com"); err != nil {
		t.Errorf("added anew: %v", err)
	}
}

// TestContactsAtOnce concurrently adds more contacts than fit, each address twice.
func TestContactsAtOnce(t *testing.T) {
	d := open(t, private)
	p, _ := d.enrol(t, profile.URLs{})
	var added, exist, full atomic.Int64
	var wg sync.WaitGroup
	for i := range 120 {
		wg.Go(func() {
			_, err := d.AddContact(t.Context(), itself, p.ID, "Ann", fmt.Sprintf("ann%d@example.com", i/2))
			switch {
			case err == nil:
				added.Add(1)
			case fault.Is(err, "contact_exists"):
				exist.Add(1)
			case fault.Is(err, "too_many_contacts"):
				full.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, contacts := d.get(t, p.ID)
	if len(contacts) != profile.MaxContacts || added.Load() != profile.MaxContacts || exist.Load()+full.Load() != 70 {
		t.Errorf("%d contacts; %d added, %d existed, %d were too many", len(contacts), added.Load(), exist.Load(), full.Load())
	}
	seen := map[string]bool{}
	for _, c := range contacts {
		if seen[c.Email] {
			t.Errorf("%s is there twice", c.Email)
		}
		seen[c.Email] = true
	}
	if err := d.DeleteContact(t.Context(), itself, p.ID, contacts[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.AddContact(t.Context(), itself, p.ID, "Bob", "bob@example.com"); err != nil {
		t.Errorf("after one was deleted: %v", err)
	}
}
