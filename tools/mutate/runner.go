package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type outcome string

const (
	killed     outcome = "killed"
	alive      outcome = "SURVIVED"
	uncompiled outcome = "uncompiled"
	unknown    outcome = "unknown"
)

// templates names the shared folder for data that test binaries make once. Otherwise the process of
// each change would make it again.
const templates = "SQLDBTEST_TEMPLATES"

// runner builds test binaries and runs them.
type runner struct {
	root     string
	run      string
	packages []string // the changed package is first
	jobs     int
	apart    bool // each change has a separate binary
	log      io.Writer

	dir     string // for temporary files of the run
	env     []string
	code    *code
	overlay string // the code with all changes
	suites  []*suite
	opening sync.Mutex // held while a suite opens
}

// open creates the folder of the run.
func (r *runner) open() error {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	r.dir, r.env = dir, os.Environ()
	if os.Getenv(templates) == "" && r.packages[0] != "./internal/sqldb" { // which makes them
		r.env = append(r.env, templates+"="+dir)
	}
	return nil
}

func (r *runner) close() {
	if err := os.RemoveAll(r.dir); err != nil {
		fmt.Fprintln(r.log, "mutate:", err) //nolint:errcheck // the standard error
	}
}

// prepare writes the code with all changes and opens the package's own suite.
func (r *runner) prepare(p *code, all []*mutation) error {
	r.code = p
	for _, m := range all {
		if r.apart && m.state == together {
			m.state = single
		}
	}
	texts, err := p.write(all)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.state == single && !p.compiles(m) {
			m.state = rejected
		}
	}
	if r.overlay, err = r.writeOverlay(texts); err != nil {
		return err
	}
	for _, pkg := range r.packages {
		r.suites = append(r.suites, &suite{runner: r, pkg: pkg})
	}
	return r.suites[0].open()
}

// writeOverlay writes changed files, and the overlay file for go.
func (r *runner) writeOverlay(texts map[string]string) (string, error) {
	dir, err := os.MkdirTemp(r.dir, "overlay-")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(texts)) {
		replace[path] = filepath.Join(dir, strconv.Itoa(i)+".go")
		if err := os.WriteFile(replace[path], []byte(texts[path]), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// build builds the test binary of a package with an overlay. A package without tests has none.
func (r *runner) build(pkg, overlay string) (string, error) {
	binary := filepath.Join(filepath.Dir(overlay), filepath.Base(pkg)+".test")
	_, err := goCommand(r.root, "test", "-c", "-vet=off", "-overlay="+overlay, "-o", binary, pkg)
	return binary, err
}

// try runs the tests on a change: those of the package itself, then those of the others.
func (r *runner) try(m *mutation) (outcome, error) {
	if m.state == rejected {
		return uncompiled, nil
	}
	overlay := r.overlay
	if m.state == single {
		var err error
		overlay, err = r.writeOverlay(map[string]string{m.path: m.apply(r.code.fileOf(m).text)})
		if err != nil {
			return unknown, err
		}
		defer os.RemoveAll(filepath.Dir(overlay)) //nolint:errcheck // so is the whole folder
	}
	for _, s := range r.suites {
		if err := s.open(); err != nil {
			return unknown, err
		}
		noticed, err := s.notices(m, overlay)
		if err != nil {
			return unknown, err
		}
		if noticed {
			return killed, nil
		}
	}
	return alive, nil
}

// errSlow is the error for a process that took too long.
var errSlow = errors.New("took too long")

// execute runs a test binary in the folder of its package. After the limit it kills the process and
// its children.
func (r *runner) execute(dir, binary string, env []string, limit time.Duration, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, errSlow)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // a test binary of the module
	cmd.Dir = dir
	cmd.Env = append(r.env[:len(r.env):len(r.env)], env...)
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // children of a failed test
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}
