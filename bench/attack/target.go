package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// target is a running `claviger dev` with the limits of `serve`.
type target struct {
	cmd    *exec.Cmd
	folder string // of its database
	card   card
}

// card is the output of `dev --json`.
type card struct {
	BaseURL       string `json:"base_url"`
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
	//nolint:gosec // the caller names the program
	t := &target{cmd: exec.CommandContext(ctx, "sh", command...), folder: folder}
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

// seller is a partner created by an attack.
type seller struct {
	ID     int64
	APIKey string
}

// addPartner creates a partner with one plan.
func (t *target) addPartner(ctx context.Context, name, webhook string) (seller, error) {
	market, err := t.market()
	if err != nil {
		return seller{}, err
	}
	p, err := market.CreatePartner(ctx, operator.NewPartner{Name: name, WebhookURL: &webhook, ExternalID: &name})
	if err != nil {
		return seller{}, err
	}
	_, err = market.PutPlan(ctx, p.ID, 1, operator.NewPlan{
		Name: "Basic", PriceCents: new(int64(5900)),
		Currency: new("USD"),
	})
	return seller{p.ID, p.APIKey}, err
}

// market returns the client of the marketplace.
func (t *target) market() (*operator.Client, error) {
	return operator.NewClient(operator.Config{URL: t.card.BaseURL, Secret: t.card.OperatorToken})
}

// addTwo creates an honest and a hostile partner.
func (t *target) addTwo(ctx context.Context, webhook string) (honest, hostile seller, err error) {
	if honest, err = t.addPartner(ctx, "Honest", ""); err != nil {
		return honest, hostile, err
	}
	hostile, err = t.addPartner(ctx, "Hostile", webhook)
	return honest, hostile, err
}

// sell sells n licenses in orders of at most a hundred.
func (t *target) sell(ctx context.Context, s seller, n int) error {
	market, err := t.market()
	for n > 0 && err == nil {
		order := min(n, 100)
		_, err = market.CreatePurchase(ctx, operator.NewPurchase{PartnerID: s.ID, Tier: 1, Quantity: &order})
		n -= order
	}
	return err
}

// get requests a path with a key, once, and returns the status.
func (t *target) get(ctx context.Context, client *http.Client, path, key string) (int, error) {
	c, err := claviger.NewClient(claviger.Config{URL: t.card.BaseURL, Secret: key, HTTP: client})
	if err != nil {
		return 0, err
	}
	resp, err := c.Send(ctx, claviger.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return 0, err
	}
	return resp.Status, nil
}

// host returns the program's address.
func (t *target) host() string { return strings.TrimPrefix(t.card.BaseURL, "http://") }

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
