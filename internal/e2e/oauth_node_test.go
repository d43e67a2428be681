package e2e_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openidClient is the folder of the program that uses the library of that name.
const openidClient = "testdata/openid-client"

// TestOpenIDClient runs the whole flow with openid-client, the strictest library: discovery, PKCE,
// state, nonce, the identity token with its signature, userinfo, introspection, refresh and
// revocation.
func TestOpenIDClient(t *testing.T) {
	t.Parallel()
	folder := nodeProgram(t, openidClient)
	whole := newApplication(t, devNode(t, nil))
	key := whole.sells("order-1")
	for _, tt := range []struct {
		name, alg string
		basic     bool
	}{
		{"RS256, secret in the body", "RS256", false},
		{"ES256, secret by Basic", "ES256", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := whole.in(t)
			a.signsWith(tt.alg)
			n := runNode(t, folder, object{
				"issuer": a.card.AuthURL, "client_id": a.card.Partner.ClientID, "client_secret": a.card.Partner.ClientSecret,
				"redirect_uri": a.redirect, "alg": tt.alg, "basic": tt.basic,
			})
			n.tell(a.visitor().connects(n.says(), a.redirect).String())
			type learnt struct {
				Key  string `json:"license_key"`
				Tier int    `json:"tier"`
				Alg  string `json:"alg"`
			}
			if diff := cmp.Diff(learnt{key, 2, tt.alg}, read[learnt](t, answer{body: []byte(n.says())})); diff != "" {
				t.Errorf("the application learnt (-want +got):\n%s", diff)
			}
			if err := n.end(); err != nil {
				t.Errorf("the program ended with %v:\n%s", err, n.log)
			}
		})
	}
}

// nodeProgram returns a copy of a folder with a program and its libraries. npm's result for a
// lockfile is cached in the user's cache.
func nodeProgram(t *testing.T, from string) string {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%s is missing: install Node.js 20 or newer with npm, which this test runs %s in (%v)", name, filepath.Base(from), err)
		}
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "node_modules")); err != nil { // of a developer who works there
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(installed(t, from), "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// installed returns the folder with the libraries of a folder's lockfile.
func installed(t *testing.T, from string) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir() // without a home folder npm runs each time
	}
	cache = filepath.Join(cache, "claviger-e2e")
	sum := sha256.Sum256(lock)
	kept := filepath.Join(cache, filepath.Base(from)+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	// The final name means complete: the folder is renamed after npm has finished.
	fresh, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh) //nolint:errcheck // already moved, or useless
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(fresh, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v; the first run needs the network\n%s", err, out)
	}
	if err := os.Rename(fresh, kept); err != nil {
		if _, late := os.Stat(kept); late != nil { // else another test was first
			t.Fatal(err)
		}
	}
	return kept
}

// nodeRun is the running program.
type nodeRun struct {
	*testing.T
	in  *bufio.Writer
	out *bufio.Scanner
	log *bytes.Buffer
	end func() error
}

// runNode starts the program and passes its settings.
func runNode(t *testing.T, folder string, settings object) *nodeRun {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "whole-way.js")
	cmd.Dir = folder
	n := &nodeRun{T: t, log: &bytes.Buffer{}, end: cmd.Wait}
	cmd.Stderr = n.log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.in, n.out = bufio.NewWriter(in), bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	n.tell(string(text))
	return n
}

// tell writes a line to the program.
func (n *nodeRun) tell(line string) {
	n.Helper()
	if _, err := n.in.WriteString(line + "\n"); err != nil {
		n.Fatal(err)
	}
	if err := n.in.Flush(); err != nil {
		n.Fatal(err)
	}
}

// says returns the next line of the program.
func (n *nodeRun) says() string {
	n.Helper()
	if !n.out.Scan() {
		n.Fatalf("the program ended with %v:\n%s", n.end(), strings.TrimSpace(n.log.String()))
	}
	return n.out.Text()
}
