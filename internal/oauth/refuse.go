package oauth

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// The error codes of RFC 6749, 6750 and 7009 and of OpenID Connect that these
// endpoints answer. A fault of this package has one of them as its code.
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
		// Of RFC 6749 section 5.1, for caches older than Cache-Control.
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

// wrongMethod answers a method that a path does not have in the form of OAuth.
func wrongMethod(w http.ResponseWriter, _ *http.Request) {
	_ = wire.JSON(w, http.StatusMethodNotAllowed, refusal{InvalidRequest, "This path answers " + w.Header().Get("Allow") + " only."})
}

// describable is text in the characters that RFC 6749 allows in a description:
// ASCII without the quote and the backslash.
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

// badRequest is the fault of a request that cannot be understood.
func badRequest(text string, args ...any) error {
	return fault.New(fault.Invalid, InvalidRequest, text, args...)
}

// missing is the fault of a parameter that must be there.
func missing(name string) error {
	return fault.New(fault.Invalid, InvalidRequest, "The parameter %s is missing. Send it in the body.", name).Because(causeMissing)
}

// asRequest gives a fault of reading the request its OAuth code.
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
