package mail

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// Config contains the email settings of an installation. Its zero value sends none.
type Config struct {
	Host           string // of the mail server; "" with Folder or without email
	Port           int
	Security       Security
	User, Password string
	Hello          string        // name in HELO; "": this machine's name
	Folder         string        // instead of a server
	From           *mail.Address // sender of all emails
}

// Valid returns an error if a setting for sending email is missing.
func (c Config) Valid() error {
	if c.Configured() && c.From == nil {
		return errors.New(
			"mail-from is not set: it is the address that mails are sent from, such as Acme Licensing " +
				"<licenses@example.com>",
		)
	}
	return nil
}

// Configured reports whether emails are sent at all.
func (c Config) Configured() bool { return c.Host != "" || c.Folder != "" }

// Transport returns the configured transport.
func (c Config) Transport() Transport {
	switch {
	case c.Folder != "":
		return Folder{Dir: c.Folder, From: c.From}
	case c.Host != "":
		return &SMTP{
			Host: c.Host, Port: c.Port, Security: c.Security, User: c.User, Password: c.Password,
			From: c.From, Hello: c.Hello,
		}
	default:
		return Nowhere{}
	}
}

// ParseFrom parses the sender address, with or without a name. An empty one is nil.
func ParseFrom(text string) (*mail.Address, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil //nolint:nilnil // no address is valid
	}
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsFunc(a.Name+a.Address, unicode.IsControl) {
		return nil, errors.New(
			"must be one address, such as licenses@example.com or Acme Licensing <licenses@example.com>",
		)
	}
	return a, nil
}

// ParseServer parses the destination of emails. An empty text means none.
//
//	smtp://user:password@host:587          STARTTLS, which the server must offer
//	smtps://user:password@host:465         TLS from the first byte
//	smtp://127.0.0.1:25?tls=none           in the clear
//	file:/var/spool/claviger               .eml files in a folder
//
// The port is optional (587, 465, 25). hello=NAME sets the name in HELO.
func ParseServer(text string) (Config, error) {
	if text == "" {
		return Config{}, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error quotes the text, including the password.
		return Config{}, errors.New("must be a URL; write characters such as @ : / % in a password as %40 %3A %2F %25")
	}
	switch u.Scheme {
	case "smtp":
		return parseSMTP(u, STARTTLS)
	case "smtps":
		return parseSMTP(u, TLS)
	case "file":
		folder := filepath.FromSlash(u.Path + u.Opaque)
		if folder == "" || u.Host != "" || u.RawQuery != "" {
			return Config{}, errors.New("must name a folder, such as file:/var/spool/claviger")
		}
		return Config{Folder: folder}, nil
	default:
		return Config{}, errors.New(
			"must begin with one of smtp://, smtps:// and file:, such as smtps://user:password@mail.example.com",
		)
	}
}

func parseSMTP(u *url.URL, security Security) (Config, error) {
	c := Config{Host: u.Hostname(), Security: security, User: u.User.Username()}
	c.Password, _ = u.User.Password()
	if c.Host == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return Config{}, errors.New("must have a host and no path, such as smtps://user:password@mail.example.com")
	}
	if err := c.options(u); err != nil {
		return Config{}, err
	}
	if err := c.port(u.Port()); err != nil {
		return Config{}, err
	}
	if (c.User == "") != (c.Password == "") {
		return Config{}, errors.New("must have a user and a password, or neither")
	}
	if c.Security == Plain && c.Password != "" && !loopback(c.Host) {
		return Config{}, errors.New("would send the password without encryption; leave out tls=none, or the password")
	}
	return c, nil
}

// options parses the query.
func (c *Config) options(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("must have only tls=none and hello=NAME after the question mark")
	}
	for name, values := range query {
		switch {
		case name == "tls" && values[0] == "none" && c.Security == STARTTLS:
			c.Security = Plain
		case name == "hello" && values[0] != "" && !strings.ContainsFunc(values[0], notInHello):
			c.Hello = values[0]
		default:
			return fmt.Errorf(
				"must have only tls=none (with smtp://) and hello=NAME after the question mark; %s is neither",
				name,
			)
		}
	}
	return nil
}

func notInHello(r rune) bool { return r <= ' ' || r > '~' }

// port parses the port; the default depends on the security.
func (c *Config) port(text string) error {
	if text == "" {
		c.Port = map[Security]int{STARTTLS: 587, TLS: 465, Plain: 25}[c.Security]
		return nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return errors.New("must have a port from 1 to 65535")
	}
	c.Port = int(port)
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Show returns the server's setting for printing, without its password.
func Show(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return "********"
	}
	return u.Redacted()
}

// String describes the destination of emails, without a password.
func (c Config) String() string {
	switch {
	case c.Folder != "":
		return "folder " + c.Folder
	case c.Host != "":
		return fmt.Sprintf("%s (%s)", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), c.Security)
	default:
		return "not configured"
	}
}
