package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/sealing"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Result is the result of a check.
type Result string

// The results.
const (
	Passed  Result = "pass"
	Warned  Result = "warn"
	Failed  Result = "fail"
	Skipped Result = "skipped"
)

// Finding is the outcome of one check of an install, with advice.
type Finding struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	Text   string `json:"text"`
	Do     string `json:"do,omitempty"`
}

// examination runs the checks of one install.
type examination struct {
	cfg Config
	db  *sqldb.DB // nil: it could not be opened, or has an old schema
	why string    // why db is nil
	all []Finding
}

// examineTimeout is the timeout of each request to other systems.
const examineTimeout = 10 * time.Second

// Examine checks an install without changing anything: the database, the secret key, email, the
// public address, disk and files.
func Examine(ctx context.Context, cfg Config) []Finding {
	if cfg.Now == nil {
		cfg.Now = Now
	}
	cfg.Log = cfg.logger()
	e := &examination{cfg: cfg}
	for _, check := range e.checks() {
		limited, cancel := context.WithTimeout(ctx, examineTimeout)
		check(limited)
		cancel()
	}
	if e.db != nil {
		_ = e.db.Close() // nothing was written
	}
	return e.all
}

// again is the advice for a read of the database that failed after others succeeded.
const again = "Run claviger doctor again; if it says the same, look at the log of the database."

func (e *examination) say(name string, r Result, do, text string, args ...any) {
	e.all = append(e.all, Finding{Name: name, Result: r, Text: fmt.Sprintf(text, args...), Do: do})
}

// database opens the database and compares its schema with this program's.
func (e *examination) database(ctx context.Context) {
	if err := sqldb.CheckLeftLog(e.cfg.DB); !e.cfg.Postgres() && err != nil {
		const advice = "Put the file back beside its log, or restore a backup with claviger restore."
		e.say("database", Failed, advice, "%v", err)
		return
	}
	if _, err := os.Stat(e.cfg.DB); !e.cfg.Postgres() && errors.Is(err, fs.ErrNotExist) {
		e.say(
			"database", Warned, "Start claviger serve or run claviger migrate, which make it; or name yours with db.",
			"there is none yet at %s", shownDB(e.cfg.DB),
		)
		return
	}
	e.why = "the database cannot be used"
	db, err := OpenExisting(ctx, e.cfg)
	if err != nil {
		do := "Start the database server, and check the address, the user and the password in db."
		if errors.Is(err, sqldb.ErrRefusedParameter) {
			do = "Remove the parameter from db, or let the pooler ignore it (ignore_startup_parameters of pgbouncer)."
		}
		e.say("database", Failed, do, "%v", err)
		return
	}
	schema, err := db.Schema(ctx)
	if err == nil {
		err = schema.TooNew()
	}
	switch shown := shownDB(e.cfg.DB); {
	case errors.Is(err, sqldb.ErrTooNew):
		e.say("database", Failed, "Run version "+schema.Oldest+" of the program or newer.", "%s: %v", shown, err)
	case err != nil:
		e.say("database", Failed, "Run claviger migrate status with the same settings.", "%s: %v", shown, err)
	case !schema.Ours:
		e.say(
			"database", Warned, "Start claviger serve or run claviger migrate, which make the tables.",
			"%s is reachable and empty", shown,
		)
	case len(schema.Pending) > 0:
		e.old(shown, schema)
	default:
		e.say("database", Passed, "", "%s is reachable, and its schema is up to date", shownDB(e.cfg.DB))
		e.db = db
		return
	}
	_ = db.Close() // nothing was written
}

// pendingAdvice says how to run the pending migrations.
func pendingAdvice(s sqldb.Schema) string {
	if s.Stop {
		return "Stop all nodes, take a backup, and run claviger migrate; or start claviger serve, which does it."
	}
	return "Take a backup and run claviger migrate, while nodes of the previous version run; or start claviger " +
		"serve, which does it."
}

// writable writes, commits and removes it again.
func (e *examination) writable(ctx context.Context) {
	const name = "writing"
	if e.db == nil {
		e.say(name, Skipped, "", "there is no database to write to")
		return
	}
	if err := e.db.CheckWrites(ctx); err != nil {
		do := "Name the primary server in db, not a replica; the user needs all rights on the tables, and the disk " +
			"must not be full or read-only."
		why := sqldb.WhyUnwritable(err)
		if why != "" {
			why += ": "
		}
		e.say(name, Failed, do, "the database takes no writes: %s%v", why, err)
		return
	}
	e.say(name, Passed, "", "the database takes writes")
}

// maxClock is the maximum difference between the clocks of a node and the database.
const maxClock = 2 * time.Second

// clock compares this machine's clock with the database's.
func (e *examination) clock(ctx context.Context) {
	const name = "clock"
	begun := time.Now()
	at, other, err := e.db.Clock(ctx)
	middle := begun.Add(time.Since(begun) / 2)
	off := at.Sub(middle).Round(time.Millisecond)
	switch {
	case err != nil:
		e.say(name, Failed, again, "the time of the database could not be read: %v", err)
	case !other:
		e.say(name, Passed, "", "the database has the clock of this machine")
	case off.Abs() > maxClock:
		e.say(name, Failed,
			"Let both machines follow a time server (chrony or systemd-timesyncd): codes, tokens and webhook "+
				"signatures carry the time.",
			"the clock of the database is %v from this machine's", off)
	default:
		e.say(name, Passed, "", "the clock of the database is %v from this machine's", off)
	}
}

