package app

import (
	"slices"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/ui"
)

// Mode is the purpose of the service. It decides which settings exist and their defaults.
type Mode int

// The modes.
const (
	Serve Mode = iota // production: careful defaults
	Dev               // a developer's own copy: open defaults, nothing shared
)

// Setting is one setting. Its name is the same everywhere: the flag --public-url, the variable
// CLAVIGER_PUBLIC_URL and the key public-url in the file.
type Setting struct {
	Name    string
	Value   string   // a word for the value, for help
	Default string   // as written by the operator
	Help    string   // one sentence without a full stop
	Secret  bool     // masked when shown; can also be read from a file, as Name-file
	Switch  bool     // a flag without a value means true
	Words   []string // the possible values, if they are few

	dev string // the default of `dev`, if it differs; "-" is an empty one
	set func(*Config, string) error
}

// Maximum timeouts of the database. A request ends after 45 s in any case.
const (
	maxDBTimeout    = 30 * time.Second
	maxDBJobTimeout = 24 * time.Hour
)

// settings is the only list of settings. Flags, variables, the file, `config check` and the page in
// docs are derived from it.
var settings = []Setting{
	{
		Name: "addr", Value: "host:port", Default: "127.0.0.1:8080",
		Help: "Address to listen on; port 0 picks a free one",
		set:  address(func(c *Config) *string { return &c.Addr }),
	},
	{
		Name: "admin-addr", Value: "host:port", Default: "127.0.0.1:8081", dev: "off",
		Help: "Address of metrics and health, for monitoring and nobody else; off for none",
		set:  address(func(c *Config) *string { return &c.AdminAddr }),
	},
	{
		Name: "pprof-addr", Value: "host:port", Default: "off",
		Help: "Address of profiles of the running program, such as 127.0.0.1:6060, for the operator's eyes only; " +
			"off for none",
		set: address(func(c *Config) *string { return &c.PprofAddr }),
	},
	{
		Name: "public-url", Value: "url",
		Help: "The public URL of this service, such as https://licenses.example.com; without it, the listening address",
		set:  publicURL,
	},
	{
		Name: "db", Value: "file|url", Default: "claviger.db", dev: "-", Secret: true,
		Help: "Where the data is: a file (SQLite) or postgres://user:password@host/name",
		set:  text(func(c *Config) *string { return &c.DB }),
	},
	{
		Name: "db-direct-url", Value: "url", Secret: true,
		Help: "With a pooler in db: the address of the PostgreSQL server itself, for messages between nodes, locks, " +
			"migrations and copies; without it, db",
		set: directURL,
	},
	{
		Name: "db-timeout", Value: "duration", Default: "5s",
		Help: "How long a request may wait for PostgreSQL before the answer is 503",
		set:  duration(maxDBTimeout, func(c *Config) *time.Duration { return &c.DBTimeout }),
	},
	{
		Name: "db-job-timeout", Value: "duration", Default: "60s",
		Help: "How long PostgreSQL may take for one statement of an import, an export, a bulk job, a preview, a " +
			"batch or work in the background",
		set: duration(maxDBJobTimeout, func(c *Config) *time.Duration { return &c.DBJobTimeout }),
	},
	{
		Name: "backup-dir", Value: "folder",
		Help: "Folder for backups of an SQLite database, which the service then makes by itself; without it, none " +
			"are made",
		set: text(func(c *Config) *string { return &c.BackupDir }),
	},
	{
		Name: "backup-every", Value: "duration", Default: "24h",
		Help: "Time between two backups, at least 1m",
		set:  parseBackupEvery,
	},
	{
		Name: "backup-keep", Value: "n", Default: "7",
		Help: "Number of backups to keep; older ones are deleted after a good new one",
		set:  number(1, maxBackups, func(c *Config) *int { return &c.BackupKeep }),
	},
	{
		Name: "secret-key", Value: "key", Secret: true,
		Help: "Key that seals stored secrets: 32 bytes in hex or base64 (openssl rand -hex 32); without it, a key " +
			"file beside the database",
		set: secretKey,
	},
	{
		Name: "secret-key-previous", Value: "key", Secret: true,
		Help: "The key that secret-key replaces, until claviger secret rotate has sealed everything again",
		set:  previousKey,
	},
	{
		Name: "brand", Value: "name",
		Help: "The marketplace's name: with Acme, X-Acme-Licensing-Key is an alias of the header X-Licensing-Key",
		set:  brand,
	},
	{
		Name: "name", Value: "text", Default: "Claviger",
		Help: "What the marketplace is called on its pages and in its mails",
		set:  marketplace,
	},
	{
		Name: "legal-name", Value: "text",
		Help: "Who sells, in the footer and on products, such as Acme Software GmbH; without it, name",
		set:  legalName,
	},
	{
		Name: "support-url", Value: "url",
		Help: "Where buyers ask for help: a page, or an address such as mailto:help@example.com",
		set:  supportURL,
	},
	{
		Name: "terms-url", Value: "url",
		Help: "The page with the terms of sale, which the footer and products lead to",
		set:  page(func(c *Config) *string { return &c.TermsURL }),
	},
	{
		Name: "privacy-url", Value: "url",
		Help: "The page about privacy, which the footer leads to",
		set:  page(func(c *Config) *string { return &c.PrivacyURL }),
	},
	{
		Name: "logo", Value: "file",
		Help: "A PNG, JPEG or WebP in place of the logo, shown 32 pixels high; a wide one is shown without the name " +
			"beside it",
		set: logo,
	},
	{
		Name: "accent", Value: "colour",
		Help: "The colour of buttons and links, such as #0c5c49, or two with a comma, for light and for dark pages; " +
			"it must have a contrast of 4.5:1",
		set: accent,
	},
	{
		Name: "rate-limit", Value: "n", Default: "600", dev: "0",
		Help: "Requests per minute for each key; 0 for no limit",
		set:  number(0, 1_000_000, func(c *Config) *int { return &c.RateLimit }),
	},
	{
		Name: "require-second-factor", Value: "who", Default: "operators", dev: "none",
		Help:  "Who needs a one-time code or a passkey to use the console: none, admins or operators",
		Words: []string{string(account.RequireNone), string(account.RequireAdmins), string(account.RequireOperators)},
		set:   requireFactor,
	},
	{
		Name: "staff-session-life", Value: "duration", Default: "12h", dev: "720h",
		Help: "After how long the console and the portal ask for a new sign-in",
		set:  duration(ui.SessionLife, func(c *Config) *time.Duration { return &c.StaffLife }),
	},
	{
		Name: "staff-session-idle", Value: "duration", Default: "1h", dev: "168h",
		Help: "After how long without use they ask for one; a page that is only open is no use",
		set:  duration(ui.SessionIdle, func(c *Config) *time.Duration { return &c.StaffIdle }),
	},
	{
		Name: "trusted-proxies", Value: "list",
		Help: "Addresses or networks whose X-Forwarded-For is believed, such as 10.0.0.0/8,192.0.2.7",
		set:  proxies,
	},
	{
		Name: "log-level", Value: "level", Default: "info",
		Help:  "Least important line that is logged: debug, info, warn or error",
		Words: []string{"debug", "info", "warn", "error"},
		set:   logLevel,
	},
	{
		Name: "log-format", Value: "format", Default: "json", dev: "short",
		Help: "How a log line is written: json or text; in claviger dev also short, a few words for each thing " +
			"that happens",
		Words: []string{string(JSON), string(Text), string(Short)},
		set:   logFormat,
	},
	{
		Name: "egress-proxy", Value: "url", Secret: true,
		Help: "The proxy by which webhooks leave, such as http://user:password@proxy.internal:3128; it is told " +
			"checked addresses, never names",
		set: egressProxy,
	},
	{
		Name: "ca-file", Value: "file",
		Help: "PEM file of certificate authorities that are trusted beside the system's, for partners' servers and " +
			"the proxy",
		set: caFile,
	},
	{
		Name: "otlp-endpoint", Value: "url",
		Help: "Where OpenTelemetry traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318; log lines and " +
			"webhooks then name their trace",
		set: otlpEndpoint,
	},
	{
		Name: "allow-private-targets", Value: "bool", Default: "false", dev: "true", Switch: true,
		Help: "Let webhook and redirect URLs be http and name private addresses",
		set:  boolean(func(c *Config) *bool { return &c.AllowPrivateTargets }),
	},
	{
		Name: "smtp-url", Value: "url", Secret: true,
		Help: "Mail server: smtp://user:password@host:587 (STARTTLS), smtps://user:password@host:465, or " +
			"file:FOLDER for .eml files; without it, no mail is sent",
		set: mailServer,
	},
	{
		Name: "stripe-secret-key", Value: "key", Secret: true,
		Help: "Secret or restricted key of the Stripe account that takes the money; without it, plans are paid for " +
			"at their checkout_url",
		set: stripeKey,
	},
	{
		Name: "stripe-webhook-secret", Value: "secret", Secret: true,
		Help: "Signing secret of the endpoint /stripe/webhook at Stripe (claviger stripe setup makes one); two with " +
			"a comma between while it is rolled",
		set: stripeWebhookSecret,
	},
	{
		Name: "refund-requests", Value: "how", Default: string(payment.AskPerson),
		Help: "What happens when a buyer asks for their money back in time: ask (a person decides in the console) " +
			"or automatic (Stripe is asked for the refund)",
		Words: []string{string(payment.AskPerson), string(payment.Automatic)},
		set:   refundMode,
	},
	{
		Name: "default-share", Value: "n", dev: "7000",
		Help: "What partners without terms of their own earn, in basis points of the price, such as 7000 for 70 %; " +
			"without it, their sales are not divided",
		set: defaultShare,
	},
	{
		Name: "time-zone", Value: "name", Default: "UTC",
		Help: "Time zone in which the months of partners' statements begin and end, such as Europe/Berlin",
		set:  timeZone,
	},
	{
		Name: "mail-from", Value: "address",
		Help: "Who mails are from, such as Acme Licensing <licenses@example.com>",
		set:  mailFrom,
	},
	{
		Name: "mail-buyers", Value: "who", Default: string(notice.Shop),
		Help: "Whose buyers are told by mail what became of a purchase: shop (bought on the pages here), all (also " +
			"by the operator API) or none",
		Words: []string{string(notice.Shop), string(notice.All), string(notice.Nobody)},
		set:   mailBuyers,
	},
	{
		Name: "mail-off", Value: "list",
		Help: "Mails to buyers that are not sent, of " + mail.KindNames(),
		set:  mailOff,
	},
	{
		Name: "read-connections", Value: "n", Default: "0",
		Help: "Database connections: those that read on SQLite, all of them on PostgreSQL; 0 chooses by the number " +
			"of processors",
		set: number(0, 1000, func(c *Config) *int { return &c.ReadConnections }),
	},
	{
		Name: "drain-delay", Value: "duration", dev: "0s",
		Help: "How long a node that is told to stop still serves while /readyz says 503, so that proxies learn of " +
			"it; " +
			"without it, 5s on PostgreSQL and 0s on SQLite",
		set: delay(time.Minute, func(c *Config) **time.Duration { return &c.DrainDelay }),
	},
	{
		Name: "shutdown-timeout", Value: "duration", Default: "15s",
		Help: "How long running requests may take to end when the service stops",
		set:  duration(time.Hour, func(c *Config) *time.Duration { return &c.ShutdownTimeout }),
	},
	{
		Name: "migrate", Value: "bool", Default: "true", Switch: true,
		Help: "Bring the database's schema up to date on start; false refuses to start until claviger migrate was run",
		set:  boolean(func(c *Config) *bool { return &c.Migrate }),
	},
	{
		Name: "code-life", Value: "duration", Default: "10m",
		Help: "How long the code that a buyer brings to an application can be exchanged",
		set:  duration(time.Hour, func(c *Config) *time.Duration { return &c.CodeLife }),
	},
	{
		Name: "access-token-life", Value: "duration", Default: "1h",
		Help: "How long an access token works; partners are told in expires_in",
		set:  duration(24*time.Hour, func(c *Config) *time.Duration { return &c.AccessLife }),
	},
	{
		Name: "refresh-token-life", Value: "duration", Default: "720h",
		Help: "How long a refresh token works; each refresh gives a new one",
		set:  duration(10*365*24*time.Hour, func(c *Config) *time.Duration { return &c.RefreshLife }),
	},
	{
		Name: "retry", Value: "list", Default: "5s,30s,2m,10m,30m,1h,3h,6h,12h,24h,24h",
		Help: "Waits between the attempts of a failed webhook, each a tenth more or less; after the last the event " +
			"is exhausted",
		set: retry,
	},
	{
		Name: "supersede-after", Value: "duration", Default: "10m",
		Help: "How long an endpoint refuses an event, while it takes others, before a newer event of the license is " +
			"sent in its place",
		set: duration(maxWait, func(c *Config) *time.Duration { return &c.SupersedeAfter }),
	},
	{
		Name: "supersede-attempts", Value: "n", Default: "4",
		Help: "How often it has to refuse the event for that; 0 for never",
		set:  number(0, maxRetries, func(c *Config) *int { return &c.SupersedeAttempts }),
	},
	{
		Name: "webhook-concurrency", Value: "n", Default: "256",
		Help: "How many webhooks are on their way to one partner at a time, at most; partners can have a number of " +
			"their own",
		set: number(1, partner.MaxWebhooks, func(c *Config) *int { return &c.WebhookConcurrency }),
	},
	{
		Name: "keep-responses", Value: "duration", Default: "9600h",
		Help: "How long the record of each attempt to deliver a webhook is kept; the newest 100 of an event, at most",
		set:  duration(maxKeep, func(c *Config) *time.Duration { return &c.KeepResponses }),
	},
	{
		Name: "park-after", Value: "duration", Default: "1h",
		Help: "How long an endpoint may do nothing but fail before it is parked: probed now and then, its queue kept",
		set:  duration(maxWait, func(c *Config) *time.Duration { return &c.ParkAfter }),
	},
	{
		Name: "probe-every", Value: "duration", Default: "5m",
		Help: "How often a parked endpoint is probed",
		set:  duration(maxWait, func(c *Config) *time.Duration { return &c.ProbeEvery }),
	},
}

// Settings returns the settings of a mode, in the order of the documentation.
func Settings(mode Mode) []Setting {
	list := slices.Clone(settings)
	for i, s := range list {
		if mode == Dev && s.dev != "" {
			list[i].Default = strings.TrimPrefix(s.dev, "-")
		}
	}
	return list
}

// Variable returns the setting's environment variable.
func (s Setting) Variable() string { return variable(s.Name) }
