package oauth

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// Error codes of RFC 6749, 6750 and 7009 and of OpenID Connect that these endpoints return. Every
// fault of this package has one of them as its code.
const (
	InvalidRequest   = "invalid_request"
	invalidClient    = "invalid_client"
	invalidGrant     = "invalid_grant"
	invalidToken     = "invalid_token"
	unsupportedGrant = "unsupported_grant_type"
	unavailable      = "temporarily_unavailable"

	unsupportedResponse     = "unsupported_response_type"
	requestUnsupported      = "request_not_supported"
	requestURIUnsupported   = "request_uri_not_supported"
	registrationUnsupported = "registration_not_supported"
)

// refusal is the error body of OAuth.
type refusal struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// asOAuth wraps a handler and writes its faults in the form of OAuth. Other errors go
// to wire's answer for internal errors: RFC 6749 has no code for them.
func asOAuth(h func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		// Required by RFC 6749 section 5.1, for caches older than Cache-Control.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Pragma", "no-cache")
		err := h(w, r)
		f := fault.Of(err)
		if f == nil {
			return err
		}
		wire.RequestLogOf(r.Context()).Err = err
		if f.Kind == fault.Throttled {
			wait := max(f.After, time.Second)
			w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		}
		return wire.JSON(w, wire.Status(f.Kind), refusal{f.Code, describable(f.Text)})
	}
}

// wrongMethod answers an unsupported method in the form of OAuth.
func wrongMethod(w http.ResponseWriter, _ *http.Request) {
	_ = wire.JSON(
		w,
		http.StatusMethodNotAllowed,
		refusal{InvalidRequest, "This path answers " + w.Header().Get("Allow") + " only."},
	)
}

// describable reduces text to the characters that RFC 6749 allows in a description: ASCII without
// the quote and the backslash.
func describable(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '"', c == '\\':
			return '\''
		case c < ' ', c > '~':
			return '?'
		}
		return c
	}, text)
}

// badRequest returns the fault for a request that cannot be understood.
func badRequest(text string, args ...any) error {
	return fault.New(fault.Invalid, InvalidRequest, text, args...)
}

// missing returns the fault for a missing parameter.
func missing(name string) error {
	return fault.New(fault.Invalid, InvalidRequest, "The parameter %s is missing. Send it in the body.", name).
		Because(causeMissing)
}

// asRequest gives a decoding fault its OAuth code.
func asRequest(err error) error {
	f := fault.Of(err)
	if f == nil {
		return err
	}
	kind := f.Kind
	if kind == fault.Unprocessable {
		kind = fault.Invalid
	}
	return fault.New(kind, InvalidRequest, "%s", f.Text)
}
