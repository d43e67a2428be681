package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"claviger/internal/app"
	"claviger/internal/apptest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"claviger": func() {
		stripeURL = os.Getenv("TEST_STRIPE") // of this program alone: it is a test
		prepare = func(s *app.Services) { apptest.Cheapen(s, "", 1024) }
		main()
	}})
}

// TestScripts runs the command lines of testdata, which read like a terminal.
// Commands that serve are tested in package e2e.
func TestScripts(t *testing.T) {
	onlySQLite(t)
	testscript.Run(t, testscript.Params{
		Dir:  "testdata",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
	})
}

// exits runs a command and checks its exit code: exits 2 claviger serve x.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}
