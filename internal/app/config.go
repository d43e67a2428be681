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
	"claviger/internal/ledger"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/payment"
	"claviger/internal/wire"
)

// Config has all settings of an installation, parsed and checked. Load makes one from the
// operator's settings; Defaults has the defaults.
type Config struct {
	Addr                string        // listening address
	AdminAddr           string        // address of metrics and health; "": none
	PprofAddr           string        // address of profiles; "": none
	PublicURL           string        // without a trailing slash; "" is Addr
	DB                  string        // a file (SQLite) or postgres://…
	DirectURL           string        // postgres://… past a pooler in DB; "" is DB
	DBTimeout           time.Duration // of a request's call of PostgreSQL; 0: none
	DBJobTimeout        time.Duration // of another statement of PostgreSQL; 0: none
	BackupDir           string        // folder for backups of SQLite; "": none are made
	BackupEvery         time.Duration // between two backups
	BackupKeep          int           // number of backups to keep
	SecretKey           string        // hex or base64 of 32 bytes; "" is the key file
	PreviousKey         string        // opens values sealed before SecretKey was replaced; "" is none
	Brand               string        // the alias in X-<Brand>-Licensing-Key; "" is none
	Name                string        // the marketplace's name on its pages
	LegalName           string        // the seller; "" is Name
	SupportURL          string        // contact for buyers: a page, or mailto:
	TermsURL            string        // page with the terms of sale
	PrivacyURL          string        // page about privacy
	Logo                string        // file with a picture that replaces our logo
	Accent              string        // colour of buttons and links, or two: for light and dark pages
	RateLimit           int           // requests per minute and key; 0 is no limit
	TrustedProxies      httpd.Proxies // trusted to report the client's address
	LogLevel            slog.Level
	LogFormat           LogFormat
	RequireSecondFactor account.Requirement  // people who must have one to use the console; "": none
	StaffLife           time.Duration        // maximum age of a sign-in for console and portal; 0: unlimited
	StaffIdle           time.Duration        // maximum time without use for console and portal
	AllowPrivateTargets bool                 // webhooks may go to http and to private addresses
	EgressProxy         *url.URL             // proxy for outgoing webhooks; nil: none
	CAFile              string               // PEM of more authorities for certificates of partners' servers; "": none
	OTLPEndpoint        string               // receiver of traces; "": none
	ReadConnections     int                  // 0: depends on the machine
	DrainDelay          *time.Duration       // time to serve on when told to stop; nil: by the database
	ShutdownTimeout     time.Duration        // time for running requests to end after that
	Migrate             bool                 // migrate the schema at start
	CodeLife            time.Duration        // of the code that connects a buyer
	AccessLife          time.Duration        // of an access token
	RefreshLife         time.Duration        // of a refresh token
	Retry               []time.Duration      // waits before each retry of a failed delivery
	ParkAfter           time.Duration        // time with only failures
	SupersedeAfter      time.Duration        // since the first refusal of an event
	SupersedeAttempts   int                  // that were refused
	WebhookConcurrency  int                  // maximum concurrent webhooks to one partner
	KeepResponses       time.Duration        // retention of the record of an attempt
	ProbeEvery          time.Duration        // interval for a parked endpoint
	Stripe              payment.StripeConfig // account for payments; the zero value takes none
	Mail                mail.Config          // email transport; the zero value sends none
	MailBuyers          notice.Audience      // buyers who get emails about their purchases
	MailOff             []mail.Kind          // kinds of emails to buyers that are not sent
	RefundRequests      payment.RequestMode  // whether refund requests wait for a person
	Defaults            ledger.Defaults      // terms of partners without their own
	TimeZone            string               // months of statements begin and end in it; "": UTC
	Log                 *slog.Logger         // nil is standard error, by LogLevel and LogFormat

	Withheld    map[string]string // files of systemd's credentials that this user cannot read, by setting
	SecretFiles map[string]string // files that secret settings were read from, by setting
	Origins     []Origin          // every setting as found by Load

	NewDatabase bool // rename the log of a missing SQLite file; a flag of commands, not a setting

	// Fields for devserver and tests, without settings.
	Now       func() time.Time // the clock; nil: the system clock
	SignNow   func() time.Time // clock for signing webhooks; nil: Now
	Machine   func() time.Time // clock to compare with the database's; nil: the system clock
	TestMoney bool             // the shop sells for test money
	Mailbox   string           // page that shows the emails in Catcher
	Catcher   mail.Transport   // gets emails if Mail is not configured; nil: none
	Extra     []wire.Route     // additional routes
	OwnHosts  bool             // the Host of requests must be one of the service
	Hurry     <-chan struct{}  // closed to cut DrainDelay short; nil: never

	Wrap func(http.Handler) http.Handler // wraps all handlers; nil: no wrapper
	// connects for webhooks, unguarded; nil: by the settings
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// LogFormat is the format of log lines.
type LogFormat string

// The log formats.
const (
	JSON  LogFormat = "json"
	Text  LogFormat = "text"
	Short LogFormat = "short" // a few words for a person; only devserver writes it
)

// Logger returns the configured logger.
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

// transport returns the email transport.
func (c Config) transport() mail.Transport {
	if c.Catcher != nil && !c.Mail.Configured() {
		return c.Catcher
	}
	return c.Mail.Transport()
}

// mailsOff lists the kinds of emails that are not written. Without a mail server the optional ones
// are left out: each would only fail.
func (c Config) mailsOff() []mail.Kind {
	if c.Catcher == nil && !c.Mail.Configured() {
		return mail.Kinds
	}
	return c.MailOff
}

// Postgres reports whether the data is in PostgreSQL, not in a file.
func (c Config) Postgres() bool { return isPostgres(c.DB) }

func isPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// drainDelay returns the time between turning unready and refusing connections. Several nodes need
// PostgreSQL, so a node on SQLite has no other one that could take its requests.
func (c Config) drainDelay() time.Duration {
	switch {
	case c.DrainDelay != nil:
		return *c.DrainDelay
	case c.Postgres():
		return 5 * time.Second
	}
	return 0
}

// Local reports whether only this machine can reach the service, as in a trial.
func (c Config) Local() bool { return loopback(c.Addr) }

// loopback reports whether addr, host and port, is reachable only from this machine.
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

// URL returns the public URL, as far as it is known before listening.
func (c Config) URL() string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	return "http://" + reachable(c.Addr)
}

