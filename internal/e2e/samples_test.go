package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claviger/internal/courier"
	"claviger/internal/devserver"
	"claviger/internal/diagnose"
	"claviger/internal/scenario"
	"claviger/internal/sqldb/sqldbtest"
)

// samples is the folder of sample applications.
const samples = "../../sdk/samples"

// commands start the sample application of each language on a port.
var commands = map[string]func(t *testing.T, port string) []string{
	"go": func(t *testing.T, _ string) []string {
		program := filepath.Join(t.TempDir(), "sample")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, samples+"/go/main.go").CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		return []string{program}
	},
	"node":   func(*testing.T, string) []string { return []string{"node", samples + "/node/app.mjs"} },
	"python": func(*testing.T, string) []string { return []string{"python3", "-B", samples + "/python/app.py"} },
	"php": func(_ *testing.T, port string) []string {
		return []string{"php", "-S", "127.0.0.1:" + port, samples + "/php/app.php"}
	},
}

// sampleApp is a sample application beside a service.
type sampleApp struct {
	*testing.T
	card    devserver.Card
	url     string
	port    string
	command []string
	file    string // where it stores licenses
	log     bytes.Buffer
	stop    func()
}

// newSampleApp starts a service and a sample application as its partner.
func newSampleApp(t *testing.T, language string) *sampleApp {
	t.Helper()
	a := &sampleApp{T: t, port: freePort(t), file: filepath.Join(t.TempDir(), "licenses")}
	a.url = "http://127.0.0.1:" + a.port
	a.command = commands[language](t, a.port)
	if _, err := exec.LookPath(a.command[0]); err != nil {
		t.Skipf("%s is not on this machine", a.command[0])
	}
	a.card = devNode(t, func(cfg *devserver.Config) { cfg.Webhook, cfg.Redirect = a.url+"/webhook", a.url+"/callback" })
	a.start()
	t.Cleanup(func() {
		a.stop()
		if t.Failed() {
			t.Logf("the application says:\n%s", a.log.String())
		}
	})
	return a
}

