package api

import (
	"net/http"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/wire"
)

// authenticate returns the partner of the request's API key.
func (a *API) authenticate(r *http.Request) (partner.Partner, error) {
	p, err := a.byAnyHeader(r)
	note := wire.RequestLogOf(r.Context())
	if err == nil {
		note.Partner = p.ID
	} else {
		note.Named = p.ID // owner of an ended or ambiguous key; 0 if unknown
	}
	return p, err
}

// byAnyHeader does the work of authenticate, except for the log.
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

// brandHeader returns the name of a brand's header for a key.
func brandHeader(brand string) string { return "X-" + brand + "-Licensing-Key" }

// byBrand authenticates a request with a key only in brand headers: one must be that of the key's
// own partner. none is the error for a request without such a header.
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
		return partner.Partner{ID: p.ID}, fault.New(
			fault.Unknown,
			wire.NoCredentials,
			"The header with the API key is not that of your brand. Send it in the header Authorization: Bearer "+
				"<key> or X-Licensing-Key: <key>.",
		)
	}
	return p, err
}

// branded returns the key in brand headers, or "". Different keys are refused before any is looked
// up.
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

// key returns the API key of a request. Several headers may have it if it is the same: a proxy that
// adds one must not break a client, and two different keys make the caller ambiguous.
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

// bucket returns the name of a call's counter. It is per key, so that one runaway program of a
// partner does not use up the calls of another with its own key. It contains the hash and not the
// key, because counters live long.
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

// Identify finds the sender of a request to an unknown path or method, for the log of rejected
// calls. It does not answer. Such requests count against the rate limit; beyond it nothing is
// looked up.
func (a *API) Identify(r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/v2/") {
		return
	}
	if bucket := a.bucket(r, partner.Partner{}); bucket == "" || !a.Limit.Take(bucket).OK {
		return
	}
	_ = a.Guard.Lookup(r, func() error {
		if _, err := a.authenticate(r); fault.Is(err, partner.CodeInvalidKey) {
			a.Guard.Count(wire.Client(r))
		}
		return nil // the answer does not depend on the sender
	})
}
