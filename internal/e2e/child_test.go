package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
	"claviger/internal/sqldb/sqldbtest"
)

// logShown is the size of a child's log that a failed test shows.
const logShown = 8 << 10

// folder contains the built program; TestMain removes it.
var folder string

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests here mostly wait: for a lease to end, a browser, a retry.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var err error
	if folder, err = os.MkdirTemp("", "claviger-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if b := started.Load(); b != nil {
		b.Close()
	}
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// started is the browser of launched; TestMain ends it.
var started atomic.Pointer[browser.Browser]

// launched starts the one Chromium of all tests here.
var launched = sync.OnceValues(func() (*browser.Browser, error) {
	b, err := browser.Launch()
	if err == nil {
		b.Once = sqldbtest.Postgres() // SQLite's run checks all of them
		started.Store(b)
	}
	return b, err
})

// chromium returns the Chromium that all tests share, each in its own tabs. Without one the test is
// skipped.
func chromium(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := launched()
	if errors.Is(err, browser.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// both is the folder that script/on-both shares between the two runs of this test binary; empty for
// a single run.
var both = os.Getenv("ON_BOTH_FOLDER")

// program builds the released form of the program, once: linking costs more CPU than most tests. Of
// two runs one builds it for both.
var program = sync.OnceValues(func() (string, error) {
	if both == "" {
		return build(filepath.Join(folder, "claviger"))
	}
	made, failed := filepath.Join(both, "claviger"), filepath.Join(both, "failed")
	err := os.Mkdir(filepath.Join(both, "building"), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return awaitProgram(made, failed)
	}
	if err != nil {
		return "", err
	}
	path, err := build(filepath.Join(both, "building", "claviger"))
	if err != nil {
		return "", errors.Join(err, os.WriteFile(failed, nil, 0o600))
	}
	return made, os.Rename(path, made) // whole, or not there
})

// awaitProgram waits until the other run has built the program, or failed to.
func awaitProgram(made, failed string) (string, error) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		if _, err := os.Stat(made); err == nil {
			return made, nil
		}
		if _, err := os.Stat(failed); err == nil {
			return "", errors.New("the other run could not build the program")
		}
	}
}

func build(path string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-w", "-o", path, "claviger/cmd/claviger")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

// child is a `claviger dev` process.
type child struct {
	cmd  *exec.Cmd
	out  io.Reader
	log  *childLog // its standard error
	line []byte    // the first line of its output
	card devserver.Card
}

// childLog is the output of a process. It may be read while the process writes.
type childLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // closed and replaced at each write
}

func (l *childLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.grown)
	l.grown = make(chan struct{})
	return l.text.Write(p)
}

// String returns the log so far.
func (l *childLog) String() string {
	text, _ := l.read()
	return text
}

// read returns the log so far, and a channel that is closed when there is more.
func (l *childLog) read() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.grown
}

// launch starts `claviger dev` on a free port with more flags, and returns after its first line.
func launch(t *testing.T, flags ...string) *child {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{log: &childLog{grown: make(chan struct{})}}
	c.cmd = exec.CommandContext(t.Context(), path, append([]string{"dev", "--json", "--addr", "127.0.0.1:0"}, flags...)...)
	c.cmd.Dir = t.TempDir()
	c.cmd.Env = []string{"TMPDIR=" + t.TempDir()}
	c.cmd.Stderr = c.log
	pipe, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.end(syscall.SIGKILL)
		}
		if t.Failed() {
			text := c.log.String()
			t.Logf("claviger %v wrote:\n%s", flags, text[max(0, len(text)-logShown):])
		}
	})
	buffered := bufio.NewReader(pipe)
	c.out = buffered
	if c.line, err = buffered.ReadBytes('\n'); err != nil {
		_ = c.end(syscall.SIGKILL)
		t.Fatalf("read the first line: %v\n%s", err, c.log)
	}
	if err := json.Unmarshal(c.line, &c.card); err != nil {
		t.Fatalf("the first line is not the object: %v\n%s", err, c.line)
	}
	return c
}

// end sends a signal and waits until the process has ended.
func (c *child) end(s syscall.Signal) error {
	_ = c.cmd.Process.Signal(s)
	_, _ = io.Copy(io.Discard, c.out)
	return c.cmd.Wait()
}

func (c *child) operator() caller {
	return caller{base: c.card.BaseURL, token: c.card.OperatorToken}
}

func (c *child) partner() caller {
	return caller{base: c.card.BaseURL, token: c.card.Partner.APIKey}
}
