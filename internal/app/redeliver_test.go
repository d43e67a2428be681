package app_test

import (
	"net/http"
	"testing"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// TestRedeliveriesAreLimited: the whole program allows a partner 60 per minute.
func TestRedeliveriesAreLimited(t *testing.T) {
	a, stop := run(t, config(t))
	const key = "lk_0f9d8c7b6a5f4e3d2c1b0a9f8e7d6c5b4a3f2e1d0c9b8a7f6e5d4c3b2a1f0e9d"
	err := a.Services().DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, _, err := a.Services().Partners.Create(t.Context(), tx, audit.System("test"), partner.Draft{Name: "Acme"}, partner.Credentials{APIKey: key})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	answered := map[int]int{}
	for answered[http.StatusTooManyRequests] == 0 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+"/v2/events/1/redeliver", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		answered[resp.StatusCode]++
	}
	// Each second of the test allows one more.
	if answered[http.StatusNotFound] < 60 {
		t.Errorf("answered %v, want 60 times 404 before 429", answered)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
