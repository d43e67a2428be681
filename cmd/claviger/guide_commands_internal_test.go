//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"claviger/docs"
	"claviger/internal/devserver"
)

// notRun are the prefixes of commands that TestGuideCommands does not run, with the reasons.
var notRun = map[string]string{
	"claviger dev":    "it runs until it is stopped; TestFirstHour runs it",
	"claviger listen": "it runs until it is stopped; testdata/listen runs it",
	"claviger restore backups/claviger.db --era":                                "it takes a service that is stopped; TestDocumentedRestore runs it",
	"claviger restore --finish":                                                 "it takes a service that is stopped; TestDocumentedRestore runs it",
	"claviger migrate copy":                                                     "it takes a service that is stopped; testdata/copy.txtar runs it",
	"claviger stripe setup":                                                     "it asks Stripe; testdata/stripe runs it",
	`curl -H "Authorization: Bearer $KEY" -X DELETE $URL/v2/credentials`:        "it revokes the key that all others use; a conversation of internal/api revokes one",
	`curl -H "Authorization: Bearer $KEY" -X POST $URL/v2/redeliveries/3/pause`: "it pauses what is done in a moment here; a conversation of internal/api pauses one",
	`curl -X POST "$CLAVIGER_URL/operator/v1/bulk/12/leave-out"`:                "it names rows that an act on many has; a conversation of internal/operator does it",
}

// installKey is the secret key of an install.
const installKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// install is a claviger dev in its own folder, with the preconditions of a guide's commands.
type install struct {
	*testing.T
	dir     string
	card    devserver.Card
	app     *sampleApp
	appURL  string
	env     []string
	exports string            // exported so far by the guide
	fills   map[string]string // placeholders in the guide, with their values
}

// newInstall starts the service and its partner's application, sells, and makes a delivery fail.
func newInstall(t *testing.T) *install {
	t.Helper()
	i := &install{T: t, dir: t.TempDir(), app: &sampleApp{}}
	server := httptest.NewServer(i.app)
	t.Cleanup(server.Close)
	i.appURL = server.URL
	admin := freeAddr(t)
	i.start("CLAVIGER_ADMIN_ADDR="+admin, "CLAVIGER_RETRY=1h", "CLAVIGER_SECRET_KEY="+installKey, "CLAVIGER_BACKUP_DIR=scheduled")
	i.app.secret, i.app.service = i.card.Partner.WebhookSecret, &i.card
	i.env = []string{
		"CLAVIGER_DB=dev.db", "CLAVIGER_SECRET_KEY_FILE=drill.key", "CLAVIGER_URL=" + i.card.BaseURL, "CLAVIGER_OPERATOR_TOKEN=" + i.card.OperatorToken,
		"CLAVIGER_ADDR=127.0.0.1:0", "CLAVIGER_ADMIN_ADDR=off", // claviger doctor leaves the ports of this machine alone
		"begun=0s", // when the backup of the guide was begun: now
		"URL=" + i.card.BaseURL, "KEY=" + i.card.Partner.APIKey, "CLIENT_ID=" + i.card.Partner.ClientID, "CLIENT_SECRET=" + i.card.Partner.ClientSecret,
	}
	sold := i.must("claviger trigger activate --email " + i.card.Buyer.Email + " --json")
	license := find(t, `"license_key":"([^"]+)`, sold)
	event := find(t, `"event_id":(\d+)`, i.must("claviger wait delivery --partner 1 --license "+license+" --event activate --json"))
	i.app.down.Store(true)
	failing := find(t, `"license_key":"([^"]+)`, i.must("claviger trigger purchase --json"))
	i.must("until claviger deliveries list --partner 1 --state failing | grep -q " + failing + "; do :; done")
	i.app.down.Store(false)
	i.env = append(i.env, "LICENSE_KEY="+license, "CODE="+i.code())
	i.fills = map[string]string{
		"3794577c-3a4f-4d0c-9c5e-0d6c2f0fc550": license, " 4711": " " + event, "/events/42": "/events/" + event, "/deliveries/42": "/deliveries/" + event,
		"https://licensing.example.com": i.card.BaseURL, "http://127.0.0.1:8080": i.card.BaseURL, "http://127.0.0.1:8081": "http://" + admin,
		"https://app.example.com": i.appURL, "http://127.0.0.1:3000": i.appURL,
		"op_…": i.card.OperatorToken, "CLAVIGER_API_KEY=…": "CLAVIGER_API_KEY=" + i.card.Partner.APIKey, "whsec_…": i.card.Partner.WebhookSecret,
		"--client-id …": "--client-id " + i.card.Partner.ClientID, "--client-secret …": "--client-secret " + i.card.Partner.ClientSecret,
		"buyer@example.com":             i.card.Buyer.Email,
		"\nclaviger serve":              "\nclaviger config check", // of these settings; TestInstallToFirstSale serves
		"/var/lib/claviger/claviger.db": "dev.db", "/etc/claviger/secret.key": "drill.key", "/etc/claviger/smtp.url": "smtp.url",
	}
	i.files()
	return i
}

