package claviger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// webhookAge is how far the time of a webhook may be from yours.
const webhookAge = 5 * time.Minute

// ErrSignature says that no signature of a webhook is right, or that it is too old.
// Answer it with 401.
var ErrSignature = errors.New("claviger: the webhook is not signed with this secret, or its time is not within five minutes of now")

// VerifyWebhook checks the signature of Standard Webhooks in the headers of a request
// over its raw body. secret is your webhook secret as it was shown to you. While it is
// being replaced, either the old or the new one verifies.
func VerifyWebhook(secret string, h http.Header, body []byte, now time.Time) error {
	id, timestamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	sec, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(sec, 0)).Abs() > webhookAge {
		return ErrSignature
	}
	mac := hmac.New(sha256.New, webhookKey(secret))
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body) // a hash takes everything
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if !slices.ContainsFunc(strings.Fields(h.Get("webhook-signature")), func(one string) bool { return hmac.Equal([]byte(one), want) }) {
		return ErrSignature
	}
	return nil
}

// webhookKey is the key of a secret: the base64 behind whsec_, or the text itself where
// the API key is the secret.
func webhookKey(secret string) []byte {
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(text); err == nil {
			return key
		}
	}
	return []byte(secret)
}

// ReadWebhook verifies a webhook and reads its body.
func ReadWebhook(secret string, h http.Header, body []byte, now time.Time) (WebhookBody, error) {
	var w WebhookBody
	if err := VerifyWebhook(secret, h, body, now); err != nil {
		return w, err
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return w, fmt.Errorf("claviger: the body is not a license event: %w", err)
	}
	return w, nil
}
