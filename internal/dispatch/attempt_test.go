package dispatch_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/courier"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// dead returns the URL of a stopped server.
func dead() string {
	s := httptest.NewServer(nil)
	defer s.Close()
	return s.URL
}

func TestEveryFailureIsTriedAgain(t *testing.T) {
	status := func(code int) func(*testing.T) string {
		return func(t *testing.T) string {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(code)
			}))
			t.Cleanup(s.Close)
			return s.URL
		}
	}
	answer := func(text string) func(*testing.T) string {
		return func(t *testing.T) string { return raw(t, text) }
	}
	for name, c := range map[string]struct {
		url    func(*testing.T) string
		status int
		strict bool
		text   string // prefix of the recorded answer
	}{
		"refused":               {url: func(*testing.T) string { return dead() }, text: "the connection was refused"},
		"no such host":          {url: func(*testing.T) string { return "http://nobody.invalid/" }, text: "the host name"},
		"http where TLS is due": {url: func(t *testing.T) string { return "https" + strings.TrimPrefix(status(200)(t), "http") }, text: "the server does not speak TLS"},
		"a certificate nobody trusts": {url: func(t *testing.T) string {
			s := httptest.NewUnstartedServer(nil)
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(s.Close)
			return s.URL
		}, text: "the server's certificate is not valid"},
		"hangs":                  {url: func(t *testing.T) string { return raw(t, "") }, text: "there was no answer within 10s"},
		"hangs up":               {url: answer("\x00"), text: "what came back is no HTTP"},
		"breaks off":             {url: answer("HTTP/1.1 500 No\r\nContent-Length: 60\r\n\r\nhalf"), status: 500, text: "the answer broke off"},
		"breaks off after a 200": {url: answer("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{\"success\":true}"), status: 200, text: "the answer broke off"},
		"moved":                  {url: status(301), status: 301},
		"see other":              {url: status(303), status: 303},
		"temporarily moved":      {url: status(307), status: 307},
		"bad request":            {url: status(400), status: 400},
		"not found":              {url: status(404), status: 404},
		"too many":               {url: status(429), status: 429},
		"broken":                 {url: status(500), status: 500},
		"away":                   {url: status(503), status: 503},
		"says no":                {url: answer("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"success\":false}"), status: 200, text: `{"success":false}`},
		"says nothing, strict":   {url: status(200), status: 200, strict: true},
		"a header without end":   {url: answer("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n"), text: "the answer's headers are too long"},
		"no HTTP, and not UTF-8": {url: answer("\xff\xfe\x00\x01 what?\r\n\r\n"), text: "what came back is no HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := steppedHarness(t)
			r.partner(1, nil)
			url := c.url(t)
			r.aim(1, func(e *webhook.Endpoint) { e.URL, e.Strict = url, c.strict })
			r.license(1, 1)
			r.event(r.out, 1)
			out := r.stepped(settings{schedule: webhook.Schedule{time.Minute}})
			r.step(out)
			same(t, "states", r.states(), []string{"1 pending after 1"})
			same(t, "waits", r.waits(), []string{"1 in 1m0s"})
			r.clock.step(time.Minute - time.Second)
			r.step(out)
			list, err := history.Reader{DB: r.db}.Responses(t.Context(), 1, nil, paging.First())
			if err != nil || len(list.Responses) != 1 {
				t.Fatalf("%d attempts on record, %v", len(list.Responses), err)
			}
			v := list.Responses[0]
			if v.ResponseStatus != c.status || v.Success || v.URL != url || !strings.HasPrefix(v.ResponseBody, c.text) ||
				v.RequestBody == "" || !strings.Contains(v.RequestHeader, "webhook-id: evt_1\n") || v.CreatedAt.IsZero() || v.EventID != 1 {
				t.Errorf("on record: %+v", v)
			}
		})
	}
}

// raw starts a server that answers every request with a text, or never for "".
func raw(t *testing.T, text string) string {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(c, text)
			if text == "" {
				defer c.Close() //nolint:errcheck // the end of the test
			} else {
				_ = c.Close()
			}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, c := range map[string]struct{ header, want string }{
		"longer than the schedule":  {"120", "1 in 2m0s"},
		"shorter than the schedule": {"7", "1 in 1m0s"},
		"at a time":                 {start.Add(time.Hour).Format(http.TimeFormat), "1 in 1h0m0s"},
		"at most a day":             {"1000000", "1 in 24h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := steppedHarness(t)
			e := &endpoint{TB: t, all: 503, header: http.Header{"Retry-After": {c.header}}}
			r.partner(1, e.ServeHTTP)
			r.license(1, 1)
			r.event(r.out, 1)
			r.step(r.stepped(settings{schedule: webhook.Schedule{time.Minute}}))
			same(t, "waits", r.waits(), []string{c.want})
		})
	}
}

