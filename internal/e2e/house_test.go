package e2e_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/sqldb/sqldbtest"
)

// house is the whole service on a free port, in this process.
type house struct {
	*app.App
	operator caller
}

// key is the secret key of every house here.
const key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// start builds a house on a database of its own and runs it until the test
// ends; change may alter the configuration.
func start(t *testing.T, change func(*app.Config)) *house {
	t.Helper()
	cfg := app.Defaults(app.Serve)
	cfg.Addr, cfg.AdminAddr, cfg.DB, cfg.SecretKey, cfg.RateLimit = "127.0.0.1:0", "", sqldbtest.URL(t), key, 0
	cfg.Log = slog.New(slog.DiscardHandler)
	if change != nil {
		change(&cfg)
	}
	a, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatalf("build the house: %v", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the house ended with %v", err)
		}
	})
	_, token, err := a.Services().Accounts.AddToken(t.Context(), audit.System("test"), "test", []account.Scope{account.Admin}, time.Time{}, "")
	if err != nil {
		t.Fatalf("make the operator's token: %v", err)
	}
	return &house{a, caller{base: a.URL(), token: token, contract: contractOf(t, a.URL())}}
}
