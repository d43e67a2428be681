package e2e_test

import (
	"testing"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
)

// harness is the whole service on a free port, in this process.
type harness struct {
	*app.App
	operator caller
}

// start runs the service on its own database until the test ends; change may alter the
// configuration.
func start(t *testing.T, change func(*app.Config)) *harness {
	t.Helper()
	h := apptest.Start(t, func(cfg *app.Config) {
		cfg.AllowPrivateTargets = false
		if change != nil {
			change(cfg)
		}
	})
	url := h.App.URL()
	return &harness{h.App, caller{base: url, token: h.Token("test", account.Admin), contract: contractOf(t, url)}}
}