// start runs claviger dev until the test ends.
func (i *install) start(env ...string) {
	i.Helper()
	cmd := exec.CommandContext(i.Context(), "claviger", "dev", "--json", "--log-format", "json", "--db", "dev.db", "--addr", "127.0.0.1:0", //nolint:gosec // a server of this test
		"--webhook", i.appURL+"/webhook", "--redirect", i.appURL+"/callback")
	cmd.Dir, cmd.Env = i.dir, append(os.Environ(), env...)
	log, err := os.Create(filepath.Join(i.dir, "claviger.log"))
	if err != nil {
		i.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait reports how it ended
		_ = cmd.Wait()
		_ = log.Close()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &i.card)
	}
	if err != nil {
		i.Fatalf("claviger dev: %v", err)
	}
}

// code returns a code that a buyer brought.
func (i *install) code() string {
	i.Helper()
	c := &checked{redirect: i.appURL + "/callback", clientID: i.card.Partner.ClientID, clientSecret: i.card.Partner.ClientSecret}
	c.service = &remote{url: i.card.BaseURL, token: i.card.OperatorToken}
	l, why, _ := c.openLoop(i.Context())
	if l == nil {
		i.Fatal(why)
	}
	if err := l.sell(i.Context()); err != nil {
		i.Fatal(err)
	}
	back, err := l.consent(i.Context())
	if err != nil {
		i.Fatal(err)
	}
	return codeIn(back)
}

// files writes the input files of the guides' commands.
func (i *install) files() {
	i.Helper()
	var icon bytes.Buffer
	if err := errors.Join(png.Encode(&icon, image.NewGray(image.Rect(0, 0, 64, 64))), writeWebhook(i.dir, i.card.Partner.WebhookSecret)); err != nil {
		i.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(i.dir, name), []byte(text), 0o600); err != nil {
			i.Fatal(err)
		}
	}
	write("icon.png", icon.String())
	write("licenses.csv", "license_key,partner_id,tier,status,email,sold_at\n0b0f3a54-7f5c-4d0e-9a55-2f6f3f0c1a77,1,1,active,old@example.com,2024-05-31\n")
	write("drill.key", installKey)
	write("smtp.url", "smtp://user:password@mail.example.com:587")
	if err := os.Mkdir(filepath.Join(i.dir, "backups"), 0o700); err != nil {
		i.Fatal(err)
	}
	mailed, err := http.PostForm(i.card.BaseURL+"/sign-in/send", url.Values{"email": {i.card.Buyer.Email}}) //nolint:noctx // of a test
	if err != nil || mailed.Body.Close() != nil {
		i.Fatal(err)
	}
}

// must runs a preparing command.
func (i *install) must(command string) string {
	i.Helper()
	out, err := shell(i.T, i.dir, command, i.env...)
	if err != nil {
		i.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

func find(t *testing.T, pattern, text string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, text)
	}
	return m[1]
}

// learned are parts of an answer that a guide uses later, with their names there.
var learned = map[string]string{
	`"access_token":"([^"]+)`: "$ACCESS_TOKEN", `"refresh_token":"([^"]+)`: "$REFRESH_TOKEN", `"contact_id":(\d+)`: "contact/7",
	`"attempt_id":(\d+)`: "attempts/7", `^\{"redelivery_id":(\d+)`: "redeliveries/3", `^\{"bulk_id":(\d+)`: "bulk/12",
	`(?m)^([\w-]+)\tES256\tactive\t`: "<kid>",
}

// run runs a command of a guide with its placeholders replaced.
func (i *install) run(command string) {
	i.Helper()
	for from, to := range i.fills {
		command = strings.ReplaceAll(command, from, to)
	}
	if strings.HasPrefix(command, "export ") {
		i.exports += command + "\n"
		return
	}
	if rest, ok := strings.CutPrefix(command, "curl "); ok && !strings.HasPrefix(rest, "-f") {
		command = "curl -sS --fail-with-body " + rest
	}
	out, err := shell(i.T, i.dir, i.exports+command, i.env...)
	if err != nil {
		i.Errorf("%s\n%v\n%s", command, err, out)
	}
	for pattern, name := range learned {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(out); m != nil {
			folder, _, _ := strings.Cut(name, "/")
			i.fills[name] = m[1]
			if folder != name {
				i.fills[name] = folder + "/" + m[1]
			}
		}
	}
}

// TestGuideCommands runs each command of the guides, each guide against its own service.
func TestGuideCommands(t *testing.T) {
	onlySQLite(t)
	prefixes, skipped := slices.Sorted(maps.Keys(notRun)), map[string]bool{}
	for _, g := range docs.Guides() {
		_, text, ok := strings.Cut(g.Text, "\n## In production\n") // TestInstallToFirstSale runs the part before
		if !ok {
			text = g.Text
		}
		var commands []string
		for _, command := range commandsOf(text) {
			if why := slices.IndexFunc(prefixes, func(begin string) bool { return strings.HasPrefix(command, begin) }); why >= 0 {
				skipped[prefixes[why]] = true
				continue
			}
			commands = append(commands, command)
		}
		if len(commands) == 0 {
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			i := newInstall(t)
			if strings.Contains(text, "CLAVIGER_API_KEY=…") { // a partner has no operator's token
				i.env = slices.DeleteFunc(i.env, func(v string) bool { return strings.HasPrefix(v, "CLAVIGER_OPERATOR_TOKEN=") })
			}
			for _, command := range commands {
				i.run(command)
			}
		})
	}
	if len(skipped) != len(notRun) {
		t.Errorf("of %d commands that are not run, the guides have %d", len(notRun), len(skipped))
	}
}
