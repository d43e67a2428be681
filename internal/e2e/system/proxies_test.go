//go:build unix

package system_test

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// salesEvery is the interval between two sales: 50 a second.
const salesEvery = 20 * time.Millisecond

// leastSales is the number of sales during a rolling restart.
const leastSales = 1000

// noticed is how long a proxy may take until it notices that a killed node has closed its connections.
const noticed = 250 * time.Millisecond

// TestRestartsBehindProxies restarts three nodes behind the proxies of deploy/, one after another, while
// 50 licenses a second are sold: no sale fails. Then a node is killed: only its requests in flight fail,
// and their repetition sells once.
func TestRestartsBehindProxies(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("several nodes need PostgreSQL; make system-test starts one")
	}
	p := programsOf(t)
	for _, proxy := range []struct {
		name    string
		command func(*site) *exec.Cmd
	}{{"nginx", nginx}, {"caddy", caddy}} {
		t.Run(proxy.name, func(t *testing.T) {
			s := newSite(t)
			db := sqldbtest.Empty(t)
			c := seed(t, p.now, db, newReceiver(t).URL)
			var nodes []*node
			for _, addr := range s.nodes {
				nodes = append(nodes, s.serve(p.now, db, addr))
			}
			s.start(proxy.command(s))
			s.restart(p.now, db, nodes, c)
			s.kill(p.now, db, nodes, c)
		})
	}
}

// restart restarts node after node under load.
func (s *site) restart(program, db string, nodes []*node, c card) {
	s.Helper()
	m := s.open(c, "restart")
	<-time.After(steady)
	for i, n := range nodes {
		n.stop()
		nodes[i] = s.serve(program, db, n.addr)
		<-time.After(steady / 2)
	}
	sales := m.close()
	failed := 0
	for _, sale := range sales {
		if sale.failure != "" {
			failed++
			s.Errorf("a sale failed: %s", sale.failure)
		}
	}
	s.Logf("rolling restart: %d of %d sales failed", failed, len(sales))
	if len(sales) < leastSales {
		s.Errorf("%d sales are too few", len(sales))
	}
	s.soldOnce(db, "restart", len(sales))
}

// kill kills a node under load and starts it again.
func (s *site) kill(program, db string, nodes []*node, c card) {
	s.Helper()
	m := s.open(c, "kill")
	<-time.After(steady)
	_ = nodes[1].cmd.Process.Kill()
	_ = nodes[1].cmd.Wait()
	gone := time.Now().Add(noticed)
	<-time.After(steady)
	nodes[1] = s.serve(program, db, nodes[1].addr)
	<-time.After(steady / 2)
	sales := m.close()
	failed := 0
	for _, sale := range sales {
		if sale.failure == "" {
			continue
		}
		failed++
		if sale.began.After(gone) {
			s.Errorf("a sale that began %v after the node was killed failed: %s", sale.began.Sub(gone)+noticed, sale.failure)
		}
		if again := m.sell(sale.order); again.failure != "" {
			s.Errorf("the repetition of %s failed: %s", sale.order, again.failure)
		}
	}
	s.Logf("kill -9: %d of %d sales failed, and were repeated", failed, len(sales))
	s.soldOnce(db, "kill", len(sales))
}

// soldOnce checks that each order was sold once.
func (s *site) soldOnce(url, orders string, n int) {
	s.Helper()
	db := sqldbtest.OpenWith(s.T, url, sqldb.Options{Readers: 2})
	for _, sql := range []string{
		`SELECT count(*) FROM purchases WHERE external_id LIKE $1`,
		`SELECT count(DISTINCT external_id) FROM purchases WHERE external_id LIKE $1`,
	} {
		sold, err := sqldb.One(s.Context(), db, sqldb.Value[int], sql, orders+"-%")
		if err != nil {
			s.Fatal(err)
		}
		if sold != n {
			s.Errorf("%d of %d orders: %s", sold, n, sql)
		}
	}
}

// site has three nodes behind a proxy with TLS.
type site struct {
	*testing.T
	dir    string
	port   string // of the proxy
	url    string
	nodes  []string
	client *http.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	addresses := freeAddresses(t, 4)
	_, port, err := net.SplitHostPort(addresses[3])
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, dir: t.TempDir(), port: port, url: "https://" + addresses[3], nodes: addresses[:3]}
	s.certificate()
	return s
}

// certificate writes the certificate of Go's own tests, and makes a client that trusts it.
func (s *site) certificate() {
	s.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		s.Fatal(err)
	}
	s.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	s.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	s.client = server.Client()
	s.client.Timeout = 20 * time.Second
	s.Cleanup(s.client.CloseIdleConnections)
}

