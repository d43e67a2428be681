package dispatch_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// TestADiagnosisIsKeptWithAFailedAttempt: the mistake that an answer reveals is stored, in the full
// list and inside the event; a success has none. It needs no further request and contains no
// secret.
func TestADiagnosisIsKeptWithAFailedAttempt(t *testing.T) {
	answers := []struct {
		status       int
		header, body string
		want         string // part of the diagnosis; "": none
	}{
		{401, "", "", "rejected the request as unauthorized"},
		{403, "", "<!doctype html>", "something other than your handler may have answered"},
		{400, "", `{"error":"missing header X-Shop-Signature"}`, "asks for the header X-Shop-Signature, which we do not send"},
		{401, "WWW-Authenticate: Bearer", "", "asks for a login"},
		{404, "", "", "no handler at this path"},
		{307, "Location: /hook/", "", "redirects to /hook/"},
		{200, "", `{"success":false}`, "refused the post"},
		{418, "", "", ""},
		{200, "", "", ""},
	}
	r := steppedHarness(t)
	n := 0
	r.partner(1, func(w http.ResponseWriter, _ *http.Request) {
		a := answers[n]
		n++
		if name, value, ok := strings.Cut(a.header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	})
	r.license(1, 1)
	r.event(r.out, 1)
	schedule := make(webhook.Schedule, len(answers))
	for i := range schedule {
		schedule[i] = 1
	}
	out := r.stepped(settings{schedule: schedule})
	for range answers {
		r.step(out)
		r.clock.step(time.Second)
	}
	list, err := history.Reader{DB: r.db}.Responses(t.Context(), 1, nil, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst})
	if err != nil || len(list.Responses) != len(answers) || n != len(answers) {
		t.Fatalf("%d responses to %d posts, want %d of both; %v", len(list.Responses), n, len(answers), err)
	}
	for i, a := range answers {
		got := list.Responses[i].Diagnosis
		if !strings.Contains(got, a.want) || a.want == "" && got != "" || strings.Contains(got, r.endpoints[1].Secrets.Current) {
			t.Errorf("%d %s: %q, want %q", a.status, a.body, got, a.want)
		}
	}
	err = r.db.Read(t.Context(), func(tx *sqldb.Tx) error {
		embedded, err := history.OfEvents(t.Context(), tx, []int64{1})
		if got := embedded[1]; len(got) != len(answers) || !strings.Contains(got[len(got)-1].Diagnosis, answers[0].want) {
			t.Errorf("inside the event: %+v", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
