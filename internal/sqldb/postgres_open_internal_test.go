package sqldb

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestWritableServer: with several hosts, connections lead to the one that takes writes.
func TestWritableServer(t *testing.T) {
	for url, want := range map[string]bool{
		"postgres://a/db":                                false,
		"postgres://a/db?sslmode=prefer":                 false,
		"postgres://a,b/db":                              true,
		"postgres://a:1,a:2/db?sslmode=disable":          true,
		"postgres://a,b/db?target_session_attrs=any":     false,
		"postgres://a,b/db?target_session_attrs=primary": true,
	} {
		cfg, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		prepare(cfg, url, "test")
		if got := cfg.ValidateConnect != nil; got != want {
			t.Errorf("%s: the server is checked: %v, want %v", url, got, want)
		}
	}
}
