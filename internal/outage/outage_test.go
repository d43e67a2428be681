package outage_test

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	noon     = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	operator = audit.Actor{Kind: audit.ByToken, ID: 1, Name: "tests"}
)

// harness is two nodes on one database, with a clock set by the test.
type harness struct {
	t     *testing.T
	db    *sqldb.DB
	book  *profile.Store
	now   time.Time
	nodes []*outage.Watch

	lock   sync.Mutex
	counts map[int64]outage.Counts
	fail   map[int64]error // of counting
	wakes  int
	log    strings.Builder
	seen   int // emails that the test has seen
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, now: noon, counts: map[int64]outage.Counts{}, fail: map[int64]error{}}
	at := sqldbtest.URL(t)
	h.db = sqldbtest.OpenWith(t, at, sqldb.Options{})
	log := slog.New(slog.NewTextHandler(&h.log, nil)) // it has its own lock
	for _, db := range []*sqldb.DB{h.db, sqldbtest.OpenWith(t, at, sqldb.Options{})} {
		partners := &partner.Store{DB: db, Sealer: box, Now: h.Now}
		book := &profile.Store{DB: db, Partners: partners, Now: h.Now}
		if h.book == nil {
			h.book = book
		}
		h.nodes = append(h.nodes, &outage.Watch{
			DB: db, Now: h.Now, Partners: partners, Profiles: book, Service: "licenses.example.com",
			Count: h.count, Links: links, Lasts: 76 * time.Hour, Mail: &mail.Outbox{Sealer: box, Wake: h.wake}, Log: log,
		})
	}
	return h
}

const base = "https://licenses.example.com/portal/1/"

var links = outage.Links{Records: base + "deliveries?a=1&b=2", Profile: base + "profile", Redeliver: base + "deliveries?only=given-up"}

func (h *harness) Now() time.Time { return h.now }

func (h *harness) count(_ context.Context, partnerID int64) (outage.Counts, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.counts[partnerID], h.fail[partnerID]
}

func (h *harness) wake() {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.wakes++
}

