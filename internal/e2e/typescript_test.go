package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// TestTypeScriptClient builds the TypeScript client, checks with the compiler which types are
// refused, and runs its own tests, also against a service.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	if sqldbtest.Postgres() {
		t.Skip("the client is the same on either database")
	}
	folder := nodeProgram(t, "../../sdk/typescript")
	// The build copies the verifier from its own folder.
	beside := filepath.Join(filepath.Dir(folder), "verify", "js")
	if err := os.CopyFS(beside, os.DirFS("../../sdk/verify/js")); err != nil {
		t.Fatal(err)
	}
	a := newApplication(t, devNode(t, nil))
	key := a.sells("typescript-order")
	code := a.code(a.visitor().connects(a.start(), a.redirect))
	card, err := json.Marshal(a.card)
	if err != nil {
		t.Fatal(err)
	}
	npm := exec.CommandContext(t.Context(), "npm", "test")
	npm.Dir = folder
	npm.Env = append(os.Environ(), "CLAVIGER_CARD="+string(card), "CLAVIGER_CODE="+code, "CLAVIGER_LICENSE="+key, "CLAVIGER_REDIRECT="+a.redirect)
	if out, err := npm.CombinedOutput(); err != nil || strings.Contains(string(out), "# SKIP") {
		t.Errorf("npm test: %v\n%s", err, out)
	}
}
