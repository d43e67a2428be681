package portal_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/courier"
	"claviger/internal/diagnose/verify"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/visitor/pagetest"
)

// listen gives Tide a server with this handler; nil answers 200.
func (h *harness) listen(answer func(w http.ResponseWriter, r *http.Request, body string)) string {
	h.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if answer != nil {
			answer(w, r, string(body))
		}
	}))
	h.Cleanup(s.Close)
	url := s.URL + "/hook"
	_, _, _, err := h.Profiles.Amend(h.Context(), apptest.Tester, h.tide.ID, partner.Change{}, profile.URLChange{Webhook: &url}, false)
	h.Must(err)
	return url
}

// TestSimulatorPage: a developer runs a scenario and sees its steps; a viewer sees the
// verdict and cannot run one.
func TestSimulatorPage(t *testing.T) {
	h := start(t)
	if page := h.as(developer).Get(h.path("/simulator")); !strings.Contains(page.Body, "No webhook URL") {
		t.Errorf("without a URL:\n%s", page.Body)
	}
	page := h.as(developer).Post(h.path("/simulator/runs"), "scenario", "journey")
	if page.Status != http.StatusConflict || !strings.Contains(page.Body, "Save one first") {
		t.Errorf("started without a URL: %d\n%s", page.Status, page.Body)
	}
	h.listen(func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, "scenario_member") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, "<b>no\u202egnp</b>")
		}
	})
	page = h.as(developer).Post(h.path("/simulator/runs"), "scenario", "unknown-member")
	to := page.Header.Get("Location")
	if page.Status != http.StatusSeeOther || !strings.HasPrefix(to, h.path("/simulator/runs/")) {
		t.Fatalf("%d to %s\n%s", page.Status, to, page.Body)
	}
	h.Simulator.Wait()
	for _, email := range []string{viewer, developer} {
		run := h.as(email).Get(to)
		for _, want := range []string{"1. purchase", "2. activate with a new member", ">Fail<", ">Pass<", "ignore those that you do not know", "Text signed for X-Licensing-Signature", "&lt;b&gt;no\\u{202e}gnp", "The run is over", "/v2/scenario-runs/"} {
			if !strings.Contains(run.Body, want) {
				t.Errorf("as %s the run lacks %q:\n%s", email, want, run.Body)
			}
		}
	}
	list := h.as(viewer).Get(h.path("/simulator"))
	if !strings.Contains(list.Body, `<a href="`+to+`">`) || !strings.Contains(list.Body, ">Fail<") || strings.Contains(list.Body, "<button class=\"button secondary\" type=\"submit\" data-busy=\"Starting…\"") {
		t.Errorf("the list for a viewer:\n%s", list.Body)
	}
	if page := h.as(developer).Post(h.path("/simulator/runs"), "scenario", "nothing"); page.Status != http.StatusNotFound {
		t.Errorf("an unknown scenario: %d", page.Status)
	}
}

// TestRunPageFollows: during a run, the page gets the steps as they end, and then the verdict.
func TestRunPageFollows(t *testing.T) {
	h := start(t)
	came, free := make(chan struct{}, 10), make(chan struct{}, 10)
	h.listen(func(http.ResponseWriter, *http.Request, string) {
		came <- struct{}{}
		<-free
	})
	to := h.as(developer).Post(h.path("/simulator/runs"), "scenario", "journey").Header.Get("Location")
	<-came
	page := h.as(viewer).Get(to)
	if !strings.Contains(page.Body, "Step 1 of 3 is running") || !strings.Contains(page.Body, `http-equiv="refresh"`) {
		t.Errorf("under way:\n%s", page.Body)
	}
	run := h.follow(h.as(viewer), page)
	free <- struct{}{}
	if got := run.until("1. purchase"); !strings.Contains(got, "Step 2 of 3 is running") || strings.Contains(got, "<html") {
		t.Errorf("after the first step:\n%s", got)
	}
	free <- struct{}{}
	free <- struct{}{}
	if got := run.until("The run is over: pass."); !strings.Contains(got, "3. ") || strings.Contains(got, "is running") {
		t.Errorf("at the end:\n%s", got)
	}
	h.Simulator.Wait()
}

