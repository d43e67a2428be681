package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"claviger/internal/devserver"
	claviger "claviger/sdk/go"
)

// devScripts runs the command lines of a folder against a claviger dev.
func devScripts(t *testing.T, folder string, card devserver.Card, more map[string]string) {
	t.Helper()
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:  folder,
			Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "capture": capture, "appears": appears},
			Setup: func(env *testscript.Env) error {
				env.Setenv("CLAVIGER_URL", card.BaseURL)
				env.Setenv("ADDR", strings.TrimPrefix(card.BaseURL, "http://"))
				env.Setenv("TOKEN", card.OperatorToken)
				env.Setenv("KEY", card.Partner.APIKey)
				env.Setenv("SECRET", card.Partner.WebhookSecret)
				env.Setenv("PARTNER", strconv.FormatInt(card.Partner.ID, 10))
				env.Setenv("BUYER", card.Buyer.Email)
				for name, value := range more {
					env.Setenv(name, value)
				}
				return nil
			},
		})
	})
}

// capture sets a variable to a match in the last output: capture NAME pattern.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture name pattern")
	}
	found := regexp.MustCompile(args[1]).FindString(ts.ReadFile("stdout"))
	if found == "" {
		ts.Fatalf("no %s in the output", args[1])
	}
	ts.Setenv(args[0], found)
}

// appears waits for a file: appears file.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: appears file")
	}
	for look := time.NewTicker(10 * time.Millisecond); ; <-look.C {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
}

// TestDevScripts runs the commands of operators against a claviger dev with its own
// sample application.
func TestDevScripts(t *testing.T) {
	onlySQLite(t)
	card := startDev(t, "", "")
	asked, err := http.PostForm(card.BaseURL+"/sign-in/send", url.Values{"email": {card.Buyer.Email}}) //nolint:noctx // of a test
	if err != nil || asked.Body.Close() != nil || asked.StatusCode != http.StatusOK {
		t.Fatalf("a sign-in link was asked for: %+v %v", asked, err)
	}
	devScripts(t, "testdata/dev", card, nil)
}

// TestControlScripts uses its own claviger dev, because the scripts move its time.
func TestControlScripts(t *testing.T) {
	onlySQLite(t)
	devScripts(t, "testdata/control", startDev(t, "", ""), nil)
}

// TestPartnerScripts uses its own claviger dev: commands without a partner need a single one.
func TestPartnerScripts(t *testing.T) {
	onlySQLite(t)
	devScripts(t, "testdata/partner", startDev(t, "", ""), nil)
}

// TestListenScripts relays the webhooks of a claviger dev to applications that verify
// them. One of them breaks its first connection.
func TestListenScripts(t *testing.T) {
	onlySQLite(t)
	card := startDev(t, "", "")
	var asked atomic.Int64
	verify := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if claviger.VerifyWebhook(card.Partner.WebhookSecret, r.Header, body, time.Now()) != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	application := httptest.NewServer(verify)
	t.Cleanup(application.Close)
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		verify(w, r)
	}))
	t.Cleanup(flaky.Close)
	devScripts(t, "testdata/listen", card, map[string]string{"APP": application.URL, "FLAKY": flaky.URL})
}

// TestColors: words are in color for a person who wants it.
func TestColors(t *testing.T) {
	none := func(string) string { return "" }
	for name, c := range map[string]struct {
		terminal bool
		getenv   func(string) string
		want     bool
	}{
		"a terminal": {true, none, true},
		"a pipe":     {false, none, false},
		"NO_COLOR":   {true, func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }, false},
		"TERM=dumb":  {true, func(name string) string { return map[string]string{"TERM": "dumb"}[name] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wantsColor(c.terminal, c.getenv); got != c.want {
				t.Errorf("color: %t, want %t", got, c.want)
			}
		})
	}
	if got, want := paint("fail", 6, true), "\x1b[31mfail  \x1b[0m"; got != want {
		t.Errorf("painted %q, want %q", got, want)
	}
	if got, want := paint("fail", 6, false), "fail  "; got != want {
		t.Errorf("plain %q, want %q", got, want)
	}
}
