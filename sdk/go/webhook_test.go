package claviger_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"claviger/internal/courier"
	claviger "claviger/sdk/go"
)

// TestVerifyWebhook: only webhooks signed by the service verify, for five minutes, with either
// secret during a rotation.
func TestVerifyWebhook(t *testing.T) {
	const secret, next, key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8=", "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", "lk_a_single_key"
	at, body := time.Unix(1772625600, 0), []byte(`{"license_key":"x"}`)
	sign := func(secrets ...string) http.Header {
		h := http.Header{} // as a server reads them, in any case
		for name, values := range (courier.Signer{UserAgent: "test"}).Headers(42, 1, at, courier.NewSecrets(secrets...), body) {
			h.Set(name, values[0])
		}
		return h
	}
	changed := sign(secret)
	changed.Set("webhook-id", "evt_43")
	undated := sign(secret)
	undated.Set("webhook-timestamp", "now")
	for name, c := range map[string]struct {
		secret string
		header http.Header
		body   string
		now    time.Time
		right  bool
	}{
		"right":               {secret, sign(secret), string(body), at, true},
		"the single key":      {key, sign(key), string(body), at, true},
		"the old secret":      {secret, sign(next, secret), string(body), at, true},
		"the new secret":      {next, sign(next, secret), string(body), at, true},
		"five minutes later":  {secret, sign(secret), string(body), at.Add(5 * time.Minute), true},
		"six minutes later":   {secret, sign(secret), string(body), at.Add(6 * time.Minute), false},
		"six minutes earlier": {secret, sign(secret), string(body), at.Add(-6 * time.Minute), false},
		"another secret":      {next, sign(secret), string(body), at, false},
		"another body":        {secret, sign(secret), string(body) + " ", at, false},
		"another id":          {secret, changed, string(body), at, false},
		"no time":             {secret, undated, string(body), at, false},
		"no headers":          {secret, http.Header{}, string(body), at, false},
	} {
		if err := claviger.VerifyWebhook(c.secret, c.header, []byte(c.body), c.now); c.right != (err == nil) || err != nil && !errors.Is(err, claviger.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
