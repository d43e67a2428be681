package outage_test

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/mail"
	"claviger/internal/mail/mailtest"
	"claviger/internal/outage"
	"claviger/internal/sqldb"
)

var update = flag.Bool("update", false, "rewrite the mails in testdata")

// TestMails compares each email, as it arrives, with its copy in testdata, where it can be read.
func TestMails(t *testing.T) {
	h := newHarness(t)
	server := mailtest.Start(t, mailtest.Options{Security: mail.STARTTLS, User: "acme", Password: "s3cret"})
	later := func() time.Time { return noon.Add(1000 * time.Hour) } // everything is due
	sender := &mail.Sender{DB: h.db, Sealer: h.nodes[0].Mail.Sealer, Now: later, Transport: server.SMTP(), Every: time.Hour, Log: slog.New(slog.DiscardHandler)}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { sender.Run(ctx) })
	defer running.Wait()
	defer stop()
	for _, w := range h.nodes {
		w.Mail.Wake = sender.Wake
	}
	acme := h.partner("Acme & Söhne <GmbH>", "Ann")
	count := 0
	arrives := func(name string) {
		t.Helper()
		h.equal(name, 1, len(h.round()))
		count++
		arrived(t, name, server.Wait(t, count)[count-1])
	}
	h.counts[acme] = outage.Counts{Waiting: 12, Oldest: noon.Add(-time.Second)}
	h.fails(acme)
	h.now = noon.Add(15 * time.Minute)
	arrives("opened")
	h.now = noon.Add(24*time.Hour + 15*time.Minute)
	h.counts[acme] = outage.Counts{Waiting: 340, Oldest: noon.Add(-time.Second), Latest: "The endpoint answered 503.", Parked: true}
	arrives("still")
	h.now = noon.Add(76 * time.Hour)
	arrives("still-later")
	h.note(outage.Notice{PartnerID: acme, At: h.now, Failed: true, Exhausted: 2})
	h.now = h.now.Add(time.Minute)
	arrives("exhausted")
	h.now = noon.Add(80 * time.Hour)
	h.works(acme)
	h.counts[acme] = outage.Counts{Waiting: 338, Oldest: noon.Add(time.Minute)}
	arrives("recovered-with-events-given-up")

	h.now = noon.Add(200 * time.Hour)
	h.fails(acme)
	h.now = h.now.Add(20 * time.Minute)
	arrives("opened-again")
	h.counts[acme] = outage.Counts{}
	h.works(acme)
	arrives("recovered")
	h.note(outage.Notice{PartnerID: acme, At: h.now, Exhausted: 1, Cause: "The endpoint answered 422."})
	arrives("exhausted-among-healthy")

	h.now = h.now.Add(48 * time.Hour)
	h.superseded(acme, 2)
	arrives("superseded")
	h.now = h.now.Add(48 * time.Hour)
	h.superseded(acme, 1)
	h.note(outage.Notice{PartnerID: acme, At: h.now, Exhausted: 2, Cause: "The endpoint answered 422."})
	arrives("superseded-and-exhausted")
}

// superseded records events that newer ones replaced.
func (h *harness) superseded(id int64, n int) {
	h.t.Helper()
	if err := h.db.Write(h.t.Context(), func(tx *sqldb.Tx) error {
		outage.Superseded(tx, id, h.now, n)
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
}

func arrived(t *testing.T, name string, m mailtest.Mail) {
	t.Helper()
	if !m.TLS || m.User != "acme" || m.To != "ann@acme.example" || len(m.Errors) > 0 {
		t.Errorf("%s: to %s by %q, TLS %v, mistakes %v", name, m.To, m.User, m.TLS, m.Errors)
	}
	if m.Text == "" || !strings.Contains(m.HTML, `<html lang="en">`) || !strings.Contains(m.HTML, "<h1") {
		t.Errorf("%s lacks a part:\n%s", name, m.Raw)
	}
	for _, part := range []string{"s3cret", "<img", "<script", "src=", "<style", "url(", "<GmbH>", "{{", "%!"} {
		if strings.Contains(m.HTML, part) || part != "<GmbH>" && strings.Contains(m.Text+m.GetHeader("Subject"), part) {
			t.Errorf("%s has %q:\n%s", name, part, m.Raw)
		}
	}
	for line := range strings.Lines(m.Text) {
		if n := len([]rune(strings.TrimSpace(line))); n > 76 && !strings.HasPrefix(line, "https://") {
			t.Errorf("%s has a line of %d characters: %s", name, n, line)
		}
	}
	got, file := strings.ReplaceAll(m.Raw, "\r\n", "\n"), filepath.Join("testdata", name+".eml")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", name, diff)
	}
}
