package app

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"claviger/internal/courier"
)

// egressProxy parses the URL of the proxy for outgoing webhooks.
func egressProxy(c *Config, v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" {
		return errors.New(
			"must be the URL of an http or https proxy, such as http://proxy.internal:3128",
		) // v may contain a password
	}
	c.EgressProxy = u
	return nil
}

// caFile checks the file with additional certificate authorities.
func caFile(c *Config, v string) error {
	c.CAFile = v
	_, err := c.roots()
	return err
}

// roots returns the system's certificate authorities and those of the file, or nil without a file.
func (c Config) roots() (*x509.CertPool, error) {
	if c.CAFile == "" {
		return nil, nil //nolint:nilnil // nil is the system's
	}
	text, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("has no certificate; it must be a PEM file with lines -----BEGIN CERTIFICATE-----")
	}
	return pool, nil
}

// newCaller creates the client that posts webhooks.
func (a *App) newCaller() (*courier.Client, error) {
	roots, err := a.cfg.roots()
	if err != nil {
		return nil, fmt.Errorf("ca-file %w", err)
	}
	return courier.New(
		courier.Options{
			AllowPrivate: a.cfg.AllowPrivateTargets,
			UserAgent:    userAgent,
			Proxy:        a.cfg.EgressProxy,
			Roots:        roots,
			Dial:         a.cfg.Dial,
		},
	), nil
}
