//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// activated is claviger serve on SQLite with a socket that a service manager keeps open.
type activated struct {
	*testing.T
	dir  string
	log  bytes.Buffer // of the service; read it after the service has ended
	envs []string
}

func newActivated(t *testing.T) *activated {
	t.Helper()
	dir := t.TempDir()
	return &activated{T: t, dir: dir, envs: []string{"CLAVIGER_ADMIN_ADDR=off", "CLAVIGER_ADDR=127.0.0.1:1", "TMPDIR=" + dir}}
}

// start starts a command; the test ends it at the latest.
func (a *activated) start(cmd *exec.Cmd) *exec.Cmd {
	a.Helper()
	cmd.Dir = a.dir
	cmd.Env = append(cmd.Env, a.envs...)
	cmd.Stdout = &a.log
	cmd.Stderr = &a.log
	if err := cmd.Start(); err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// end stops a process in order.
func (a *activated) end(cmd *exec.Cmd) {
	a.Helper()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		a.Errorf("the service did not end in order: %v\n%s", err, a.log.String())
	}
}

// get requests a path on a new connection.
func (a *activated) get(at string) error {
	// The socket takes connections also if no process serves.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	r, err := http.NewRequestWithContext(a.Context(), http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // not read
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// TestRestartWithAKeptSocket: while the service manager keeps the socket open, requests during a
// restart wait, and none is refused.
func TestRestartWithAKeptSocket(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("several nodes on PostgreSQL need no kept socket")
	}
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is kept for the whole test
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close() //nolint:errcheck // nothing was written
	a := newActivated(t)
	serve := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec "+path+" serve --db s.db")
		cmd.ExtraFiles = []*os.File{socket}
		return a.start(cmd)
	}
	at := "http://" + l.Addr().String() + "/livez"
	first := serve()
	if err := a.get(at); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var answered atomic.Int64
	failed := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := a.get(at); err != nil {
				failed <- err
				return
			}
			answered.Add(1)
			time.Sleep(time.Millisecond)
		}
		failed <- nil
	}()
	a.end(first)
	before := answered.Load()
	second := serve()
	for answered.Load() < before+3 && len(failed) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-failed; err != nil {
		t.Errorf("a request during the restart: %v", err)
	}
	a.end(second)
}

// TestSocketActivation: the service takes the socket that systemd passes.
func TestSocketActivation(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("once is enough")
	}
	t.Parallel()
	tool := deployTool(t, "systemd-socket-activate")
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	a := newActivated(t)
	addr := "127.0.0.1:" + freePort(t)
	// systemd-socket-activate passes only the variables that it is told to.
	args := []string{"-l", addr}
	for _, env := range a.envs {
		args = append(args, "-E", env)
	}
	cmd := a.start(exec.CommandContext(t.Context(), tool, append(args, path, "serve", "--db", "s.db")...))
	for range 600 {
		if err = a.get("http://" + addr + "/readyz"); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("it does not answer on the socket: %v", err)
	}
	a.end(cmd)
}
