package claviger

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	verify "claviger/sdk/verify/go"
)

// ErrSignature means that no signature of a webhook is right, or that it is too old. Answer with
// 401.
var ErrSignature = verify.ErrSignature

// VerifyWebhook checks the Standard Webhooks signature in the headers of a request over its raw
// body. secret is your webhook secret as shown to you. While it is being replaced, both the old and
// the new one verify.
func VerifyWebhook(secret string, h http.Header, body []byte, now time.Time) error {
	return verify.Webhook(secret, h, body, now)
}

// ReadWebhook verifies a webhook and decodes its body.
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
