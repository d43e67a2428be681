package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"claviger/bench/internal/seed"
	"claviger/internal/app"
	"claviger/internal/httpd"
	"claviger/internal/sqldb"
)

// Servers run in processes of their own, which are this program in another role:
// the load generator is then the same for both sides, and neither shares its
// memory, its garbage collector or its locks.
const (
	houseRole  = "house"  // the whole service
	bareRole   = "bare"   // a handler that writes bytes it was given
	signerRole = "signer" // a handler that signs identity tokens; see signer.go
)

// address is the line by which a server says where it listens.
type address struct {
	Addr  string `json:"addr"`
	Admin string `json:"admin"`
}

// answer is what the bare handler answers, whatever it is asked.
type answer struct {
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// serveRole is the life of a server process. It ends with its standard input, so
// that none outlives the run that started it.
func serveRole(ctx context.Context, role string, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	input := bufio.NewReader(os.Stdin)
	if role == houseRole {
		go endWith(input, cancel)
		return serveHouse(ctx, args)
	}
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the answer to give: %w", err)
	}
	go endWith(input, cancel)
	handler := bareHandler
	if role == signerRole {
		handler = signingHandler
	}
	h, err := handler(line)
	if err != nil {
		return err
	}
	return serveBare(ctx, h)
}

func endWith(r io.Reader, cancel func()) {
	_, _ = io.Copy(io.Discard, r)
	cancel()
}

// serveHouse is `claviger serve` but for the yardsticks, which are no settings
// of the service, and for the log: every line is made, none is kept.
func serveHouse(ctx context.Context, args []string) error {
	var o sqldb.Options
	flags := flag.NewFlagSet(houseRole, flag.ContinueOnError)
	url := flags.String("db", "", "the database")
	flags.BoolVar(&o.SingleCommits, "single-commits", false, "commit every SQLite transaction on its own")
	flags.BoolVar(&o.RoundTrips, "round-trips", false, "send every PostgreSQL statement on its own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg := app.Defaults(app.Serve)
	cfg.Addr, cfg.AdminAddr, cfg.PublicURL = "127.0.0.1:0", "127.0.0.1:0", "https://licenses.example.com"
	cfg.SecretKey, cfg.RateLimit, cfg.DB, cfg.AllowPrivateTargets = seed.SecretKey, 0, *url, true
	cfg.Log = cfg.Logger(io.Discard)
	db, err := sqldb.Open(ctx, *url, o)
	if err != nil {
		return err
	}
	house, err := app.NewOn(ctx, db, cfg)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if err := json.NewEncoder(os.Stdout).Encode(address{house.Addr(), house.AdminAddr()}); err != nil {
		return err
	}
	return house.Run(ctx)
}

// bareHandler writes the same bytes under the same headers, and does nothing
// else.
func bareHandler(given []byte) (http.HandlerFunc, error) {
	var a answer
	if err := json.Unmarshal(given, &a); err != nil {
		return nil, fmt.Errorf("read the answer to give: %w", err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		a.head(w)
		_, _ = w.Write(a.Body)
	}, nil
}

// head sets the headers of the answer.
func (a answer) head(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
}

// serveBare serves a handler by a server with the timeouts of the service.
func serveBare(ctx context.Context, handler http.Handler) error {
	var lc net.ListenConfig
	socket, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: httpd.DefaultMaxHeaderBytes,
	}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(address{Addr: socket.Addr().String()}); err != nil {
		return err
	}
	if err := s.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// server is a server process, as the run that started it sees it.
type server struct {
	address
	cmd   *exec.Cmd
	input io.WriteCloser
}

// start starts this program in a role; first is written to its input.
func start(ctx context.Context, first []byte, args ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &server{cmd: exec.CommandContext(ctx, self, args...)}
	s.cmd.Stderr = os.Stderr
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = s.input.Write(first)
	if err == nil {
		err = json.NewDecoder(output).Decode(&s.address)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("start %v: %w", args, err)
	}
	return s, nil
}

// startHouse starts the whole service on a database.
func startHouse(ctx context.Context, url string, flags ...string) (*server, error) {
	return start(ctx, nil, append([]string{houseRole, "-db", url}, flags...)...)
}

// startBare starts the handler that always answers what a did.
func startBare(ctx context.Context, a answer) (*server, error) { return startGiven(ctx, bareRole, a) }

// startGiven starts a handler that is told what to answer.
func startGiven(ctx context.Context, role string, given any) (*server, error) {
	first, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	return start(ctx, append(first, '\n'), role)
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// stop ends the server and waits for that.
func (s *server) stop() {
	_ = s.input.Close()
	_ = s.cmd.Wait()
}

// profile writes the server's CPU profile of the next seconds into a file.
func (b *bench) profileOf(ctx context.Context, s *server, name string, seconds int) error {
	resp, err := get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.Admin, seconds), "")
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	path := filepath.Join(b.data, name+".prof")
	say("  profile in %s", path)
	return os.WriteFile(path, resp.Body, 0o600)
}

// counter reads one of the server's metrics.
func (s *server) counter(ctx context.Context, name string) (float64, error) {
	resp, err := get(ctx, "http://"+s.Admin+"/metrics", "")
	if err != nil {
		return 0, fmt.Errorf("read the metrics: %w", err)
	}
	for line := range strings.Lines(string(resp.Body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// get asks once and keeps the answer, which must be 200.
func get(ctx context.Context, url, token string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return keep(r)
}

// keep sends a request and keeps the answer, which must be 200.
func keep(r *http.Request) (answer, error) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read to its end
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %s", r.URL, resp.Status, body)
	}
	resp.Header.Del("Date") // the server sets it
	return answer{resp.Header, body}, err
}
