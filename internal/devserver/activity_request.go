package devserver

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"claviger/internal/fault"
)

// paymentWebhook is the message of the line that tells what became of a webhook of the
// stand-in for Stripe.
const paymentWebhook = "payment webhook"

// acts are requests that are worth a word of their own, by method and route.
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

// untold are the beginnings of paths whose requests are told elsewhere, or are of no use:
// a webhook has a line where it is sent, and pages of dev are not those of the service.
var untold = []string{"/assets/", "/favicon", "/stripe/webhook", "/dev/"}

// keyInPath finds a license key.
var keyInPath = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// requestLine tells of a request: of refused ones always, of others if they did something,
// or were calls of an API.
func requestLine(l line, f facts) (line, bool) {
	method, path, status := f.text("method"), f.text("path"), f.number("status")
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
		return l, false // a page that was looked at
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

// reason is why a request failed: the sentence of the answer, or the error inside.
func reason(f facts) (string, bool) {
	if v, ok := f["fault"]; ok {
		if refusal, ok := v.Any().(fault.Logged); ok {
			return refusal.Code + ": " + strings.Join(strings.Fields(refusal.Text), " "), true
		}
		return v.Resolve().String(), true
	}
	return f.text("err"), f.text("err") != ""
}