// partner enrols a partner with waiting deliveries.
func (h *harness) partner(name string, contacts ...string) int64 {
	h.t.Helper()
	p, _, _, err := h.book.Enrol(h.t.Context(), operator, partner.Draft{Name: name},
		profile.URLs{Webhook: "https://acme.example/hooks/licenses?token=s3cret"}, false, partner.Credentials{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.counts[p.ID] = outage.Counts{Waiting: 12}
	for _, c := range contacts {
		h.contact(p.ID, c)
	}
	return p.ID
}

func (h *harness) contact(partnerID int64, name string) int64 {
	h.t.Helper()
	c, err := h.book.AddContact(h.t.Context(), operator, partnerID, name, strings.ToLower(name)+"@acme.example")
	if err != nil {
		h.t.Fatal(err)
	}
	return c.ID
}

func (h *harness) note(notices ...outage.Notice) {
	h.t.Helper()
	err := h.db.Write(h.t.Context(), func(tx *sqldb.Tx) error {
		outage.Note(tx, notices...)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

const refused = "The connection was refused."

func (h *harness) fails(id int64) {
	h.note(outage.Notice{PartnerID: id, At: h.now, Failed: true, Cause: refused})
}

func (h *harness) works(id int64) { h.note(outage.Notice{PartnerID: id, At: h.now}) }

// round runs both nodes at the same time, and returns the new emails as "recipient: subject".
func (h *harness) round() []string {
	h.t.Helper()
	var wait sync.WaitGroup
	for _, w := range h.nodes {
		wait.Go(func() {
			if _, err := w.Once(h.t.Context()); err != nil && len(h.fail) == 0 {
				h.t.Errorf("a round: %v", err)
			}
		})
	}
	wait.Wait()
	return h.news()
}

func (h *harness) news() []string {
	h.t.Helper()
	list := h.mails()
	var news []string
	for _, m := range list[h.seen:] {
		news = append(news, strings.TrimSuffix(m.To, "@acme.example")+": "+m.Subject)
	}
	h.seen = len(list)
	return news
}

// mails returns all emails, oldest first.
func (h *harness) mails() []mail.Record {
	h.t.Helper()
	list, err := h.nodes[0].Mail.Recent(h.t.Context(), h.db, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// outages returns a partner's outages, newest first.
func (h *harness) outages(partnerID int64) []outage.Outage {
	h.t.Helper()
	list, err := outage.All(h.t.Context(), h.db, 0, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(o outage.Outage) bool { return o.PartnerID != partnerID })
}

func (h *harness) equal(what string, want, got any) {
	h.t.Helper()
	if want == nil { // not a typed nil
		want = reflect.Zero(reflect.TypeOf(got)).Interface()
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(outage.Outage{})); diff != "" {
		h.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestNote(t *testing.T) {
	h := newHarness(t)
	acme, other := h.partner("Acme"), h.partner("Other")
	h.works(acme)
	h.equal("a success where nothing failed", nil, h.outages(acme))
	h.fails(acme)
	first := h.outages(acme)
	h.equal("the first failure", []outage.Outage{{ID: 1, PartnerID: acme, OpenedAt: noon, Cause: refused}}, first)
	for range 50 {
		h.now = h.now.Add(time.Second)
		h.note(outage.Notice{PartnerID: acme, At: h.now, Failed: true, Cause: "The endpoint answered 500."}, outage.Notice{PartnerID: other, At: h.now})
	}
	h.equal("more failures", first, h.outages(acme))
	h.equal("another partner", nil, h.outages(other))
	h.works(acme)
	first[0].ClosedAt = h.now
	h.equal("a success", first, h.outages(acme))
	h.now = h.now.Add(time.Second)
	h.works(acme)
	h.equal("another success", first, h.outages(acme))
	h.note(outage.Notice{PartnerID: other, At: h.now, Failed: true, Cause: "b"}, outage.Notice{PartnerID: acme, At: h.now, Failed: true, Cause: "a"})
	// Notices without an effect used up no id.
	h.equal("failing again", append([]outage.Outage{{ID: 2, PartnerID: acme, OpenedAt: h.now, Cause: "a"}}, first...), h.outages(acme))
	h.equal("the other", []outage.Outage{{ID: 3, PartnerID: other, OpenedAt: h.now, Cause: "b"}}, h.outages(other))
	// Another node's clock may be behind.
	h.note(outage.Notice{PartnerID: acme, At: noon})
	if got := h.outages(acme)[0]; !got.ClosedAt.Equal(got.OpenedAt) {
		t.Errorf("opened %v, closed %v", got.OpenedAt, got.ClosedAt)
	}
}

func TestNoteCleansCauses(t *testing.T) {
	h := newHarness(t)
	acme := h.partner("Acme")
	h.note(outage.Notice{PartnerID: acme, At: noon, Failed: true, Cause: "two\r\nlines\x00\xff " + strings.Repeat("ü", 500)})
	if got := h.outages(acme)[0].Cause; !strings.HasPrefix(got, "two lines \uFFFD ü") || len([]rune(got)) != 301 {
		t.Errorf("the cause is %q", got)
	}
}

// TestNoteTogether: notices of many nodes make one outage.
func TestNoteTogether(t *testing.T) {
	h := newHarness(t)
	ids := []int64{h.partner("A"), h.partner("B"), h.partner("C")}
	var wait sync.WaitGroup
	for n := range 8 {
		db := h.nodes[n%2].DB
		wait.Go(func() {
			for range 20 {
				err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
					var notices []outage.Notice
					for i := range ids { // each in its own order
						notices = append(notices, outage.Notice{PartnerID: ids[(i+n)%len(ids)], At: noon, Failed: true, Exhausted: 1})
					}
					outage.Note(tx, notices...)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for _, id := range ids {
		if got := h.outages(id); len(got) != 1 || got[0].Exhausted != 160 {
			t.Errorf("partner %d has %+v, want one outage with 160 events given up", id, got)
		}
	}
}

func TestNext(t *testing.T) {
	at := noon.Add
	const day = 24 * time.Hour
	for _, c := range []struct {
		name   string
		outage outage.Outage
		told   int64
		toldAt time.Time
		now    time.Duration
		want   string
	}{
		{name: "young", now: 15*time.Minute - 1, want: "wait"},
		{name: "15 minutes", now: 15 * time.Minute, want: "opened"},
		{name: "nobody looked for a week", now: 7 * day, want: "opened"},
		{name: "notified", outage: outage.Outage{Notices: 1, NotifiedAt: at(time.Hour)}, now: time.Hour + day - 1, want: "wait"},
		{name: "notified a day ago", outage: outage.Outage{Notices: 1, NotifiedAt: at(time.Hour)}, now: time.Hour + day, want: "still"},
		{name: "over at once", outage: outage.Outage{ClosedAt: at(time.Minute)}, now: time.Hour, want: "discard"},
		{name: "over before it was notified of", outage: outage.Outage{ClosedAt: at(time.Hour)}, now: time.Hour, want: "finish"},
		{name: "over", outage: outage.Outage{Notices: 3, NotifiedAt: at(time.Hour), ClosedAt: at(2 * time.Hour)}, now: 2 * time.Hour, want: "recovered"},
		{name: "over while it was notified of", outage: outage.Outage{Notices: 3, NotifiedAt: at(2 * time.Hour), ClosedAt: at(time.Hour)}, now: 2 * time.Hour, want: "recovered"},
		{name: "given up at once", outage: outage.Outage{Exhausted: 1}, now: time.Second, want: "exhausted"},
		{name: "given up, and notified", outage: outage.Outage{Exhausted: 1}, told: 1, toldAt: at(0), now: time.Second, want: "wait"},
		{name: "more given up", outage: outage.Outage{Exhausted: 2, Notices: 1, NotifiedAt: at(day)}, told: 1, toldAt: at(day), now: 2*day - 1, want: "wait"},
		{name: "more given up, a day later", outage: outage.Outage{Exhausted: 2, Notices: 1, NotifiedAt: at(day)}, told: 1, toldAt: at(day), now: 2 * day, want: "still"},
		{name: "given up by a healthy partner", outage: outage.Outage{Exhausted: 2, ClosedAt: at(0)}, now: 0, want: "exhausted"},
		{name: "that was notified of", outage: outage.Outage{Exhausted: 2, ClosedAt: at(0)}, told: 2, toldAt: at(0), now: 0, want: "finish"},
		{name: "and more", outage: outage.Outage{Exhausted: 3, ClosedAt: at(0)}, told: 2, toldAt: at(0), now: day - 1, want: "wait"},
		{name: "and more, a day later", outage: outage.Outage{Exhausted: 3, ClosedAt: at(0)}, told: 2, toldAt: at(0), now: day, want: "exhausted"},
	} {
		c.outage.OpenedAt = noon
		if got := outage.Next(c.outage, c.told, c.toldAt, at(c.now)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "less than a minute", 59 * time.Second: "less than a minute", time.Minute: "1 minute", 15 * time.Minute: "15 minutes",
		time.Hour: "1 hour", 61 * time.Minute: "1 hour 1 minute", 125 * time.Minute: "2 hours 5 minutes", 24 * time.Hour: "1 day",
		49*time.Hour + time.Minute: "2 days 1 hour", 72 * time.Hour: "3 days",
	} {
		if got := outage.Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		time.Millisecond: "1 second", 5 * time.Second: "5 seconds", 95 * time.Second: "2 minutes", time.Hour: "60 minutes",
		110 * time.Minute: "2 hours", 76 * time.Hour: "3 days", 36 * time.Hour: "2 days",
	} {
		if got := outage.Roughly(d); got != want {
			t.Errorf("Roughly(%v) = %q, want %q", d, got, want)
		}
	}
}
