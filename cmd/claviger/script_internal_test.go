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
		stripeURL = os.Getenv("TEST_STRIPE") // only in this test program
		prepare = func(s *app.Services) { apptest.Cheapen(s, "", 1024) }
		main()
	}})
}

// TestScripts runs the scripts of testdata, which look like terminal sessions. Package e2e tests
// the commands that serve.
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
