package diagnose_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
)

// TestAttempt: the diagnosis during a rotation, and without an answer.
func TestAttempt(t *testing.T) {
	s := courier.Signer{Brand: "Acme"}
	during := courier.NewSecrets("whsec_bmV3", "whsec_b2xk")
	for name, c := range map[string]struct {
		answer  courier.Answer
		err     error
		secrets courier.Secrets
		want    string
	}{
		"in a rotation":     {courier.Answer{Status: 401}, nil, during, "until the overlap ends X-Acme-Signature is made with the old one"},
		"crash in rotation": {courier.Answer{Status: 500}, nil, during, "Your program failed while it handled the post; its log says why. It must accept a license key that it does not know."},
		"no program":        {courier.Answer{Status: 502}, nil, during, "A proxy answers because your program does not"},
		"no answer":         {courier.Answer{}, fmt.Errorf("send the request: %w", io.EOF), during, "Look into the log of your server"},
		"half an answer":    {courier.Answer{Status: 401}, fmt.Errorf("send the request: %w", io.EOF), during, "Look into the log of your server"},
		"long":              {courier.Answer{Status: 302, Header: http.Header{"Location": {strings.Repeat("x", 9000)}}}, nil, during, "It redirects to xxx"},
	} {
		got := diagnose.Attempt(s, c.answer, c.err, c.secrets, false)
		if !strings.Contains(got, c.want) || len(got) > 1024 || strings.Contains(got, "whsec_") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if rotates := strings.Contains(got, "overlap"); rotates != (name == "in a rotation") {
			t.Errorf("%s: %q", name, got)
		}
		if failed := strings.Contains(got, "does not know"); failed != (name == "crash in rotation") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
