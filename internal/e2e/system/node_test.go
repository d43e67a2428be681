//go:build unix

package system_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// secretKey is the key of all nodes, as --secret-key takes it.
const secretKey = "c3lzdGVtIHRlc3Qga2V5IG9mIDMyIGJ5dGVzIC4uLi4="

// card has the credentials that claviger dev prints.
type card struct {
	OperatorToken string `json:"operator_token"`
	Partner       struct {
		ID           int64  `json:"id"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		APIKey       string `json:"api_key"`
	} `json:"partner"`
	Buyer  person `json:"buyer"`
	Member person `json:"member"`
}

type person struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// seed has claviger dev seed a database, and returns its credentials.
func seed(t *testing.T, program, db, webhook string) card {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "dev", "--json", "--addr", "127.0.0.1:0", "--db", db, "--webhook", webhook)
	cmd.Env = environment()
	cmd.Dir = t.TempDir()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var c card
	line, err := bufio.NewReader(pipe).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c)
	}
	if err != nil {
		t.Fatalf("seed the database: %v\n%s", err, log.String())
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, pipe)
	_ = cmd.Wait()
	return c
}

func environment() []string { return []string{"CLAVIGER_SECRET_KEY=" + secretKey} }

// node is a process that serves the database.
type node struct {
	testing.TB
	cmd  *exec.Cmd
	addr string
	log  *journal
}

// journal is the log of a node.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// serve starts a node at an address, with additional arguments, and waits until it is ready.
func serve(t *testing.T, program, db, addr, public string, more ...string) *node {
	t.Helper()
	n := &node{TB: t, addr: addr, log: &journal{}}
	args := []string{
		"serve", "--db", db, "--addr", addr, "--public-url", public,
		"--allow-private-targets", "--rate-limit", "0", "--admin-addr", "off",
	}
	n.cmd = exec.CommandContext(t.Context(), program, append(args, more...)...)
	n.cmd.Env = environment()
	n.cmd.Dir = t.TempDir()
	n.cmd.Stderr = n.log
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n.cmd.ProcessState == nil {
			_ = n.cmd.Process.Kill()
			_ = n.cmd.Wait()
		}
		if t.Failed() {
			text := n.log.String()
			t.Logf("%s wrote:\n%s", program, text[max(0, len(text)-3000):])
		}
	})
	await(t, "a node is ready", func() bool { status, _ := n.ready(); return status == http.StatusOK })
	return n
}

// ready returns the answer of /readyz; 0 if there is none.
func (n *node) ready() (int, string) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + n.addr + "/readyz") //nolint:noctx // bounded
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close() //nolint:errcheck // read
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// stop stops a node in order.
func (n *node) stop() {
	n.Helper()
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	if err := n.cmd.Wait(); err != nil {
		n.Errorf("a node did not stop in order: %v", err)
	}
}

// patience is how long a test waits. A node counts as gone when it was silent for a minute.
const patience = 3 * time.Minute

// await waits until so returns true.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is not so after %v: %s", patience, what)
		}
	}
}

// command runs a command of the program and returns its output.
func command(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = environment()
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// freeAddresses returns unused addresses. Their ports are below those that the system gives to outgoing
// connections, which would take them before a server does.
func freeAddresses(t *testing.T, n int) (list []string) {
	t.Helper()
	for tries := 0; len(list) < n; tries++ {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
		if err != nil && tries > 1000 {
			t.Fatal(err)
		}
		if err != nil {
			continue
		}
		defer l.Close() //nolint:errcheck // only its number counts
		list = append(list, l.Addr().String())
	}
	return list
}

// balancer sends each request to the next node that is ready, as a proxy does. If a node refuses the
// connection, the request goes to another one.
type balancer struct {
	inner http.RoundTripper
	mu    sync.Mutex
	nodes []string
	next  int
	out   map[string]bool // not ready
}

func newBalancer(t *testing.T, nodes ...string) *balancer {
	b := &balancer{nodes: nodes, out: map[string]bool{}, inner: &http.Transport{DisableKeepAlives: true}}
	go b.watch(t)
	return b
}

// watch asks the nodes whether they are ready.
func (b *balancer) watch(t *testing.T) {
	for t.Context().Err() == nil {
		for _, addr := range b.nodes {
			status, _ := (&node{addr: addr}).ready()
			b.mu.Lock()
			b.out[addr] = status != http.StatusOK
			b.mu.Unlock()
		}
		<-time.After(100 * time.Millisecond)
	}
}

// order returns the nodes to try: those that are ready first.
func (b *balancer) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	var list []string
	for i := range b.nodes {
		list = append(list, b.nodes[(b.next+i)%len(b.nodes)])
	}
	slices.SortStableFunc(list, func(x, y string) int {
		switch {
		case b.out[x] == b.out[y]:
			return 0
		case b.out[y]:
			return -1
		}
		return 1
	})
	return list
}

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	for _, addr := range b.order() {
		again := r.Clone(r.Context())
		if r.GetBody != nil {
			again.Body, _ = r.GetBody()
		}
		again.URL.Host = addr
		again.Host = r.URL.Host
		var resp *http.Response
		if resp, err = b.inner.RoundTrip(again); err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return resp, err
		}
	}
	return nil, err
}

// has reports whether a text has all words.
func has(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
