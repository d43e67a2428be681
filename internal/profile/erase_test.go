package profile_test

import (
	"testing"

	"claviger/internal/audit"
	"claviger/internal/paging"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// TestEraseContacts checks that the contacts with an erased address are removed, at every partner
// and regardless of case; others stay. The audit has their ids, and no name.
func TestEraseContacts(t *testing.T) {
	d := open(t, private)
	first, _ := d.enrol(t, profile.URLs{})
	second, _ := d.enrol(t, profile.URLs{})
	for id, email := range map[int64]string{first.ID: "ann@example.com", second.ID: "ANN@Example.com"} {
		for _, e := range []string{email, "bob@example.com"} {
			if _, err := d.AddContact(t.Context(), itself, id, "Somebody", e); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		if err := profile.EraseContacts(t.Context(), tx, itself, "", d.now); err != nil {
			return err
		}
		return profile.EraseContacts(t.Context(), tx, itself, "Ann@example.com", d.now)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{first.ID, second.ID} {
		if _, contacts := d.get(t, id); len(contacts) != 1 || contacts[0].Email != "bob@example.com" {
			t.Errorf("partner %d has the contacts %+v", id, contacts)
		}
	}
	entries, _, err := (&audit.Log{DB: d.DB}).List(t.Context(), audit.Filter{Action: "contact.delete"}, paging.First())
	if err != nil || len(entries) != 2 {
		t.Fatalf("the audit has %+v, %v", entries, err)
	}
	created, _, err := (&audit.Log{DB: d.DB}).List(t.Context(), audit.Filter{Action: "contact.create"}, paging.First())
	for _, e := range append(entries, created...) {
		if facts := e.Before + e.After; err != nil || len(facts) > len(`{"contact_id":99}`) {
			t.Errorf("%s tells %s, %v", e.Action, facts, err)
		}
	}
}
