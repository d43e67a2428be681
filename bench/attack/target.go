package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// target is a running `claviger dev` with the bounds of `serve`.
type target struct {
	cmd    *exec.Cmd
	folder string // of its database
	card   card
}

// card is what `dev --json` prints.
type card struct {
	BaseURL       string `json:"base_url"`
	OperatorURL   string `json:"operator_url"`
	OperatorToken string `json:"operator_token"`
	Partner       struct {
		ID     int64  `json:"id"`
		APIKey string `json:"api_key"`
	} `json:"partner"`
	Buyer struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	} `json:"buyer"`
}

// start runs the program under the usual umask of a server, 022.
func (l *lab) start(ctx context.Context, args ...string) (*target, error) {
	folder, err := os.MkdirTemp(l.folder, "db-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // the attack needs a folder that others can enter
		return nil, err
	}
	db := l.db
	if db == "" {
		db = filepath.Join(folder, "claviger.db")
	}
	command := append([]string{
		"-c", `umask 022; exec "$0" "$@"`, l.program, "dev", "--json", "--addr", "127.0.0.1:0",
		"--rate-limit", "600", "--log-level", "error", "--db", db,
	}, args...)
	t := &target{cmd: exec.CommandContext(ctx, "sh", command...), folder: folder} //nolint:gosec // the caller names the program
	t.cmd.Stderr = os.Stderr
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &t.card)
	}
	if err != nil {
		t.stop()
		return nil, fmt.Errorf("read what the program prints at its start: %w", err)
	}
	return t, nil
}

func (t *target) stop() {
	_ = t.cmd.Process.Signal(syscall.SIGKILL)
	_ = t.cmd.Wait()
}

// seller is a partner that an attack made.
type seller struct {
	ID     int64  `json:"id"`
	APIKey string `json:"api_key"`
}

// addPartner makes a partner with one plan.
func (t *target) addPartner(ctx context.Context, name, webhook string) (seller, error) {
	var s seller
	body := map[string]any{"name": name, "webhook_url": webhook, "external_id": name}
	if err := t.operate(ctx, "POST", "/partners", body, &s); err != nil {
		return s, err
	}
	return s, t.operate(ctx, "PUT", "/partners/"+strconv.FormatInt(s.ID, 10)+"/plans/1",
		map[string]any{"name": "Basic", "price_cents": 5900, "currency": "USD"}, nil)
}

// addTwo makes a partner that minds its own business, and one that attacks.
func (t *target) addTwo(ctx context.Context, webhook string) (honest, hostile seller, err error) {
	if honest, err = t.addPartner(ctx, "Honest", ""); err != nil {
		return honest, hostile, err
	}
	hostile, err = t.addPartner(ctx, "Hostile", webhook)
	return honest, hostile, err
}

// sell sells n licenses in orders of at most a hundred.
func (t *target) sell(ctx context.Context, s seller, n int) error {
	for n > 0 {
		order := min(n, 100)
		if err := t.operate(ctx, "POST", "/purchases", map[string]any{"partner_id": s.ID, "tier": 1, "quantity": order}, nil); err != nil {
			return err
		}
		n -= order
	}
	return nil
}

var orders atomic.Int64

// operate calls the operator API.
func (t *target) operate(ctx context.Context, method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, t.card.OperatorURL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+t.card.OperatorToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "attack-"+strconv.FormatInt(orders.Add(1), 10))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, got)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(got, answer)
}

// get asks for a path with a key, reads the answer and returns its status.
func (t *target) get(ctx context.Context, client *http.Client, path, key string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.card.BaseURL+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// host is where the program listens.
func (t *target) host() string { return strings.TrimPrefix(t.card.BaseURL, "http://") }

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
