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
	key, err := a.key(r)
	if err != nil {
		return partner.Partner{}, err
	}
	return a.Partners.ByKey(r.Context(), key)
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
		for _, v := range r.Header.Values("X-" + a.Brand + "-Licensing-Key") {
			note(v)
		}
	}
	switch {
	case several:
		return "", fault.New(fault.Invalid, "several_keys", "The request carries different API keys. Send one, in one header.")
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
		return ""
	}
	return secret.Hash(key)
}
