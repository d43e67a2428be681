package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/httpd"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/payment"
	"claviger/internal/wire"
)

// Config is everything that can be set about an installation, read and checked.
// Load makes one from what the operator gave; Defaults is what serves when
// nothing was given.
type Config struct {
	Addr                string        // where the service listens
	AdminAddr           string        // where metrics and profiles are; "" is nowhere
	PublicURL           string        // the public URL, without a slash at the end; "" is Addr
	DB                  string        // a file (SQLite) or postgres://…
	SecretKey           string        // hex or base64 of 32 bytes; "" is the key file
	PreviousKey         string        // opens what was sealed before SecretKey was replaced; "" is none
	Brand               string        // the alias in X-<Brand>-Licensing-Key; "" is none
	Name                string        // what the marketplace is called on its pages
	LegalName           string        // who sells; "" is Name
	SupportURL          string        // where buyers ask: a page, or mailto:
	TermsURL            string        // the page with the terms of sale
	PrivacyURL          string        // the page about privacy
	Logo                string        // the file with a picture in place of our logo
	Accent              string        // the colour of buttons and links, or two: for light and dark pages
	RateLimit           int           // requests per minute and key; 0 is no limit
	TrustedProxies      httpd.Proxies // trusted about the client's address
	LogLevel            slog.Level
	LogFormat           LogFormat
	RequireSecondFactor account.Requirement  // who must have one to use the console; "" is nobody
	AllowPrivateTargets bool                 // webhooks may go to http and to private addresses
	EgressProxy         *url.URL             // the proxy by which webhooks leave; nil is none
	CAFile              string               // PEM of those who also sign certificates of partners' servers; "" is none
	OTLPEndpoint        string               // where traces are sent; "" is nowhere
	ReadConnections     int                  // 0 is what the machine suggests
	ShutdownTimeout     time.Duration        // how long running requests may take to end
	Migrate             bool                 // bring the schema up to date on start
	CodeLife            time.Duration        // of the code that connects a buyer
	AccessLife          time.Duration        // of an access token
	RefreshLife         time.Duration        // of a refresh token
	Retry               []time.Duration      // when a failed delivery is tried again
	ParkAfter           time.Duration        // of nothing but failures
	SupersedeAfter      time.Duration        // since the first refusal of an event
	SupersedeAttempts   int                  // that were refused
	WebhookConcurrency  int                  // webhooks on their way to one partner, at most
	KeepResponses       time.Duration        // the record of an attempt
	ProbeEvery          time.Duration        // of a parked endpoint
	Stripe              payment.StripeConfig // the account that takes the money; the zero value takes none
	Mail                mail.Config          // how mail is sent; the zero value sends none
	MailBuyers          notice.Audience      // who is told by mail what became of what they bought
	MailOff             []mail.Kind          // mails to buyers that are not sent
	Log                 *slog.Logger         // nil is standard error, by LogLevel and LogFormat

	SecretFiles map[string]string // the files that secret settings were read from, by the setting's name
	Origins     []Origin          // every setting as Load found it

	// What devserver and tests set; no setting leads to these.
	Now       func() time.Time // the clock; nil: the machine's
	SignNow   func() time.Time // the clock that webhooks are signed with; nil: Now
	TestMoney bool             // the shop sells for money that is none
	Mailbox   string           // the page where mails are shown that Catcher took
	Catcher   mail.Transport   // takes mails where Mail is not configured; nil: nobody does
	Extra     []wire.Route     // served beside the others
	OwnHosts  bool             // requests must name the service by one of its own names

	Wrap func(http.Handler) http.Handler                                      // put around all handlers; nil: nothing is
	Dial func(ctx context.Context, network, address string) (net.Conn, error) // how webhooks connect, unguarded; nil: by the settings
}

// LogFormat is how a log line is written.
type LogFormat string

// The log formats.
const (
	JSON  LogFormat = "json"
	Text  LogFormat = "text"
	Short LogFormat = "short" // a few words for a person; only devserver writes it
)

// Logger makes the logger that the configuration asks for.
func (c Config) Logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: c.LogLevel}
	var h slog.Handler = slog.NewJSONHandler(w, opts)
	if c.LogFormat == Text {
		h = slog.NewTextHandler(w, opts)
	}
	if c.OTLPEndpoint != "" {
		h = traceHandler{h}
	}
	return slog.New(h)
}

// transport is the way that mails go.
func (c Config) transport() mail.Transport {
	if c.Catcher != nil && !c.Mail.Configured() {
		return c.Catcher
	}
	return c.Mail.Transport()
}

// mailsOff are the kinds of mails that are not written. Without a mail server nobody waits
// for those that can be switched off, and each would only fail.
func (c Config) mailsOff() []mail.Kind {
	if c.Catcher == nil && !c.Mail.Configured() {
		return mail.Kinds
	}
	return c.MailOff
}

// Postgres reports whether the data is in PostgreSQL rather than in a file.
func (c Config) Postgres() bool {
	return strings.HasPrefix(c.DB, "postgres://") || strings.HasPrefix(c.DB, "postgresql://")
}

// Local reports whether only this machine can reach the service, as when
// somebody tries it out.
func (c Config) Local() bool { return loopback(c.Addr) }

// loopback reports whether addr, host and port, is on this machine alone.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// URL is where browsers find the service, as far as that is known before it listens.
func (c Config) URL() string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	return "http://" + reachable(c.Addr)
}

// Advice is what an install that others rely on should set and has not, each
// a sentence that names the setting.
func (c Config) Advice() []string {
	var advice []string
	say := func(s string) { advice = append(advice, s) }
	u, err := url.Parse(c.PublicURL)
	switch {
	case c.PublicURL == "":
		say("public-url is not set: links in answers name the listening address; set it to the https address that buyers and partners use")
	case err == nil && u.Scheme != "https" && !loopback(net.JoinHostPort(u.Hostname(), "0")):
		say("public-url is not https: keys, codes and cookies would travel in the clear; put a TLS proxy in front and set public-url to its address")
	}
	if c.SecretKey == "" {
		say("secret-key is not set: the key is kept in a file beside the database; keep a copy of it apart from the database's backups, or set secret-key")
	}
	if !c.Mail.Configured() {
		say("smtp-url is not set: nobody can sign up or be mailed a sign-in link, and partners' contacts are not told when webhooks fail; set smtp-url and mail-from")
	}
	if c.SupportURL == "" {
		say("support-url is not set: pages name nobody whom buyers can ask; set it to a page or to mailto: and an address")
	}
	if c.AllowPrivateTargets {
		say("allow-private-targets is on: a partner can point webhooks at this machine's own network; switch it off where partners are not your own")
	}
	if c.RateLimit == 0 {
		say("rate-limit is 0: one partner's program can take the whole service; set rate-limit")
	}
	return append(advice, c.exposed()...)
}
