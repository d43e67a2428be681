package devserver

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"claviger/internal/fault"
)

// paymentWebhook is the message of the line about a webhook of the fake Stripe.
const paymentWebhook = "payment webhook"

// acts are requests with a name for the log, by method and route.
var acts = map[string]string{
	"POST /operator/v1/purchases":                "purchase",
	"POST /operator/v1/refunds":                  "refund",
	"POST /operator/v1/licenses/{key}/hold":      "hold",
	"POST /operator/v1/licenses/{key}/reinstate": "reinstate",
	"POST /operator/v1/licenses/{key}/release":   "release",
	"POST /operator/v1/licenses/{key}/activate":  "activate",
	"POST /operator/v1/licenses/{key}/transfer":  "transfer",
	"POST /operator/v1/licenses/{key}/plan":      "change of plan",
	"POST /operator/v1/events/{id}/redeliver":    "redeliver",
	"POST /products/{id}/buy":                    "purchase in the shop",
	"POST /licensing/{id}/redeem":                "redemption",
	"POST /licensing/{id}/consent":               "consent",
	"POST /openid/authorize/decide":              "consent",
	"POST /licensing/{id}/change_plan":           "change of plan in the shop",
	"POST /licenses/{id}/release":                "release by the buyer",
	"GET /openid/authorize":                      "connection asked for",
	"POST /openid/token":                         "code or refresh token exchanged",
	"POST /openid/oauth2/token":                  "code or refresh token exchanged",
	"GET /openid/license_key":                    "license read with a token",
}

// untold are path prefixes without a line: webhooks have one where they are sent, and pages of dev
// do not belong to the service.
var untold = []string{"/assets/", "/favicon", "/stripe/webhook", "/dev/"}

// keyInPath finds a license key.
var keyInPath = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// requestLine describes a request: all refused ones, and others if they changed something or were
// API calls.
func requestLine(l line, f facts) (line, bool) {
	method := f.text("method")
	path := f.text("path")
	status := f.number("status")
	for _, begin := range untold {
		if strings.HasPrefix(path, begin) {
			return l, false
		}
	}
	why, refused := reason(f)
	failed := status >= http.StatusBadRequest || refused && status >= http.StatusMultipleChoices
	what, known := acts[method+" "+strings.TrimSuffix(f.text("route"), "/")]
	switch {
	case known:
	case isAPI(path):
		what = "api " + method + " " + path
	case failed, method != http.MethodGet && method != http.MethodHead:
		what = method + " " + path
	default:
		return l, false // a viewed page
	}
	l.Text = fmt.Sprintf("%s → %d %s", what, status, f.took())
	l.About = aboutLicense(keyInPath.FindString(path))
	if failed {
		l.Level = max(l.Level, slog.LevelWarn)
		l.About = strings.TrimSpace(l.About + "   " + why)
	}
	return l, true
}

// isAPI reports whether programs call the path.
func isAPI(path string) bool {
	for _, begin := range []string{"/v2/", "/operator/", "/openid/"} {
		if strings.HasPrefix(path, begin) {
			return true
		}
	}
	return false
}

// reason returns why a request failed: the sentence of the answer, or the internal error.
func reason(f facts) (string, bool) {
	if v, ok := f["fault"]; ok {
		if refusal, ok := v.Any().(fault.Logged); ok {
			return refusal.Code + ": " + strings.Join(strings.Fields(refusal.Text), " "), true
		}
		return v.Resolve().String(), true
	}
	return f.text("err"), f.text("err") != ""
}
