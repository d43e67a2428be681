package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/app"
	"claviger/internal/sqldb/sqldbtest"
)

// TestDevLine checks the first line of `dev --json` against its contract: these members, in this
// order, nothing else on standard output.
func TestDevLine(t *testing.T) {
	t.Parallel()
	c := launch(t)
	base := c.card.BaseURL
	p := c.card.Partner
	want := `{"auth_url":"` + base + `","base_url":"` + base + `","operator_url":"` + base + `/operator/v1",` +
		`"portal_url":"` + base + `/portal/","console_url":"` + base + `/console/","shop_url":"` + base + `/","mail_url":"` + c.card.MailURL + `",` +
		`"operator_token":"` + c.card.OperatorToken + `",` +
		`"partner":{"id":1,"client_id":"` + p.ClientID + `","client_secret":"` + p.ClientSecret + `","api_key":"` + p.APIKey + `","webhook_secret":"` + p.WebhookSecret + `"},` +
		`"buyer":{"email":"buyer@example.com","password":"` + c.card.Buyer.Password + `"},` +
		`"member":{"email":"partner@example.com","password":"` + c.card.Member.Password + `"},` +
		`"operator":{"email":"operator@example.com","password":"` + c.card.Operator.Password + `"}}` + "\n"
	if diff := cmp.Diff(want, string(c.line)); diff != "" {
		t.Errorf("first line (-want +got):\n%s", diff)
	}
	for name, value := range map[string]string{
		"token": c.card.OperatorToken, "client id": p.ClientID, "client secret": p.ClientSecret, "key": p.APIKey,
		"buyer": c.card.Buyer.Password, "member": c.card.Member.Password, "operator": c.card.Operator.Password,
	} {
		if value == "" {
			t.Errorf("the %s is empty", name)
		}
	}
	if !strings.HasPrefix(p.WebhookSecret, "whsec_") || !strings.HasPrefix(c.card.MailURL, base+"/") {
		t.Errorf("webhook secret %q, mail at %q", p.WebhookSecret, c.card.MailURL)
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	rest, err := io.ReadAll(c.out)
	if err != nil || len(rest) > 0 {
		t.Errorf("standard output goes on with %q, %v", rest, err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
}

// TestDevSells runs the commands on the card.
func TestDevSells(t *testing.T) {
	t.Parallel()
	c := launch(t)
	c.operator().must(t, 200, "GET", "/healthz", nil)
	key, err := buy(t.Context(), c, "order-1")
	if err != nil {
		t.Fatal(err)
	}
	l := read[licenseLine](t, c.partner().must(t, 200, "GET", "/v2/licenses/"+key, nil))
	if l.Status != "inactive" || l.Tier != 1 || !strings.HasPrefix(l.RedeemURL, c.card.ShopURL) {
		t.Errorf("the license is %+v", l)
	}
	plans := read[list[object]](t, c.operator().must(t, 200, "GET", "/operator/v1/partners/1/plans", nil))
	if plans.Size != 3 {
		t.Errorf("%d plans are on sale, want 3", plans.Size)
	}
}

// TestDevKeepsData starts twice on the same data: the second start has the same credentials and
// licenses, and its flags replace stored values.
func TestDevKeepsData(t *testing.T) {
	t.Parallel()
	db := sqldbtest.URL(t)
	first := launch(t, "--db", db, "--webhook", "http://127.0.0.1:9/hook", "--brand", "Acme")
	key, err := buy(t.Context(), first, "order-1")
	if err != nil {
		t.Fatal(err)
	}
	checkProfile(t, first, "http://127.0.0.1:9/hook", first.card.BaseURL+"/dev/partner/callback")
	if err := first.end(syscall.SIGTERM); err != nil {
		t.Fatalf("the first did not end in order: %v", err)
	}

	second := launch(t, "--db", db, "--webhook", "http://127.0.0.1:9/other", "--redirect", "http://127.0.0.1:9/back")
	if diff := cmp.Diff(first.card.Partner, second.card.Partner); diff != "" {
		t.Errorf("credentials (-first +second):\n%s", diff)
	}
	if first.card.OperatorToken != second.card.OperatorToken || first.card.Buyer != second.card.Buyer ||
		first.card.Member != second.card.Member || first.card.Operator != second.card.Operator {
		t.Errorf("people and token changed: %s then %s", first.line, second.line)
	}
	second.partner().must(t, 200, "GET", "/v2/licenses/"+key, nil)
	checkProfile(t, second, "http://127.0.0.1:9/other", "http://127.0.0.1:9/back")
	brand := read[struct {
		Brand string `json:"brand"`
	}](t, second.operator().must(t, 200, "GET", "/operator/v1/partners/1", nil)).Brand
	if brand != "Acme" {
		t.Errorf("the brand is %q after a start without --brand, want Acme", brand)
	}
}

func checkProfile(t *testing.T, c *child, webhook, redirect string) {
	t.Helper()
	p := read[struct {
		Webhook  string `json:"webhook_url"`
		Redirect string `json:"redirect_url"`
	}](t, c.partner().must(t, 200, "GET", "/v2/profile", nil))
	if p.Webhook != webhook || p.Redirect != redirect {
		t.Errorf("the profile has %+v, want %q and %q", p, webhook, redirect)
	}
}

// TestDevLeavesNothing checks for temporary data after each way to end it.
func TestDevLeavesNothing(t *testing.T) {
	for name, by := range map[string]syscall.Signal{"asked to end": syscall.SIGTERM, "the terminal is closed": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) { leavesNothing(t, by) })
	}
}

func leavesNothing(t *testing.T, by syscall.Signal) {
	t.Parallel()
	// Under nohup this process ignores the signal, and so would the program.
	heard := make(chan os.Signal, 1)
	signals.Notify(heard, by)
	t.Cleanup(func() { signals.Stop(heard) })
	c := launch(t)
	temp := strings.TrimPrefix(c.cmd.Env[0], "TMPDIR=")
	if n := len(entries(t, temp)); n != 1 {
		t.Errorf("%d entries in the temporary folder while it runs, want 1", n)
	}
	if err := c.end(by); err != nil {
		t.Errorf("it did not end in order: %v", err)
	}
	for _, dir := range []string{temp, c.cmd.Dir} {
		for _, e := range entries(t, dir) {
			t.Errorf("%s is left", filepath.Join(dir, e.Name()))
		}
	}
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestDevRefusesForeignDatabase: dev does not open a database that serve filled, because it would
// expose it.
func TestDevRefusesForeignDatabase(t *testing.T) {
	t.Parallel()
	db := sqldbtest.URL(t)
	h := start(t, func(c *app.Config) { c.DB = db })
	h.operator.must(t, 201, "POST", "/operator/v1/partners", object{"name": "Real", "external_id": "app-1"})
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "dev", "--json", "--addr", "127.0.0.1:0", "--db", db).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("not made by claviger dev")) {
		t.Errorf("dev on a real database ended with %v: %s", err, out)
	}
}

// TestDevHuman checks the output without --json.
func TestDevHuman(t *testing.T) {
	t.Parallel()
	c := launch(t)
	text := c.card.Text()
	for _, want := range []string{"curl -X POST " + c.card.OperatorURL + "/purchases", c.card.OperatorToken, c.card.Partner.APIKey, c.card.Buyer.Password, c.card.PortalURL, c.card.ConsoleURL, c.card.BaseURL + "/docs/", c.card.Member.Password} {
		if !strings.Contains(text, want) {
			t.Errorf("the card does not have %q:\n%s", want, text)
		}
	}
	_, payload, _ := strings.Cut(text, "-d '")
	payload, _, _ = strings.Cut(payload, "'")
	if !json.Valid([]byte(payload)) {
		t.Fatalf("the line to paste sends %q", payload)
	}
	c.operator().must(t, 201, "POST", "/operator/v1/purchases", json.RawMessage(payload))
}
