package courier_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"

	"claviger/internal/courier"
	"claviger/internal/secret"
)

// received returns a header as a server has it, with canonical names.
func received(h http.Header) http.Header {
	r := make(http.Header)
	for name, values := range h {
		for _, v := range values {
			r.Add(name, v)
		}
	}
	return r
}

// library returns a partner's verifier: the library of Standard Webhooks.
func library(t testing.TB, secret string) *standardwebhooks.Webhook {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if !strings.HasPrefix(secret, "whsec_") {
		wh, err = standardwebhooks.NewWebhookRaw([]byte(secret))
	}
	if err != nil {
		t.Fatal(err)
	}
	return wh
}

// brandCode returns the brand's signature as the documentation describes it.
func brandCode(secret string, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestHeadersAreVerifiedByTheLibrary(t *testing.T) {
	current, previous, single := secret.MakeWebhook(), secret.MakeWebhook(), secret.Make("lk_")
	now, body := time.Now(), courier.Body(benchEvent)
	for name, c := range map[string]struct {
		secrets courier.Secrets
		good    []string
		brand   string
	}{
		"one secret":           {courier.NewSecrets(current), []string{current}, current},
		"one secret, by hand":  {courier.Secrets{Current: current}, []string{current}, current},
		"rotation":             {courier.NewSecrets(current, previous), []string{current, previous}, previous},
		"rotation, by hand":    {courier.Secrets{Current: current, Previous: previous}, []string{current, previous}, previous},
		"rotation, switched":   {courier.Secrets{Current: current, Previous: previous, Brand: current}, []string{current, previous}, current},
		"single key":           {courier.NewSecrets(single), []string{single}, single},
		"single key, rotation": {courier.NewSecrets(single, "lk_old"), []string{single, "lk_old"}, "lk_old"},
	} {
		h := received(courier.Signer{Brand: "Acme"}.Headers(7, 1, now, c.secrets, body))
		for _, s := range c.good {
			if err := library(t, s).Verify(body, h); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := library(t, s).Verify(append(body, ' '), h); err == nil {
				t.Errorf("%s: another body is taken", name)
			}
		}
		if err := library(t, secret.MakeWebhook()).Verify(body, h); err == nil {
			t.Errorf("%s: another secret is taken", name)
		}
		if n := strings.Count(h.Get("webhook-signature"), "v1,"); n != len(c.good) {
			t.Errorf("%s: %d signatures, want %d", name, n, len(c.good))
		}
		if got, want := h.Get("X-Acme-Signature"), brandCode(c.brand, h.Get("X-Acme-Timestamp")+string(body)); got != want {
			t.Errorf("%s: X-Acme-Signature is %s, want %s", name, got, want)
		}
	}
}

// TestHeadersEqualTheLibrarys: our signatures equal the library's. Ours makes all headers in the
// time that the library takes for one signature (BenchmarkHeaders).
func TestHeadersEqualTheLibrarys(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.SampledFrom([]string{secret.MakeWebhook(), secret.Make("lk_"), "whsec_" + strings.Repeat("QUJD", 40), "x"}).Draw(r, "secret")
		body := rapid.SliceOf(rapid.Byte()).Draw(r, "body")
		id, ms := rapid.Int64Range(1, 1<<53).Draw(r, "id"), rapid.Int64Range(0, 1<<42).Draw(r, "ms")
		brand := rapid.StringMatching(`[A-Za-z0-9-]{1,40}`).Draw(r, "brand")
		attempt := rapid.IntRange(1, 99).Draw(r, "attempt")

		got := courier.Signer{Brand: brand, UserAgent: "tests/1"}.Headers(id, attempt, time.UnixMilli(ms), courier.NewSecrets(s), body)
		signature, err := library(t, s).Sign("evt_"+strconv.FormatInt(id, 10), time.UnixMilli(ms), body)
		if err != nil {
			r.Fatal(err)
		}
		want := map[string]string{
			"webhook-id":                "evt_" + strconv.FormatInt(id, 10),
			"webhook-timestamp":         strconv.FormatInt(ms/1000, 10),
			"webhook-signature":         signature,
			"X-" + brand + "-Timestamp": strconv.FormatInt(ms, 10),
			"X-" + brand + "-Signature": brandCode(s, strconv.FormatInt(ms, 10)+string(body)),
			"X-" + brand + "-Attempt":   strconv.Itoa(attempt),
			"Content-Type":              "application/json; charset=UTF-8",
			"User-Agent":                "tests/1",
		}
		for name, value := range want {
			if v := got[name]; len(v) != 1 || v[0] != value {
				r.Errorf("%s: %q, want %q", name, v, value)
			}
		}
		if len(got) != len(want) {
			r.Errorf("other headers: %v", got)
		}
		texts := courier.Texts(id, time.UnixMilli(ms), body)
		if again, _ := library(t, s).Sign(want["webhook-id"], time.UnixMilli(ms), body); again != signature ||
			texts.Standard != want["webhook-id"]+"."+want["webhook-timestamp"]+"."+string(body) ||
			brandCode(s, texts.Brand) != want["X-"+brand+"-Signature"] {
			r.Errorf("Texts = %+v", texts)
		}
	})
}

func TestHeadersDefaults(t *testing.T) {
	var s courier.Signer
	h := s.Headers(1, 1, time.UnixMilli(1), courier.NewSecrets(), nil)
	if h["X-Licensing-Signature"] == nil || h["User-Agent"] != nil || s.SignatureHeader() != "X-Licensing-Signature" || s.TimestampHeader() != "X-Licensing-Timestamp" {
		t.Errorf("%v", h)
	}
}

// TestHeadersAllocate keeps signing cheap: it precedes every delivery.
func TestHeadersAllocate(t *testing.T) {
	secrets, body := courier.NewSecrets(secret.MakeWebhook()), courier.Body(benchEvent)
	signer := courier.Signer{UserAgent: "tests/1"}
	// The race detector makes pools drop buffers, so the limit is not tight.
	if n := testing.AllocsPerRun(1000, func() { signer.Headers(1, 1, benchEvent.At, secrets, body) }); n > 14 {
		t.Errorf("Headers makes %v allocations, want 6", n)
	}
	if n := testing.AllocsPerRun(1000, func() { courier.Body(benchEvent) }); n > 1 {
		t.Errorf("Body makes %v allocations, want 1", n)
	}
}

func TestStandardKey(t *testing.T) {
	for s, want := range map[string]string{"whsec_QUJD": "ABC", "whsec_!": "whsec_!", "lk_QUJD": "lk_QUJD", "": ""} {
		if got := string(courier.StandardKey(s)); got != want {
			t.Errorf("StandardKey(%q) = %q, want %q", s, got, want)
		}
	}
}