// Advice lists missing settings that a production install needs, one sentence for each.
func (c Config) Advice() []string {
	var advice []string
	say := func(s string) { advice = append(advice, s) }
	u, err := url.Parse(c.PublicURL)
	switch {
	case c.PublicURL == "":
		say(
			"public-url is not set: links in answers name the listening address; set it to the https address that " +
				"buyers and partners use",
		)
	case err == nil && u.Scheme != "https" && !loopback(net.JoinHostPort(u.Hostname(), "0")):
		say(
			"public-url is not https: keys, codes and cookies would travel in the clear; put a TLS proxy in front " +
				"and set public-url to its address",
		)
	}
	if c.SecretKey == "" {
		say(
			"secret-key is not set: the key is kept in a file beside the database; keep a copy of it apart from the " +
				"database's backups, or set secret-key",
		)
	}
	if !c.Mail.Configured() {
		say(
			"smtp-url is not set: people cannot sign up or get a sign-in link by email, and partners' contacts are " +
				"not " +
				"told when webhooks fail; set smtp-url and mail-from",
		)
	}
	if c.SupportURL == "" {
		say(
			"support-url is not set: pages give buyers no contact; set it to a page or to mailto: and an " +
				"address",
		)
	}
	if c.AllowPrivateTargets {
		say(
			"allow-private-targets is on: a partner can point webhooks at this machine's own network; switch it off " +
				"where partners are not your own",
		)
	}
	if c.RateLimit == 0 {
		say("rate-limit is 0: one partner's program can take the whole service; set rate-limit")
	}
	return append(advice, c.exposed()...)
}
