package api

import (
	"net/http"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/wire"
)

// authenticate returns the partner whose API key the request carries.
func (a *API) authenticate(r *http.Request) (partner.Partner, error) {
	p, err := a.byAnyHeader(r)
	if note := wire.RequestLogOf(r.Context()); err == nil {
		note.Partner = p.ID
	} else {
		note.Named = p.ID // whose a key is that has ended, or came with another; 0 of an unknown one
	}
	return p, err
}

// byAnyHeader is authenticate, which stores for the log who it is.
func (a *API) byAnyHeader(r *http.Request) (partner.Partner, error) {
	key, err := a.key(r)
	if fault.Is(err, wire.NoCredentials) {
		return a.byBrand(r, err)
	}
	if err != nil {
		return partner.Partner{}, err
	}
	p, err := a.Partners.ByKey(r.Context(), key)
	if err != nil {
		return p, err
	}
	for _, v := range r.Header.Values(brandHeader(p.Brand)) {
		if v = strings.TrimSpace(v); v != "" && v != key {
			return partner.Partner{ID: p.ID}, severalKeys()
		}
	}
	return p, nil
}

// brandHeader is the header in which a partner of a brand may send its key.
func brandHeader(brand string) string { return "X-" + brand + "-Licensing-Key" }

// byBrand authenticates a request whose key stands in a header of some brand alone:
// it must be the brand of the partner whose key it is. none is the refusal of a
// request that has no such header either.
func (a *API) byBrand(r *http.Request, none error) (partner.Partner, error) {
	key, err := branded(r)
	if err != nil {
		return partner.Partner{}, err
	}
	if key == "" {
		return partner.Partner{}, none
	}
	p, err := a.Partners.ByKey(r.Context(), key)
	if err == nil && r.Header.Get(brandHeader(p.Brand)) == "" {
		return partner.Partner{ID: p.ID}, fault.New(fault.Unknown, wire.NoCredentials,
			"The header with the API key is not that of your brand. Send it in the header Authorization: Bearer <key> or X-Licensing-Key: <key>.")
	}
	return p, err
}

// branded returns the key that stands in headers of brands, or "". Different keys
// are refused before any is looked up.
func branded(r *http.Request) (string, error) {
	var key string
	for name, values := range r.Header {
		if !strings.HasPrefix(name, "X-") || !strings.HasSuffix(name, "-Licensing-Key") {
			continue
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); v != "" && key != "" && v != key {
				return "", severalKeys()
			} else if v != "" {
				key = v
			}
		}
	}
	return key, nil
}

func severalKeys() error {
	return fault.New(fault.Invalid, codeSeveralKeys, "The request carries different API keys. Send one, in one header.")
}

// key returns the API key that a request carries. It may stand in several
// headers as long as it is the same: a proxy that adds one must not break a
// client, and two different keys mean that somebody is mistaken about who calls.
func (a *API) key(r *http.Request) (string, error) {
	var key string
	several := false
	note := func(v string) {
		v = strings.TrimSpace(v)
		several = several || key != "" && v != "" && v != key
		if v != "" {
			key = v
		}
	}
	for _, v := range r.Header["Authorization"] {
		if scheme, token, _ := strings.Cut(strings.TrimSpace(v), " "); strings.EqualFold(scheme, "Bearer") {
			note(token)
		}
	}
	for _, v := range r.Header["X-Licensing-Key"] {
		note(v)
	}
	if a.Brand != "" {
		for _, v := range r.Header.Values(brandHeader(a.Brand)) {
			note(v)
		}
	}
	switch {
	case several:
		return "", severalKeys()
	case key == "":
		lacks := "The request carries no API key."
		if text := wire.Misplaced(r, secret.IsKind); text != "" {
			lacks = text
		}
		return "", fault.New(fault.Unknown, wire.NoCredentials,
			"%s Send your API key in the header Authorization: Bearer <key> or X-Licensing-Key: <key>.", lacks)
	}
	return key, nil
}

// bucket is what a call is counted under: its key, so that one program of a
// partner that runs wild does not use up the calls of another with its own key.
// The hash stands for the key, since counters live long.
func (a *API) bucket(r *http.Request, _ partner.Partner) string {
	key, err := a.key(r)
	if err != nil {
		key, err = branded(r)
	}
	if err != nil {
		return ""
	}
	return secret.Hash(key)
}
