package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

// healthTimeout exceeds the time that the service needs to answer that it is not ready.
const healthTimeout = 4 * time.Second

func healthCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "health", Short: "Ask the service on this machine whether it is ready, for containers without a shell",
		Long: "Asks GET /healthz of the address that claviger serve listens on with the same settings, and prints " +
			"the status.\n\n" +
			"Exit codes: 0 ready; 4 not ready, or stopping; 3 no answer there; 2 the command was called wrongly.",
		Example: "claviger health --addr :8080",
		Args:    exactly(),
	}
	g := settingFlags(cmd, app.Serve, "addr")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print the whole answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		at, err := healthURL(cfg.Addr)
		if err != nil {
			return err
		}
		health, err := askHealth(cmd.Context(), at)
		if err != nil {
			return err
		}
		err = answer{json: health, out: health.Status + "\n"}.print(cmd, asJSON)
		if err == nil && health.Status != "ok" {
			err = &failure{
				exitCheck,
				fmt.Errorf("the service at %s is not ready: it is %s %v", at, health.Status, health.Checks),
			}
		}
		return err
	}
	return cmd
}

// healthAnswer is the answer of /healthz.
type healthAnswer struct {
	Status string            `json:"status"`
	Checks map[string]string `json:"checks,omitempty"`
}

// healthURL returns the health URL of a service on this machine that listens on addr. It has no
// host name, because an image without files cannot resolve one.
func healthURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return "", usage(
			"addr is %s, which is not an address that can be asked; set it to that of claviger serve",
			addr,
		)
	}
	switch ip := net.ParseIP(host); {
	case host == "" || ip != nil && ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/healthz", nil
}

// askHealth asks once, never through a proxy.
func askHealth(ctx context.Context, at string) (answer healthAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return answer, usage("%w", err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return answer, &failure{exitUnreachable, fmt.Errorf("no service answers: %w", err)}
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	err = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&answer)
	if err != nil || answer.Status == "" {
		return answer, &failure{
			exitUnreachable,
			fmt.Errorf("what answers at %s is not Claviger (%s); check addr", at, resp.Status),
		}
	}
	return answer, nil
}