// licenses finds licenses that were refunded but still work.
func (e *examination) licenses(ctx context.Context) {
	const name = "refunded licenses"
	list, err := license.Suspects(ctx, e.db, maxSuspects+1)
	switch {
	case err != nil:
		e.say(name, Failed, again, "%v", err)
	case len(list) == 0:
		e.say(name, Passed, "", "no license works after its payment was refunded")
	default:
		more := ""
		if len(list) > maxSuspects {
			list = list[:maxSuspects]
			more = " and more"
		}
		keys := make([]string, len(list))
		for i, s := range list {
			keys[i] = s.Key
		}
		e.say(name, Warned, "Open Today in the console: it lists them with a button that refunds the free plan change.",
			"refunded but still working: %s%s", strings.Join(keys, ", "), more)
	}
}

// maxSuspects is the maximum number of named licenses.
const maxSuspects = 20

// key opens all sealed values.
func (e *examination) key(ctx context.Context) {
	const name = "secret key"
	fresh, err := sealing.Empty(ctx, e.db, sealed()...)
	if err == nil && fresh {
		e.say(name, Passed, "", "nothing is sealed yet")
		return
	}
	var box *secret.Sealer
	if err == nil {
		if box, _, err = e.cfg.box(false); err == nil {
			err = sealing.Check(ctx, e.db, box, sealed()...)
		}
	}
	if err != nil {
		e.say(
			name, Failed,
			"Set secret-key to the key that this database was used with; after a replacement, set "+
				"secret-key-previous and run claviger secret rotate.",
			"%v", err,
		)
		return
	}
	e.say(name, Passed, "", "it opens everything that is sealed")
}

// Free disk space that is an error, and that is a warning.
const (
	fullDisk   = 256 << 20
	littleDisk = 2 << 30
)

func (e *examination) space(context.Context) {
	const name = "disk"
	d, known := e.db.Disk()
	free := fmt.Sprintf("%.1f GiB", float64(d.Free)/(1<<30))
	switch {
	case !known:
		e.say(name, Skipped, "", "the files of the database are on another machine")
	case d.Free < fullDisk:
		e.say(name, Failed, "Free space now: without it nothing is sold.", "%s are free beside the database", free)
	case d.Free < littleDisk:
		e.say(
			name, Warned, "Free space: a backup needs as much again as the database.",
			"%s are free beside the database", free,
		)
	default:
		e.say(name, Passed, "", "%s are free beside the database", free)
	}
}

// mail connects to the mail server without sending an email.
func (e *examination) mail(ctx context.Context) {
	const name = "mail"
	server, ok := e.cfg.Mail.Transport().(*mail.SMTP)
	switch {
	case !e.cfg.Mail.Configured():
		e.say(
			name, Warned, "Set smtp-url and mail-from.",
			"no mail server is set: people cannot sign up, and partners are not told of failing webhooks",
		)
	case !ok:
		e.say(name, Passed, "", "mails are written to a folder")
	default:
		if err := server.Try(ctx); err != nil {
			e.say(
				name, Failed,
				"Check host, port, user and password in smtp-url; smtps:// is for TLS from the first byte, smtp:// "+
					"for STARTTLS.",
				"%v", err,
			)
			return
		}
		e.say(name, Passed, "", "the mail server %s answers and lets us in", server.Host)
	}
}

// egress connects to the proxy for webhooks.
func (e *examination) egress(ctx context.Context) {
	const name = "egress proxy"
	u := e.cfg.EgressProxy
	if u == nil {
		return
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if p := u.Port(); p != "" {
		port = p
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		e.say(name, Failed, "Start the proxy, or correct egress-proxy: no webhook leaves without it.", "%v", err)
		return
	}
	_ = conn.Close()
	e.say(name, Passed, "", "the proxy %s takes connections", u.Host)
}

// proxies checks for an undeclared proxy in front: the service itself has no TLS.
func (e *examination) proxies(context.Context) {
	const name = "proxies"
	u, err := url.Parse(e.cfg.PublicURL)
	switch {
	case err != nil || e.cfg.PublicURL == "":
		e.say(name, Skipped, "", "public-url is not set")
	case u.Scheme == "https" && len(e.cfg.TrustedProxies) == 0:
		e.say(name, Warned, "Set trusted-proxies to the address of the proxy, such as 127.0.0.1/32.",
			"public-url is https, so a proxy is in front, and trusted-proxies does not name it: all clients look "+
				"like one, to rate limits and in the audit")
	default:
		e.say(name, Passed, "", "proxies in front: %d declared", len(e.cfg.TrustedProxies))
	}
}

// files checks the modes of files with secrets or data. It runs first, because opening the database
// fixes its mode.
func (e *examination) files(context.Context) {
	advice := e.cfg.exposed()
	for _, text := range advice {
		e.say("files", Warned, "", "%s", text)
	}
	if len(advice) == 0 {
		e.say("files", Passed, "", "only their owner can read the files of this install")
	}
}
