package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealth: the exit code reflects the answer of the service on this machine.
func TestHealth(t *testing.T) {
	for _, test := range []struct {
		name, body string
		status     int
		code       int
		says       string
	}{
		{"ready", `{"status":"ok","checks":{"database":"ok"}}`, http.StatusOK, exitDone, "ok\n"},
		{"a check failed", `{"status":"unavailable","checks":{"database":"failed"}}`, http.StatusServiceUnavailable, exitCheck, "database:failed"},
		{"stopping", `{"status":"draining"}`, http.StatusServiceUnavailable, exitCheck, "draining"},
		{"another program", `<html>`, http.StatusOK, exitUnreachable, "not Claviger"},
		{"another JSON", `{}`, http.StatusOK, exitUnreachable, "not Claviger"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/healthz" {
					t.Errorf("it asked for %s", r.URL.Path)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer s.Close()
			var out bytes.Buffer
			root := newRoot()
			root.SetOut(&out)
			root.SetArgs([]string{"health", "--addr", strings.TrimPrefix(s.URL, "http://")})
			err := root.ExecuteContext(t.Context())
			if err != nil {
				out.WriteString(err.Error())
			}
			if code := exitCode(err); code != test.code || !strings.Contains(out.String(), test.says) {
				t.Errorf("exit code %d and %q; want %d and %q", code, out.String(), test.code, test.says)
			}
		})
	}
}

func TestHealthURL(t *testing.T) {
	for addr, want := range map[string]string{
		":8080":          "http://127.0.0.1:8080/healthz",
		"0.0.0.0:8080":   "http://127.0.0.1:8080/healthz",
		"[::]:8080":      "http://[::1]:8080/healthz",
		"127.0.0.2:8080": "http://127.0.0.2:8080/healthz",
		"node1:80":       "http://node1:80/healthz",
	} {
		if got, err := healthURL(addr); err != nil || got != want {
			t.Errorf("%s is asked at %s, %v; want %s", addr, got, err, want)
		}
	}
}
