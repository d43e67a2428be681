package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"claviger/internal/oauth"
)

// published is the decoded part of the published signing keys.
type published struct {
	Keys []struct {
		ID string `json:"kid"`
	} `json:"keys"`
}

// address requests the public URL from here and compares its published signing keys with those of
// the database: another install has others.
func (e *examination) address(ctx context.Context) {
	const name = "public URL"
	if e.cfg.PublicURL == "" {
		e.say(name, Warned, "Set public-url to the https address that buyers and partners use.", "it is not set")
		return
	}
	if e.db == nil {
		e.skip(name)
		return
	}
	there, err := e.keysAt(ctx, e.cfg.PublicURL+"/openid/jwks")
	if err != nil {
		e.say(
			name,
			Failed,
			"Start the service; then check DNS, the certificate and the proxy in front, which must pass on every path.",
			"%s is not answered from here: %v",
			e.cfg.PublicURL,
			err,
		)
		return
	}
	ours, err := (&oauth.Keys{DB: e.db, Now: e.cfg.Now}).List(ctx)
	if err != nil {
		e.say(name, Failed, again, "the signing keys could not be read: %v", err)
		return
	}
	for _, k := range there.Keys {
		for _, o := range ours {
			if k.ID == o.ID {
				e.say(name, Passed, "", "%s is answered from here, by a service on this database", e.cfg.PublicURL)
				return
			}
		}
	}
	e.say(
		name,
		Failed,
		"Lead public-url to this service: its proxy or DNS names another one.",
		"%s is answered by a service with another database",
		e.cfg.PublicURL,
	)
}

// keysAt reads published signing keys.
func (e *examination) keysAt(ctx context.Context, at string) (list published, err error) {
	roots, err := e.cfg.roots()
	if err != nil {
		return list, fmt.Errorf("ca-file %w", err)
	}
	way := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	way.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	defer way.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return list, err
	}
	resp, err := (&http.Client{Transport: way}).Do(r)
	if err != nil {
		return list, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		return list, fmt.Errorf("the answer is %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&list); err != nil {
		return list, fmt.Errorf("the answer is not of Claviger: %w", err)
	}
	return list, nil
}
