package claviger_test

import (
	"context"
	"io"
	"net/url"
	"strings"
	"testing"

	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// exported reads a file and checks that it is complete.
func exported(t *testing.T, file io.ReadCloser, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(file)
	if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); err != nil || !strings.Contains(lines[len(lines)-1], "complete") {
		t.Errorf("%v: %s", err, text)
	}
	return string(text)
}

// partnerExports downloads each list of a partner as a file.
func partnerExports(ctx context.Context, t *testing.T, c *claviger.Client) {
	t.Helper()
	for _, list := range []string{"licenses", "deliveries", "requests", "audit", "revenue"} {
		file, err := c.Export(ctx, list, claviger.ExportNDJSON, nil)
		exported(t, file, err)
	}
	file, err := c.Export(ctx, "licenses", claviger.ExportCSV, url.Values{"status": {"inactive"}})
	if text := exported(t, file, err); strings.Count(text, ",inactive,") != 3 {
		t.Errorf("the licenses are %s", text)
	}
}

// marketExports downloads each list of the marketplace as a file.
func marketExports(ctx context.Context, t *testing.T, c *operator.Client) {
	t.Helper()
	for _, list := range []string{"licenses", "purchases", "orders", "events", "audit", "ledger", "revenue"} {
		file, err := c.Export(ctx, list, operator.ExportCSV, url.Values{"partner_id": {"1"}})
		exported(t, file, err)
	}
}
