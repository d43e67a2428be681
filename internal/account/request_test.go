package account_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// mailLinks emails the requested links.
func (d *harness) mailLinks(t *testing.T) {
	t.Helper()
	if more, err := (&account.LinkMailer{Store: d.Store}).Round(t.Context()); more || err != nil {
		t.Fatalf("a round: %v, %v", more, err)
	}
}

// requested returns the number of waiting requests.
func (d *harness) requested(t *testing.T) int64 {
	t.Helper()
	n, err := sqldb.One(t.Context(), d.DB, sqldb.Value[int64], `SELECT count(*) FROM link_requests`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRequestLooksAtNobody checks that a request for a link or a reset takes one transaction that
// only stores the request. It neither reads nor writes users, links or emails: without those tables
// it still succeeds, for known and unknown addresses. So both take the same time.
func TestRequestLooksAtNobody(t *testing.T) {
	d := open(t)
	d.create(t, account.Person{Email: "ann@example.com"})
	rename := func(format string) {
		d.write(t, func(tx *sqldb.Tx) error {
			for _, table := range []string{"users", "login_links", "mails", "sessions", "audit_entries"} {
				tx.Queue(fmt.Sprintf(format, table))
			}
			return nil
		})
	}
	rename("ALTER TABLE %[1]s RENAME TO away_%[1]s")
	before, _ := d.DB.Counts()
	for _, email := range []string{"ann@example.com", "nobody@example.com"} {
		for name, ask := range map[string]func() error{
			"a link":  func() error { return d.SendLink(t.Context(), email, "/licenses") },
			"a reset": func() error { return d.SendReset(t.Context(), email, "/licenses") },
		} {
			if err := ask(); err != nil {
				t.Errorf("%s for %s: %v", name, email, err)
			}
			if after, _ := d.DB.Counts(); after != before+1 {
				t.Errorf("%s for %s took %d transactions, want 1", name, email, after-before)
			}
			before, _ = d.DB.Counts()
		}
	}
	rename("ALTER TABLE away_%[1]s RENAME TO %[1]s")
	if n := len(d.mails(t)); n != 2 || d.requested(t) != 0 {
		t.Errorf("%d mails, and %d requests wait; want two mails to ann", n, d.requested(t))
	}
}

// TestRequestsOfTwoNodes checks that several nodes answer each request once.
func TestRequestsOfTwoNodes(t *testing.T) {
	d := open(t)
	for n := range 20 {
		email := fmt.Sprintf("user%d@example.com", n)
		d.create(t, account.Person{Email: email})
		if err := d.SendLink(t.Context(), email, ""); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := (&account.LinkMailer{Store: d.Store}).Round(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(d.mails(t)); n != 20 || d.requested(t) != 0 {
		t.Errorf("%d mails, and %d requests wait; want 20 mails", n, d.requested(t))
	}
}

// TestRequestsAreBounded checks that with very many waiting requests, further ones are refused for
// now, for known and unknown addresses.
func TestRequestsAreBounded(t *testing.T) {
	d := open(t)
	d.create(t, account.Person{Email: "ann@example.com"})
	d.write(t, func(tx *sqldb.Tx) error {
		rows := make([][]any, 10_000)
		for i := range rows {
			rows[i] = []any{"x", "sign-in", "", d.now}
		}
		tx.Insert("link_requests", []string{"email_key", "purpose", "next", "created_at"}, rows)
		return nil
	})
	for _, email := range []string{"ann@example.com", "nobody@example.com"} {
		err := d.SendLink(t.Context(), email, "")
		if f := fault.Of(err); f == nil || f.Kind != fault.Throttled || f.After != time.Minute {
			t.Errorf("%s: %v, want too_many_requests", email, err)
		}
	}
	if n := d.requested(t); n != 10_000 {
		t.Errorf("%d requests wait", n)
	}
}

// TestOldRequests checks that requests older than a link's life are dropped.
func TestOldRequests(t *testing.T) {
	d := open(t)
	d.create(t, account.Person{Email: "ann@example.com"})
	for _, wait := range []time.Duration{account.LinkLife, time.Second} {
		if err := d.SendLink(t.Context(), "ann@example.com", ""); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(wait)
	}
	if n := len(d.mails(t)); n != 1 || d.requested(t) != 0 {
		t.Errorf("%d mails, and %d requests wait; want the younger one alone", n, d.requested(t))
	}
}

// TestLinkMailer checks that it sends immediately when woken, and records the user.
func TestLinkMailer(t *testing.T) {
	d := open(t)
	m := &account.LinkMailer{Store: d.Store, Every: time.Hour}
	d.Asked = m.Wake
	mailed := make(chan struct{}, 1)
	d.Mail = &mail.Outbox{Sealer: d.Mail.Sealer, Wake: func() { mailed <- struct{}{} }}
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wg.Go(func() { m.Run(ctx) })
	for range 2 {
		if err := d.SendReset(t.Context(), "ann@example.com", ""); err != nil {
			t.Fatal(err)
		}
		<-mailed
	}
	entries, _, err := (&audit.Log{DB: d.DB}).List(t.Context(), audit.Filter{Action: "user.link"}, paging.First())
	if err != nil || len(entries) != 2 || entries[0].Subject != fmt.Sprintf("user:%d", ann.ID) || entries[0].Actor != audit.System("visitor") {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
}
