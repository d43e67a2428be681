package outage_test

import (
	"strings"
	"testing"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/outage"
	"claviger/internal/profile"
)

// TestTestMail: the email says that it is a test, goes only to a contact of the partner, and counts
// like a URL check.
func TestTestMail(t *testing.T) {
	h := newHarness(t)
	acme, other := h.partner("Acme"), h.partner("Other", "Eve")
	ann := h.contact(acme, "Ann")
	node := h.nodes[0]
	m := &outage.TestMailer{DB: h.db, Now: h.Now, Profiles: h.book, Service: node.Service, Links: links, Mail: node.Mail}
	bea := audit.Actor{Kind: audit.ByUser, ID: 4, ActingFor: acme}
	for id, partnerID := range map[int64]int64{ann: other, 99: acme} {
		if _, err := m.Send(t.Context(), bea, partnerID, id); !fault.Is(err, "unknown_contact") {
			t.Errorf("contact %d of partner %d: %v", id, partnerID, err)
		}
	}
	for range profile.MaxChecks {
		if c, err := m.Send(t.Context(), bea, acme, ann); err != nil || c.ID != ann {
			t.Fatalf("sent to %+v, %v", c, err)
		}
		h.now = h.now.Add(1)
	}
	_, err := m.Send(t.Context(), bea, acme, ann)
	if f := fault.Of(err); f == nil || f.Kind != fault.Throttled {
		t.Errorf("too many: %v", err)
	}
	mails, err := node.Mail.Recent(t.Context(), h.db, 100)
	if err != nil || len(mails) != profile.MaxChecks {
		t.Fatalf("%d mails, %v", len(mails), err)
	}
	one := mails[0]
	if one.To != "ann@acme.example" || one.Subject != "Acme: this is a test" || !strings.Contains(one.Text, "This is a test.") ||
		!strings.Contains(one.Text, "a contact of Acme") || strings.Contains(one.Text, "Hello Ann") {
		t.Errorf("to %s, %s:\n%s", one.To, one.Subject, one.Text)
	}
	log := &audit.Log{DB: h.db}
	entries, _, err := log.History(t.Context(), acme, audit.Span{Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Action != "contact.test" || entries[0].Member() != 4 || strings.Contains(entries[0].After, "@") {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
}