// freePort returns a free port of this machine.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// start runs the application until stop is called.
func (a *sampleApp) start() {
	a.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.Context()))
	cmd := exec.CommandContext(ctx, a.command[0], a.command[1:]...)
	cmd.Env = append(os.Environ(), "MARKET_URL="+a.card.AuthURL, "CLIENT_ID="+a.card.Partner.ClientID, "CLIENT_SECRET="+a.card.Partner.ClientSecret,
		"WEBHOOK_SECRET="+a.card.Partner.WebhookSecret, "REDIRECT_URL="+a.url+"/callback", "DATABASE="+a.file, "PORT="+a.port)
	cmd.Stdout, cmd.Stderr = &a.log, &a.log
	if err := cmd.Start(); err != nil {
		a.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	a.stop = func() {
		cancel()
		<-ended
		a.stop = func() {}
	}
	for { // it has no other way to report that it listens
		conn, err := (&net.Dialer{}).DialContext(a.Context(), "tcp", "127.0.0.1:"+a.port)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			a.Fatalf("the application ended: %v\n%s", err, a.log.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// shows waits until the visitor's page of the application has a text.
func (a *sampleApp) shows(v *visitor, want string) {
	a.Helper()
	late := time.After(patience)
	for {
		s := v.open(a.url + "/")
		if strings.Contains(s.body, want) {
			return
		}
		select {
		case <-late:
			a.Fatalf("the page never shows %q:\n%s", want, s.body)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// has fails unless the visitor's page of the application has a text now.
func (a *sampleApp) has(v *visitor, want string) {
	a.Helper()
	if s := v.open(a.url + "/"); !strings.Contains(s.body, want) {
		a.Errorf("the page does not show %q:\n%s", want, s.body)
	}
}

// posts sends the application an event as the service would.
func (a *sampleApp) posts(e courier.Event) {
	a.Helper()
	client := courier.New(courier.Options{AllowPrivate: true, UserAgent: "tests/1"})
	defer client.Close()
	body := courier.Body(e)
	header := courier.Signer{}.Headers(e.EventID, 1, time.Now(), courier.NewSecrets(a.card.Partner.WebhookSecret), body)
	answer, err := client.Send(a.Context(), courier.Request{Method: "POST", URL: a.url + "/webhook", Header: header, Body: body})
	if ok, why := courier.Delivered(answer.Status, answer.Body, true); err != nil || !ok {
		a.Errorf("event %d: %v, %s", e.EventID, err, why)
	}
}

// TestSampleApplications: each passes claviger check, connects a buyer, and follows the license's
// events in any order.
func TestSampleApplications(t *testing.T) {
	t.Parallel()
	if sqldbtest.Postgres() {
		t.Skip("an application is the same on either database")
	}
	for language := range commands {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			a := newSampleApp(t, language)
			a.passesCheck()
			a.followsLicense()
		})
	}
}

// passesCheck runs claviger check with the whole connection: everything passes without a warning.
// The duration of answers depends on the machine.
func (a *sampleApp) passesCheck() {
	a.Helper()
	path, err := program()
	if err != nil {
		a.Fatal(err)
	}
	check := exec.CommandContext(a.Context(), path, "check", "--strict", "--webhook", a.url+"/webhook", "--redirect", a.url+"/callback", "--secret", a.card.Partner.WebhookSecret,
		"--client-id", a.card.Partner.ClientID, "--client-secret", a.card.Partner.ClientSecret, "--url", a.card.BaseURL, "--token", a.card.OperatorToken)
	out, err := check.Output()
	if err != nil {
		a.Errorf("claviger check: %v", err)
	}
	steps := strings.Split(strings.TrimSpace(string(out)), "\n")[1:]
	for _, line := range steps {
		if cells := strings.Split(line, "\t"); cells[0] != string(diagnose.Pass) && cells[1] != scenario.Slow {
			a.Errorf("claviger check: %s", line)
		}
	}
	if loop := steps[len(steps)-1]; !strings.Contains(loop, "\tthe application exchanges a code itself\t") {
		a.Errorf("the last check is %s", loop)
	}
}

func (a *sampleApp) followsLicense() {
	a.Helper()
	own := newApplication(a, a.card)
	key := own.sells("order-1")
	v := newVisitor(a, a.card.BaseURL, a.card.Buyer)
	a.shows(v, "No license is connected.")
	if s := v.open(a.url + "/callback"); s.status != http.StatusOK {
		a.Errorf("the redirect URL answers %d", s.status)
	}
	if s := v.open(a.url + "/callback?code=bogus"); s.status != http.StatusBadRequest {
		a.Errorf("a bogus code: %d", s.status)
	}
	back := v.connects(a.url+"/connect", a.url+"/callback").String()
	if s := newVisitor(a, a.card.BaseURL, a.card.Buyer).open(back); s.status != http.StatusBadRequest || !strings.Contains(s.body, "not for this browser") {
		a.Errorf("in another browser: %d\n%s", s.status, s.body)
	}
	if s := v.open(back); s.status != http.StatusSeeOther || s.to != a.url+"/" {
		a.Fatalf("the way back: %d, to %q\n%s", s.status, s.to, s.body)
	}
	a.shows(v, "License "+key+" is active: you have what tier 2 promises.")
	if s := v.open(back); s.status != http.StatusBadRequest {
		a.Errorf("a used code: %d", s.status)
	}

	market := caller{base: a.card.BaseURL, token: a.card.OperatorToken}
	market.must(a, http.StatusOK, "POST", "/operator/v1/licenses/"+key+"/plan", object{"tier": 3, "external_id": "plan-1"})
	a.shows(v, "tier 3 promises.")
	older := courier.Event{LicenseKey: key, Kind: "deactivate", Status: "deactivated", At: time.Now(), EventID: 1, Tier: 1, Reason: "refunded", Sentence: "…", CreatedAt: time.Now(), PlanName: "Starter"}
	a.posts(older)
	a.has(v, "tier 3 promises.")
	newer := older
	newer.EventID, newer.Kind, newer.Status, newer.Reason, newer.Tier = 1<<31, "activate", "active", "plan_changed", 7
	a.posts(newer)
	a.posts(newer)
	a.posts(older)
	a.has(v, "tier 7 promises.")
	a.stop()
	a.start()
	a.has(v, "tier 7 promises.")
	newer.EventID, newer.Kind, newer.Status, newer.Reason = 1<<31+1, "deactivate", "deactivated", "refunded"
	a.posts(newer)
	a.has(v, "License "+key+" is deactivated: it gives you nothing now.")
	newer.EventID, newer.Reason = 1<<31+2, "released"
	a.posts(newer)
	a.has(v, "No license is connected.")
	newer.EventID, newer.Test = 1<<31+3, true
	a.posts(newer)
}

// TestSamplesHaveTheVerifiers: the verifiers of the sample applications equal those of sdk/verify,
// line by line.
func TestSamplesHaveTheVerifiers(t *testing.T) {
	for _, c := range []struct{ verifier, from, sample string }{
		{"go/verify.go", "	key, err := ", "go/main.go"},
		{"js/verify.mjs", "export function ", "node/app.mjs"},
		{"python/verify.py", "    key = ", "python/app.py"},
		{"php/verify.php", "function ", "php/app.php"},
	} {
		verifier, err := os.ReadFile(filepath.Join(samples, "../verify", c.verifier))
		sample, err2 := os.ReadFile(filepath.Join(samples, c.sample))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		text := string(verifier)
		at := strings.Index(text, "\n"+c.from)
		if at < 0 {
			t.Fatalf("%s has no line that begins with %q", c.verifier, c.from)
		}
		want := strings.NewReplacer("ErrSecret", "errSecret", "ErrSignature", "errSignature").Replace(text[at:])
		if !strings.Contains(string(sample), want) {
			t.Errorf("%s has other lines than %s", c.sample, c.verifier)
		}
	}
}