func (s *site) write(name, text string) string {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// serve starts a node behind the proxy.
func (s *site) serve(program, db, addr string) *node {
	s.Helper()
	return serve(s.T, program, db, addr, s.url, "--trusted-proxies", "127.0.0.1,::1")
}

// start starts the proxy and waits until a request comes through.
func (s *site) start(cmd *exec.Cmd) {
	s.Helper()
	var said bytes.Buffer
	cmd.Stdout = &said
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if s.Failed() {
			s.Logf("the proxy wrote:\n%s", said.String()[max(0, said.Len()-3000):])
		}
	})
	await(s.T, "the proxy passes requests on", func() bool {
		resp, err := s.client.Get(s.url + "/readyz") //nolint:noctx // bounded
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// nginx returns the command of nginx with the file of deploy/.
func nginx(s *site) *exec.Cmd {
	addresses := freeAddresses(s.T, 1)
	text := s.deployed("nginx.conf",
		"listen [::]:80;", "", "listen [::]:443 ssl http2;", "",
		"listen 80;", "listen "+addresses[0]+";", "listen 443 ", "listen 127.0.0.1:"+s.port+" ",
		"server_name licenses.example.com;", "server_name 127.0.0.1;",
		"server 127.0.0.1:8080;", "server "+strings.Join(s.nodes, ";\nserver ")+";",
		"/etc/letsencrypt/live/licenses.example.com/fullchain.pem", s.dir+"/cert.pem",
		"/etc/letsencrypt/live/licenses.example.com/privkey.pem", s.dir+"/key.pem")
	head := "daemon off;\nmaster_process off;\npid " + s.dir + "/nginx.pid;\nerror_log stderr;\nevents {}\n" +
		"http {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		head += kind + "_temp_path " + s.dir + "/" + kind + ";\n"
	}
	file := s.write("nginx.conf", head+text+"}\n")
	return exec.CommandContext(s.Context(), s.tool("nginx"), "-p", s.dir, "-e", "stderr", "-c", file)
}

// caddy returns the command of Caddy with the file of deploy/. CLAVIGER_CADDY names another build of it.
func caddy(s *site) *exec.Cmd {
	text := "{\n\tadmin off\n\tauto_https off\n}\n" + s.deployed("Caddyfile",
		"\trequest_body {", "\ttls "+s.dir+"/cert.pem "+s.dir+"/key.pem\n\trequest_body {")
	program := cmp.Or(os.Getenv("CLAVIGER_CADDY"), s.tool("caddy"))
	cmd := exec.CommandContext(s.Context(), program, "run", "--adapter", "caddyfile", "--config", s.write("Caddyfile", text))
	cmd.Env = []string{"HOME=" + s.dir, "SITE=" + s.url, "NODES=" + strings.Join(s.nodes, " ")}
	return cmd
}

// deployed returns a file of deploy/ with each of the pairs replaced.
func (s *site) deployed(name string, pairs ...string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", name))
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			s.Fatalf("%s has no %q", name, pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(string(text))
}

// tool returns the path of a program that script/deploy-tools installs.
func (s *site) tool(name string) string {
	s.Helper()
	for _, at := range []string{name, "/usr/sbin/" + name} { // not in the path of normal users
		if found, err := exec.LookPath(at); err == nil {
			return found
		}
	}
	s.Skipf("%s is not on this machine; script/deploy-tools installs it", name)
	return ""
}

// market sells 50 licenses a second.
type market struct {
	*site
	card   card
	orders string // name of the orders
	stop   chan struct{}
	all    sync.WaitGroup
	mu     sync.Mutex
	sales  []sale
}

type sale struct {
	order   string
	began   time.Time
	failure string
}

// open opens a market; close closes it and returns the sales.
func (s *site) open(c card, orders string) *market {
	m := &market{site: s, card: c, orders: orders, stop: make(chan struct{})}
	m.all.Go(func() {
		ticker := time.NewTicker(salesEvery)
		defer ticker.Stop()
		for i := 0; ; i++ {
			m.all.Go(func() {
				made := m.sell(fmt.Sprintf("%s-%d", orders, i))
				m.mu.Lock()
				defer m.mu.Unlock()
				m.sales = append(m.sales, made)
			})
			select {
			case <-m.stop:
				return
			case <-ticker.C:
			}
		}
	})
	return m
}

func (m *market) close() []sale {
	close(m.stop)
	m.all.Wait()
	return m.sales
}

// sell sends an order.
func (m *market) sell(order string) sale {
	made := sale{order: order, began: time.Now()}
	body := fmt.Sprintf(`{"partner_id": %d, "tier": 1, "external_id": %q, "user": {"email": %q}}`,
		m.card.Partner.ID, order, m.card.Buyer.Email)
	req, err := http.NewRequestWithContext(m.Context(), http.MethodPost, m.url+"/operator/v1/purchases", strings.NewReader(body))
	if err != nil {
		made.failure = err.Error()
		return made
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+m.card.OperatorToken)
	a, err := do(m.client, req)
	if err != nil || a.status != http.StatusCreated {
		made.failure = fmt.Sprintf("%s at %s: %d %v %.200s", order, made.began.Format(time.TimeOnly), a.status, err, a.body)
	}
	return made
}