func TestAnEventIsExhaustedAfterItsLastAttempt(t *testing.T) {
	r := steppedHarness(t)
	e := &endpoint{TB: t, all: 500}
	r.partner(1, e.ServeHTTP)
	r.license(1, 1)
	r.event(r.out, 1)
	out := r.stepped(settings{schedule: webhook.Schedule{time.Second, time.Minute}})
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{0, "1 pending after 1"},
		{time.Second, "1 pending after 2"},
		{59 * time.Second, "1 pending after 2"},
		{time.Second, "1 exhausted after 3"},
		{1000 * time.Hour, "1 exhausted after 3"},
	} {
		r.clock.step(c.after)
		r.step(out)
		same(t, "states", r.states(), []string{c.want})
	}
	if n := r.count(`SELECT exhausted FROM outages`); n != 1 {
		t.Errorf("outage was told of %d exhausted events", n)
	}
	e.answer(200)
	if err := out.Redeliver(t.Context(), tester, 1, 1); err != nil {
		t.Fatal(err)
	}
	r.step(out)
	same(t, "redelivered", r.states(), []string{"1 delivered after 4"})
	same(t, "record", r.record(), []string{"1: 500 false", "1: 500 false", "1: 500 false", "1: 200 true"})
}

func TestEveryAttemptSendsTheSameBytes(t *testing.T) {
	r := steppedHarness(t)
	var bodies, ids, numbers []string
	r.partner(1, func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		bodies, ids = append(bodies, string(b)), append(ids, req.Header.Get("webhook-id"))
		numbers = append(numbers, req.Header.Get("X-Licensing-Attempt"))
		w.WriteHeader(500)
	})
	r.license(1, 1)
	r.event(r.out, 1)
	for range 3 {
		r.step(r.stepped(settings{schedule: webhook.Schedule{time.Second, time.Second}}))
		r.clock.step(time.Second)
	}
	want := string(courier.Body(courier.Event{
		LicenseKey: "00000000-0000-4000-8000-000000000001", Kind: "purchase", Status: "inactive", At: start, EventID: 1, Tier: 1,
		Reason: "purchased", Sentence: "The license was purchased.", CreatedAt: start,
	}))
	same(t, "bodies", bodies, []string{want, want, want})
	same(t, "ids", ids, []string{"evt_1", "evt_1", "evt_1"})
	same(t, "attempts", numbers, []string{"1", "2", "3"})
}

// Any answer of a partner is stored as text.
func TestPoisonedAnswersAreRecorded(t *testing.T) {
	r := steppedHarness(t)
	long := strings.Repeat("é", courier.MaxBody/2) + "and more"
	bodies := []string{"bad\x00\xffbytes", long, "\x00" + long, strings.Repeat("\xff", courier.MaxBody), strings.Repeat("\x00", 1<<20), "a\x1b\tb\r\n"}
	var n atomic.Int64
	r.partner(1, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 32<<10))
		w.WriteHeader(500)
		_, _ = io.WriteString(w, bodies[n.Add(1)-1])
	})
	r.license(1, 1)
	r.event(r.out, 1)
	out := r.stepped(settings{schedule: webhook.Schedule{1, 1, 1, 1, 1}})
	for range bodies {
		r.step(out)
		r.clock.step(time.Second)
	}
	got, err := sqldb.All(t.Context(), r.db, func(r *sqldb.Row, line *string) error {
		var status int
		var body string
		err := r.Scan(&status, &body)
		*line = fmt.Sprintf("%d %d %.12q", status, len(body), body)
		return err
	}, `SELECT response_status, response_body FROM webhook_responses ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "record", got, []string{
		`500 14 "bad��bytes"`, `500 16384 "éééééééééééé"`, `500 16383 "�ééééééééééé"`, `500 3 "�"`, `500 16383 "������������"`, `500 8 "a�\tb\r\n"`,
	})
}

// A delivery proves the URL that it reached. If the partner has saved another URL since, that one
// stays unproven.
func TestADeliveryProvesItsURL(t *testing.T) {
	for name, moved := range map[string]bool{"which is the partner's": false, "which was the partner's": true} {
		t.Run(name, func(t *testing.T) {
			r, g := steppedHarness(t), newGate(t)
			r.partner(1, g.ServeHTTP)
			r.license(1, 1)
			r.event(r.out, 1)
			out := r.stepped(settings{})
			r.run(out)
			c := g.next()
			if moved {
				r.point(1, g.ServeHTTP)
				r.reload(out, 1)
			}
			r.write(func(tx *sqldb.Tx) {
				tx.Queue(`INSERT INTO profiles (partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at, updated_at)
					VALUES (1, $1, 0, '', 0, 0, 0, 0)`, r.endpoints[1].URL)
			})
			r.finish(200, c)
			proven := r.count(`SELECT webhook_valid_at FROM profiles`) != 0
			same(t, "proven", proven, !moved)
		})
	}
}
