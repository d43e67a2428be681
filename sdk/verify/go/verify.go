// Package verify checks that a webhook comes from the marketplace. It needs only the standard
// library: copy the file if you do not want the package.
package verify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrSignature means that no signature of a webhook is right, or that it is too old. Answer with
// 401.
var ErrSignature = errors.New("claviger: the webhook is not signed with this secret, or its time is not within five " +
	"minutes of now")

// ErrSecret means that no webhook can be verified with the secret.
var ErrSecret = errors.New("claviger: the webhook secret is empty or damaged; set it as it was shown to you, whsec_ " +
	"included")

// Webhook checks the Standard Webhooks signature in the headers of a request over its raw body.
// secret is your webhook secret as shown to you. While it is being replaced, both the old and the
// new one verify.
func Webhook(secret string, h http.Header, body []byte, now time.Time) error {
	key, err := []byte(secret), error(nil) // where the API key is the secret, its text is the key
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		key, err = base64.StdEncoding.DecodeString(text)
	}
	if len(key) == 0 || err != nil {
		return ErrSecret
	}
	id, timestamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	sec, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(sec, 0)).Abs() > 5*time.Minute {
		return ErrSignature
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if !slices.ContainsFunc(strings.Split(h.Get("webhook-signature"), " "), func(one string) bool {
		return hmac.Equal([]byte(one), want)
	}) {
		return ErrSignature
	}
	return nil
}
