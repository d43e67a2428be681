package profile_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"claviger/internal/fault"
	"claviger/internal/profile"
)

// brandCheckIn verifies the brand's signature correctly, but reads it from other headers.
func brandCheckIn(timestamp, signature string) app {
	return func(p post) bool {
		mac := hmac.New(sha256.New, []byte(ownSecret))
		mac.Write([]byte(p.Header.Get(timestamp) + string(p.body)))
		return p.Header.Get(signature) == hex.EncodeToString(mac.Sum(nil))
	}
}

// svixCheck verifies with the library of Standard Webhooks, from the headers of the product that it
// came from.
func svixCheck(t *testing.T) app {
	t.Helper()
	library, err := standardwebhooks.NewWebhook(ownSecret)
	if err != nil {
		t.Fatal(err)
	}
	return func(p post) bool {
		h := http.Header{}
		for _, end := range []string{"id", "timestamp", "signature"} {
			h.Set("webhook-"+end, p.Header.Get("svix-"+end))
		}
		return library.VerifyIgnoringTimestamp(p.body, h) == nil
	}
}

// TestWebhookCheckReadsWhichHeaderIsMissed checks that if an answer names a missing header, the
// check tries it.
func TestWebhookCheckReadsWhichHeaderIsMissed(t *testing.T) {
	accepts := brandCheckIn("X-Shop-Time", "X-Shop-Signature-256")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !accepts(post{r, body}) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_signature","detail":"header x-shop-signature-256 is missing"}`)
		}
	}))
	t.Cleanup(s.Close)
	_, err := validator(t).Validate(t.Context(), acme, profile.URLChange{Webhook: &s.URL}, ownSecret)
	f := fault.Of(err)
	if f == nil {
		t.Fatal("it passed")
	}
	named := "asks for the header x-shop-signature-256, which we do not send: the signatures are in X-Acme-Signature"
	if !strings.Contains(strings.Join(f.Checks[0].Likely, " "), named) {
		t.Errorf("likely %q, want %q", f.Checks[0].Likely, named)
	}
	if sent := f.Checks[3].Sent; !strings.Contains(sent, "\nX-Shop-Signature: ") || !strings.Contains(sent, "\nX-Acme-Signature: ") {
		t.Errorf("the post with other names is\n%s", sent)
	}
}

// TestRedirectCheckWithoutACode checks the advice for redirect URLs that redirect requests without
// a code: answer them, or, if only the form of the URL differs, save the other form.
func TestRedirectCheckWithoutACode(t *testing.T) {
	var to string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}))
	t.Cleanup(s.Close)
	url := s.URL + "/callback?a=b"
	for location, want := range map[string]string{
		"/login":                                 "A bare GET, without a code, must be answered 200 too",
		"https://elsewhere.example/callback?a=b": "A bare GET, without a code, must be answered 200 too",
		"":                                       "A bare GET, without a code, must be answered 200 too",
		"%":                                      "A bare GET, without a code, must be answered 200 too",
		"/callback?error=1":                      "A bare GET, without a code, must be answered 200 too",
		"/callback/?a=b":                         "It redirects to /callback/?a=b: save the URL that answers itself",
		"https://127.0.0.1/callback?a=b":         "save the URL that answers itself",
	} {
		to = location
		_, err := validator(t).Validate(t.Context(), acme, profile.URLChange{Redirect: &url}, ownSecret)
		f := fault.Of(err)
		if f == nil || !strings.Contains(f.Text, "it answered 302, a redirect, to a bare GET and must answer 200") || !strings.Contains(f.Text, want) {
			t.Errorf("to %q: %v, want %q", location, err, want)
		}
	}
}
