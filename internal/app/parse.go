package app

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"claviger/internal/account"
	"claviger/internal/httpd"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/secret"
	"claviger/internal/webhook"
)

// text stores the value unchanged.
func text(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		*at(c) = v
		return nil
	}
}

// directURL checks the URL past a pooler. A mistake in it is not quoted, because it may have a password.
func directURL(c *Config, v string) error {
	if v != "" && !isPostgres(v) {
		return errors.New("must be the URL of a PostgreSQL server, such as postgres://user:password@host/name")
	}
	c.DirectURL = v
	return nil
}

// address parses a host and port; off means no address.
func address(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v == "off" {
			*at(c) = ""
			return nil
		}
		_, port, err := net.SplitHostPort(v)
		if err != nil {
			return errors.New("must be host:port, such as 127.0.0.1:8080 or :8080")
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errors.New("must end in a port from 0 to 65535")
		}
		*at(c) = v
		return nil
	}
}

// boolean parses true or false.
func boolean(at func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("must be true or false")
		}
		*at(c) = b
		return nil
	}
}

// number parses a whole number between two limits.
func number(least, most int, at func(*Config) *int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*at(c) = n
		return nil
	}
}

// publicURL parses the base address of links.
func publicURL(c *Config, v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("must be an address that begins with https:// (or http://) and a host")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return errors.New("must have no path, query, fragment or user name: pages are served from the root of a host")
	}
	c.PublicURL = strings.TrimRight(v, "/")
	return nil
}

// secretKey checks the key. It is stored as text until the sealer is created.
func secretKey(c *Config, v string) error {
	if v == "" {
		return nil
	}
	if _, err := parseKey(v); err != nil {
		return err
	}
	c.SecretKey = v
	return nil
}

// previousKey checks the replaced key.
func previousKey(c *Config, v string) error {
	if v == "" {
		return nil
	}
	_, err := parseKey(v)
	c.PreviousKey = v
	return err
}

// parseKey decodes the installation's key from hex or any base64.
func parseKey(s string) ([]byte, error) {
	s = strings.TrimSpace(s)
	if raw, err := hex.DecodeString(s); err == nil && len(raw) == secret.KeySize {
		return raw, nil
	}
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	if raw, err := base64.RawStdEncoding.DecodeString(standard); err == nil && len(raw) == secret.KeySize {
		return raw, nil
	}
	return nil, fmt.Errorf(
		"must be %d bytes in hex or base64; make one with: openssl rand -hex %d",
		secret.KeySize,
		secret.KeySize,
	)
}

// brand parses a word for a header's name.
func brand(c *Config, v string) error {
	if len(v) > 40 || strings.Trim(strings.ToLower(v), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return errors.New("must be 1 to 40 letters, digits and hyphens")
	}
	c.Brand = v
	return nil
}

// marketplace parses a name that people see.
func marketplace(c *Config, v string) error {
	if v = strings.TrimSpace(v); v == "" || utf8.RuneCountInString(v) > 60 ||
		strings.ContainsFunc(v, unicode.IsControl) {
		return errors.New("must be 1 to 60 characters in one line")
	}
	c.Name = v
	return nil
}

// proxies parses addresses and networks.
func proxies(c *Config, v string) error {
	p, err := httpd.ParseProxies(slices.Collect(list(v)))
	if err != nil {
		return fmt.Errorf("must be addresses or networks such as 10.0.0.0/8: %w", err)
	}
	c.TrustedProxies = p
	return nil
}

// logLevel parses the name of a level.
func logLevel(c *Config, v string) error {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug,
		"info":  slog.LevelInfo,
		"warn":  slog.LevelWarn,
		"error": slog.LevelError,
	}
	level, ok := levels[strings.ToLower(v)]
	if !ok {
		return errors.New("must be debug, info, warn or error")
	}
	c.LogLevel = level
	return nil
}

// logFormat parses the name of a format.
func logFormat(c *Config, v string) error {
	switch f := LogFormat(strings.ToLower(v)); f {
	case JSON, Text, Short:
		c.LogFormat = f
		return nil
	default:
		return errors.New("must be json or text, or in claviger dev short")
	}
}

func requireFactor(c *Config, v string) error {
	switch q := account.Requirement(strings.ToLower(v)); q {
	case account.RequireNone, account.RequireAdmins, account.RequireOperators:
		c.RequireSecondFactor = q
		return nil
	default:
		return errors.New("must be none, admins or operators")
	}
}

// duration parses a positive duration up to most.
func duration(most time.Duration, where func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 || d > most {
			return fmt.Errorf("must be a duration such as 15s, at most %s", short(most))
		}
		*where(c) = d
		return nil
	}
}

// delay parses a time that may be 0. An empty text leaves it to the service.
func delay(most time.Duration, where func(*Config) **time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v == "" {
			return nil
		}
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > most {
			return fmt.Errorf("must be a duration such as 5s, from 0s to %s", short(most))
		}
		*where(c) = &d
		return nil
	}
}

// short formats whole hours without minutes and seconds.
func short(d time.Duration) string { return strings.TrimSuffix(d.String(), "0m0s") }

// mailServer parses the mail server, and mailFrom the sender. Whether they fit together is checked
// when both are known.
func mailServer(c *Config, v string) error {
	from := c.Mail.From
	server, err := mail.ParseServer(v)
	c.Mail = server
	c.Mail.From = from
	return err
}

// mailBuyers parses which buyers get emails.
func mailBuyers(c *Config, v string) (err error) {
	c.MailBuyers, err = notice.ParseAudience(v)
	return err
}

// mailOff parses the kinds of emails to buyers that are not sent.
func mailOff(c *Config, v string) (err error) {
	c.MailOff, err = mail.ParseKinds(v)
	return err
}

func mailFrom(c *Config, v string) error {
	from, err := mail.ParseFrom(v)
	c.Mail.From = from
	return err
}

// maxRetries and maxWait limit a retry schedule, and maxKeep a retention: larger values are typos.
// maxRetries and the first attempt are the attempts on record.
const (
	maxRetries = webhook.MaxAttempts - 1
	maxWait    = 30 * 24 * time.Hour
	maxKeep    = 10 * 365 * 24 * time.Hour
)

// retry parses the waits between the attempts of a delivery.
func retry(c *Config, v string) error {
	c.Retry = nil
	for part := range list(v) {
		d, err := time.ParseDuration(part)
		if err != nil || d <= 0 || d > maxWait {
			return fmt.Errorf("%q is not a wait such as 5s, 2m or 24h (at most %dh)", part, int(maxWait.Hours()))
		}
		c.Retry = append(c.Retry, d)
	}
	if len(c.Retry) == 0 || len(c.Retry) > maxRetries {
		return fmt.Errorf("must be 1 to %d waits, such as 5s,30s,2m", maxRetries)
	}
	return nil
}

// list iterates over the comma-separated parts of a value, trimmed.
func list(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" && !yield(part) {
				return
			}
		}
	}
}
