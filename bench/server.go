package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"claviger/bench/internal/seed"
	"claviger/bench/internal/yard"
	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/payment"
	claviger "claviger/sdk/go"
)

// serviceRole is this program as the service, in a separate process. The load generator is then the
// same for both sides of a comparison, and neither shares its memory, garbage collector or locks.
const serviceRole = "service"

// serveRole runs such a process. It ends with its standard input, so that none outlives its run.
func serveRole(ctx context.Context, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return serveService(ctx, args)
}

// serveService is `claviger serve` except for the log: every line is made and then discarded.
func serveService(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(serviceRole, flag.ContinueOnError)
	url := flags.String("db", "", "the database")
	behind := flags.Duration("behind", 0, "how far its clock is behind, for data that was seeded then")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg := app.Defaults(app.Serve)
	cfg.Addr, cfg.AdminAddr, cfg.PprofAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.PublicURL = "https://licenses.example.com"
	cfg.SecretKey, cfg.RateLimit, cfg.DB, cfg.AllowPrivateTargets = seed.SecretKey, 0, *url, true
	// the operator signs in with only a password
	cfg.RequireSecondFactor = account.RequireNone
	// never answered
	cfg.Stripe = payment.StripeConfig{Key: stripeKey, WebhookSecrets: []string{stripeSecret}, URL: "http://127.0.0.1:9"}
	cfg.Log = cfg.Logger(io.Discard)
	cfg.Now = func() time.Time { return app.Now().Add(-*behind) }
	app.SpendMemory()
	service, err := app.New(ctx, cfg)
	if err != nil {
		return err
	}
	at := yard.Address{Addr: service.Addr(), Admin: service.AdminAddr(), Pprof: service.PprofAddr()}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	return service.Run(ctx)
}

// server is a running server process.
type server struct {
	yard.Address
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *json.Decoder
}

// start starts a program; first is written to its input.
func start(ctx context.Context, first []byte, program string, args ...string) (_ *server, err error) {
	s := &server{cmd: exec.CommandContext(ctx, program, args...)}
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
	s.output = json.NewDecoder(output)
	_, err = s.input.Write(first)
	if err == nil {
		err = s.output.Decode(&s.Address)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("start %v: %w", args, err)
	}
	return s, nil
}

// startService starts the whole service on a database.
func startService(ctx context.Context, url string) (*server, error) {
	return startServiceAt(ctx, url, 0)
}

// startServiceAt starts it with a clock that is slow by a duration.
func startServiceAt(ctx context.Context, url string, behind time.Duration) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return start(ctx, nil, self, serviceRole, "-db", url, "-behind", behind.String())
}

// startYardstick starts a yardstick with its task.
func (b *bench) startYardstick(ctx context.Context, role string, told any) (*server, error) {
	program, err := b.build(ctx, "yardstick", "claviger/bench/yardstick")
	if err != nil {
		return nil, err
	}
	first, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	return start(ctx, append(first, '\n'), program, role)
}

// build builds a program of this module into the data folder.
func (b *bench) build(ctx context.Context, name, path string) (string, error) {
	program, err := filepath.Abs(filepath.Join(b.data, name))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, path) //nolint:gosec // a program of ours
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	return program, nil
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// stop ends the server and waits for that.
func (s *server) stop() {
	_ = s.input.Close()
	_ = s.cmd.Wait()
}

// profile writes the server's CPU profile of the next seconds into a file.
func (b *bench) profileOf(ctx context.Context, s *server, name string, seconds int) error {
	resp, err := get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.Pprof, seconds))
	if err != nil {
		return fmt.Errorf("take a profile: %w", err)
	}
	path := filepath.Join(b.data, name+".prof")
	say("  profile in %s", path)
	return os.WriteFile(path, resp.Body, 0o600)
}

// counter reads one of the server's metrics.
func (s *server) counter(ctx context.Context, name string) (float64, error) {
	resp, err := get(ctx, "http://"+s.Admin+"/metrics")
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

// readAPI calls the API once and returns the answer, which must be 200.
func readAPI(ctx context.Context, url, path, key string) (yard.Answer, error) {
	c, err := claviger.NewClient(claviger.Config{URL: url, Secret: key})
	if err != nil {
		return yard.Answer{}, err
	}
	resp, err := c.Send(ctx, claviger.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return yard.Answer{}, err
	}
	if resp.Status != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", path, resp.Status, resp.Body)
	}
	resp.Header.Del("Date") // the server sets it
	return yard.Answer{Header: resp.Header, Body: resp.Body}, err
}

// get requests another path of a server once and returns the answer, which must be 200.
func get(ctx context.Context, url string) (yard.Answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return yard.Answer{}, err
	}
	return keep(r)
}

// keep sends a request and returns the answer, which must be 200.
func keep(r *http.Request) (yard.Answer, error) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return yard.Answer{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read to its end
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %s", r.URL, resp.Status, body)
	}
	resp.Header.Del("Date") // the server sets it
	return yard.Answer{Header: resp.Header, Body: body}, err
}