// TestEventPage: the content, and that a typed event is sent as a test.
func TestEventPage(t *testing.T) {
	h := start(t)
	var mu sync.Mutex
	var posts []string
	url := h.listen(func(_ http.ResponseWriter, _ *http.Request, body string) {
		mu.Lock()
		defer mu.Unlock()
		posts = append(posts, body)
	})
	if page := h.as(viewer).Get(h.path("/events")); !strings.Contains(page.Body, h.path("/events/deactivate")) {
		t.Errorf("the list:\n%s", page.Body)
	}
	page := h.as(viewer).Get(h.path("/events/purchase"))
	for _, want := range []string{"There was no event of this kind yet", "partner_plan_name", "Tier 1", "X-Licensing-Signature", "webhook-signature", url, "http://localhost:3000/hook", "$SECRET", "refund_reversed"} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.Body, "<form method=\"post\" action=\""+h.path("/events")) {
		t.Error("a viewer is offered to send it")
	}
	sold := h.sell(h.tide)
	foreign := h.sell(h.reef)
	page = h.as(developer).Get(h.path("/events/purchase"))
	if !strings.Contains(page.Body, sold.Key) || strings.Contains(page.Body, foreign.Key) || strings.Contains(page.Body, buyer) {
		t.Errorf("the last real one:\n%s", page.Body)
	}
	page = h.as(developer).Post(h.path("/events/purchase/test"), "body", `{"a":1,`)
	if page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Body, "Body must be one JSON object") || !strings.Contains(page.Body, "{&#34;a&#34;:1,") {
		t.Errorf("a mistake: %d\n%s", page.Status, page.Body)
	}
	page = h.as(developer).Post(h.path("/events/purchase/test"), "body", `{"a":1,"test":false}`)
	if page.Status != http.StatusSeeOther {
		t.Fatalf("%d\n%s", page.Status, page.Body)
	}
	h.Simulator.Wait()
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(posts, `{"a":1,"test":true}`) { // the purchase is delivered, too
		t.Errorf("posts: %q", posts)
	}
}

// code returns the text of a code part by its label.
func code(t *testing.T, page *pagetest.Page, label string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page.Body, `aria-label="`+label+`"><code>`)
	text, _, _ := strings.Cut(rest, "</code>")
	if !ok {
		t.Fatalf("there is no code %q:\n%s", label, page.Body)
	}
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&amp;", "&", "&lt;", "<", "&gt;", ">", "&#43;", "+").Replace(text)
}

// TestShellCommandSigns runs the commands of the page: both signatures are right, for a secret in
// either form.
func TestShellCommandSigns(t *testing.T) {
	for _, program := range []string{"sh", "curl", "openssl", "od"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	h := start(t)
	type post struct {
		header http.Header
		body   string
	}
	posts := make(chan post, 1)
	h.listen(func(_ http.ResponseWriter, r *http.Request, body string) { posts <- post{r.Header, body} })
	page := h.as(viewer).Get(h.path("/events/activate"))
	command := code(t, page, "To your webhook URL")
	for _, secret := range []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8=", "lk_0f9d8c7b6a5f4e3d"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = append(cmd.Environ(), "SECRET="+secret)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := <-posts
		for _, leave := range []string{"X-Licensing-Signature", "Webhook-Signature"} {
			header := got.header.Clone()
			header.Del(leave)
			v := verify.Webhook(courier.Signer{}, verify.Received{Header: header, Body: []byte(got.body), At: time.Now()}, courier.NewSecrets(secret))
			if !v.Genuine {
				t.Errorf("without %s: %+v\n%s", leave, v.Findings, command)
			}
		}
		if !strings.Contains(got.body, `"event":"activate"`) {
			t.Errorf("sent %s", got.body)
		}
	}
	if strings.Contains(command, "whsec_M") {
		t.Error("the command has the secret")
	}
}

// TestVerifyPage: the wrong part is named; the pasted text is only in the answer, and the secret
// not even there.
func TestVerifyPage(t *testing.T) {
	h := start(t)
	secrets, err := h.Partners.WebhookSecrets(t.Context(), h.tide.ID)
	h.Must(err)
	at := time.Now()
	body := `{"license_key":"x","event":"purchase","tier":1}`
	headers := courier.HeaderText(courier.Signer{}.Headers(7, 1, at, courier.NewSecrets(secrets...), []byte(body)))
	for name, c := range map[string]struct {
		form []string
		want []string
	}{
		"genuine":      {[]string{"body", body}, []string{"The signature is ours", ">Right<"}},
		"a line break": {[]string{"body", body + "\r\n"}, []string{"It does not verify", "line break was added", ">Wrong<"}},
		"too late":     {[]string{"body", body, "received_at", at.Add(time.Hour).UTC().Format(time.RFC3339)}, []string{"The signature is ours", "and at most 5m0s is accepted"}},
		"a secret":     {[]string{"body", body, "secret", "lk_pasted_by_mistake"}, []string{"This is an API key"}},
	} {
		page := h.as(viewer).Post(h.path("/verify"), append([]string{"headers", headers, "form", "text"}, c.form...)...)
		for _, want := range c.want {
			if page.Status != http.StatusOK || !strings.Contains(page.Body, want) {
				t.Errorf("%s: %d, want %q:\n%s", name, page.Status, want, page.Body)
			}
		}
		if strings.Contains(page.Body, "lk_pasted_by_mistake") || strings.Contains(page.Body, secrets[0]) {
			t.Errorf("%s: the page shows a secret", name)
		}
		if cache := page.Header.Get("Cache-Control"); !strings.Contains(cache, "no-store") {
			t.Errorf("%s: Cache-Control is %q", name, cache)
		}
	}
	if page := h.as(viewer).Post(h.path("/verify"), "headers", "", "body", strings.Repeat("x", verify.MaxPasted+1)); page.Status != http.StatusUnprocessableEntity {
		t.Errorf("too long: %d", page.Status)
	}
	for _, text := range []string{"lk_pasted_by_mistake", `"license_key":"x"`, url.QueryEscape(body)} {
		if strings.Contains(h.Logged.String(), text) {
			t.Errorf("the log has %q", text)
		}
	}
}
