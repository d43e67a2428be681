package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	claviger "claviger/sdk/go"
)

// devURL is the default address of claviger dev.
const devURL = "http://127.0.0.1:8080"

// devTime is claviger dev's answer about its time.
type devTime struct {
	Now   time.Time `json:"now"`
	Ahead string    `json:"ahead"`
}

func devTimeCommand() *cobra.Command {
	var address string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "time [span]", Short: "Read or move forward the time of a running claviger dev",
		Long: "Moves the time of a running claviger dev forward by a span such as 90s, +1h or 2d: codes and tokens " +
			"expire, failed webhooks are tried again, and endpoints that only fail are parked. " +
			"It never goes back, not at the next start on the same --db either. Webhooks are signed with the time " +
			"of the machine, so that your application accepts them. Without a span it prints the time.",
		Example: "claviger dev time +1h\nclaviger dev time --url http://127.0.0.1:3001",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%s does not take %q", cmd.CommandPath(), args[1])
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "URL of the claviger dev; else "+urlVariable+", or "+devURL)
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		form := url.Values{}
		method := http.MethodGet
		if len(args) > 0 {
			method = http.MethodPost
			form.Set("by", args[0])
		}
		var at devTime
		if err := callDev(
			cmd, method, cmp.Or(address, os.Getenv(urlVariable), devURL), "/dev/time", form, &at,
		); err != nil {
			return err
		}
		rows := [][]string{{at.Now.Format(time.RFC3339), at.Ahead}}
		return answer{json: at, out: table([]string{"now", "ahead"}, rows)}.print(cmd, asJSON)
	}
	return cmd
}

// callDev calls a page of claviger dev, and decodes its JSON.
func callDev(cmd *cobra.Command, method, base, path string, form url.Values, to any) error {
	r, err := http.NewRequestWithContext(
		cmd.Context(),
		method,
		strings.TrimSuffix(base, "/")+path,
		strings.NewReader(form.Encode()),
	)
	if err != nil {
		return usage("--url %q is not a URL such as %s", base, devURL)
	}
	r.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		return &failure{exitUnreachable, fmt.Errorf("no claviger dev was reached: %w", err)}
	}
	defer resp.Body.Close() //nolint:errcheck // It was read.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return &failure{exitUnreachable, fmt.Errorf("read the answer of claviger dev: %w", err)}
	}
	if resp.StatusCode != http.StatusOK {
		var refused claviger.Error
		if json.Unmarshal(body, &refused) == nil && refused.Message != "" && resp.StatusCode != http.StatusNotFound {
			return &failure{exitRefused, errors.New(strings.TrimSuffix(refused.Message, "."))}
		}
		return &failure{exitRefused, fmt.Errorf("%s is no claviger dev: %s answered %d", base, path, resp.StatusCode)}
	}
	if err := json.Unmarshal(body, to); err != nil {
		return &failure{exitRefused, fmt.Errorf("%s is no claviger dev: %w", base, err)}
	}
	return nil
}
