//go:build unix

package system_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// current builds the working tree once, as it is.
var current = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "claviger-current-*")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "claviger")
	return to, build(root, to, "")
})

func currentProgram(t *testing.T) string {
	t.Helper()
	program, err := current()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// serverFolder returns a folder for the user of database servers, which refuse to run as root.
func serverFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "claviger-server-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if who := serverUser(t); who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serverUser returns the user postgres if this process is root's; otherwise nil.
func serverUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("database servers do not run as root, and there is no user postgres")
	}
	uid, _ := strconv.ParseUint(who.Uid, 10, 32)
	gid, _ := strconv.ParseUint(who.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// asServer returns a command that runs as the user of database servers, in a process group of its own.
func asServer(t *testing.T, dir, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: serverUser(t), Setpgid: true}
	return cmd
}

// run runs a command to its end.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// background starts a server, which ends with the test.
func background(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout = &said
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killGroup(cmd)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", cmd.Path, said.String()[max(0, said.Len()-3000):])
		}
	})
}

// killGroup kills a server and its children.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// portOf returns the port of an address.
func portOf(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// deal is a purchase that was tried.
type deal struct {
	order  string
	began  time.Time
	took   time.Duration
	status int
}

// buyers buy at nodes in turn, 40 times a second.
type buyers struct {
	*testing.T
	card  card
	nodes []*node
	stop  chan struct{}
	all   sync.WaitGroup

	mu    sync.Mutex
	deals []deal
}

func startBuyers(t *testing.T, c card, nodes ...*node) *buyers {
	b := &buyers{T: t, card: c, nodes: nodes, stop: make(chan struct{})}
	b.all.Go(func() {
		ticker := time.NewTicker(25 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			b.all.Go(func() { b.buy(i) })
			select {
			case <-b.stop:
				return
			case <-ticker.C:
			}
		}
	})
	return b
}

func (b *buyers) buy(i int) {
	d := deal{order: fmt.Sprintf("deal-%d", i), began: time.Now()}
	body := fmt.Sprintf(`{"partner_id":%d,"tier":1,"external_id":%q,"user":{"email":%q}}`, b.card.Partner.ID, d.order, b.card.Buyer.Email)
	url := "http://" + b.nodes[i%len(b.nodes)].addr + "/operator/v1/purchases"
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+b.card.OperatorToken)
	a, err := do(&http.Client{Timeout: time.Minute}, req)
	d.took = time.Since(d.began)
	d.status = a.status
	if err != nil || a.status != http.StatusCreated && a.status != http.StatusServiceUnavailable {
		b.Errorf("%s is answered %d %v: %.200s", d.order, a.status, err, a.body)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deals = append(b.deals, d)
}

// since returns whether a purchase that began after a time was acknowledged.
func (b *buyers) since(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.deals, func(d deal) bool { return d.began.After(at) && d.status == http.StatusCreated })
}

// end waits for the last answer and returns all purchases.
func (b *buyers) end() []deal {
	close(b.stop)
	b.all.Wait()
	return b.deals
}

// between returns the purchases that began between two times.
func between(list []deal, from, to time.Time) []deal {
	return slices.DeleteFunc(slices.Clone(list), func(d deal) bool { return d.began.Before(from) || !d.began.Before(to) })
}

// took returns a percentile of the times of purchases, and the number of those that failed.
func took(list []deal, percent int) (d time.Duration, failed int) {
	if len(list) == 0 {
		return 0, 0
	}
	times := make([]time.Duration, len(list))
	for i, d := range list {
		times[i] = d.took
		if d.status != http.StatusCreated {
			failed++
		}
	}
	slices.Sort(times)
	return times[min(len(times)*percent/100, len(times)-1)].Round(time.Millisecond), failed
}

// orders returns the numbers of the orders of acknowledged purchases.
func orders(list []deal) (acknowledged []string) {
	for _, d := range list {
		if d.status == http.StatusCreated {
			acknowledged = append(acknowledged, d.order)
		}
	}
	return acknowledged
}
