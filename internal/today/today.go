// Package today collects the items that need attention of the marketplace's people: failing
// endpoints, given-up events and emails, partners that are not set up, failing jobs, an old backup, keys
// and certificates near their end, and queues and disks that fill. It owns no table. It reads each fact
// through the owning package, from counters or small indexes, so the cost is the same with a
// million licenses.
package today

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"claviger/internal/backups"
	"claviger/internal/job"
	"claviger/internal/oauth"
	"claviger/internal/sqldb"
)

// Kind is the kind of an item.
type Kind string

// Kinds, in the order of the list.
const (
	QueueOld        Kind = "queue_old"        // deliveries or emails are overdue
	DiskFull        Kind = "disk_full"        // the database's disk is nearly full
	BackupOld       Kind = "backup_old"       // the last good backup is old
	JobFailed       Kind = "job_failed"       // a background job failed, or did not run
	EndpointParked  Kind = "endpoint_parked"  // it is only probed occasionally
	EndpointFailing Kind = "endpoint_failing" // its deliveries fail
	EventsGivenUp   Kind = "events_given_up"  // exhausted or superseded, and not delivered since
	CannotRedeem    Kind = "cannot_redeem"    // buyers have paid, but there is no redirect URL
	MailGivenUp     Kind = "mail_given_up"
	PlanUnchecked   Kind = "plan_unchecked"   // its price must be reviewed before it is sold again
	DisputeOpen     Kind = "dispute_open"     // a dispute or an inquiry of a bank
	PaymentProblem  Kind = "payment_problem"  // a payment without a sale, a failed refund
	RefundRequested Kind = "refund_requested" // a buyer asks for money back, and a person decides
	RefundedWorking Kind = "refunded_working" // a license works although its payment was refunded
	Undivided       Kind = "undivided"        // sales of a partner without terms
	CertificateEnds Kind = "certificate_ends" // of a partner's webhook URL, as last seen
	KeyEnds         Kind = "key_ends"         // of a key that signs identity tokens
	URLUnproven     Kind = "url_unproven"     // a URL was never validated
	NoContacts      Kind = "no_contacts"      // no one is notified when deliveries fail
)

// Kinds lists all kinds.
var Kinds = []Kind{
	QueueOld, DiskFull, BackupOld, JobFailed, DisputeOpen, PaymentProblem, RefundRequested, RefundedWorking,
	Undivided, PlanUnchecked, EndpointParked,
	EndpointFailing, EventsGivenUp, CannotRedeem, MailGivenUp,
	CertificateEnds, KeyEnds, URLUnproven, NoContacts,
}

// Item is one item that needs attention. Zero fields do not apply.
type Item struct {
	Kind      Kind
	PartnerID int64
	Partner   string    // its name
	Subject   string    // the id of an email or key, the name of a job or URL
	Since     time.Time // when it began
	Until     time.Time // when something ends or happens next
	Count     int64     // number of events, licenses or attempts
	More      bool      // there are more than Count
	Text      string    // such as the last error
}

// Shown is the number of items listed per kind.
const Shown = 10

// most is the number of items counted per kind.
const most = 500

// Group is the items of a kind.
type Group struct {
	Kind  Kind
	Items []Item // at most Shown
	Rest  int    // number of items not listed
	More  bool   // there are more than Rest
}

// Report is the items that need attention at a time.
type Report struct {
	At     time.Time
	Groups []Group // without empty kinds
}

// Version returns a string that changes with the content of the report.
func (r Report) Version() string {
	h := sha256.New()
	for _, g := range r.Groups {
		fmt.Fprintf(h, "%s %d %t\n", g.Kind, g.Rest, g.More) //nolint:errcheck // a hash never fails
		for _, i := range g.Items {
			fmt.Fprintf( //nolint:errcheck // likewise
				h,
				"%d %q %q %d %d %d %t %q\n",
				i.PartnerID,
				i.Partner,
				i.Subject,
				i.Since.UnixNano(),
				i.Until.UnixNano(),
				i.Count,
				i.More,
				i.Text,
			)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Thresholds of items.
const (
	queueAge   = time.Minute         // of overdue items
	notice     = 21 * 24 * time.Hour // before a certificate ends
	diskShare  = 10                  // percent of the disk to keep free
	diskEnough = 5 << 30             // bytes that are enough on any disk
)

// Store reads the items that need attention.
type Store struct {
	DB   *sqldb.DB
	Keys *oauth.Keys
	Now  func() time.Time
	Disk func() (sqldb.Disk, bool) // of the database; DB.Disk if nil

	BackupEvery time.Duration // between backups by the service; 0: unknown

	mu   sync.Mutex
	last Report
}

// recentAge is the maximum age of Recent's result.
const recentAge = 500 * time.Millisecond

// Recent is Read for many concurrent callers, such as open pages: its result may be half a second
// old.
func (b *Store) Recent(ctx context.Context) (Report, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if age := b.Now().Sub(b.last.At); age >= 0 && age < recentAge {
		return b.last, nil
	}
	r, err := b.Read(ctx)
	if err == nil {
		b.last = r
	}
	return r, err
}

// Read reads the items that need attention now.
func (b *Store) Read(ctx context.Context) (Report, error) {
	c := &collection{now: b.Now(), items: map[Kind][]Item{}, capped: map[Kind]bool{}}
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		clear(c.items)
		for _, read := range []func(context.Context, *sqldb.Tx) error{
			c.queues, c.backup(b.BackupEvery), c.jobs, c.mails, c.disputes, c.payments, c.refundRequests, c.suspects,
			c.undivided,
			c.plans, c.partners,
		} {
			if err := read(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = c.keys(ctx, b.Keys)
	}
	if err != nil {
		return Report{}, fmt.Errorf("collect what needs a person: %w", err)
	}
	disk := b.Disk
	if disk == nil {
		disk = b.DB.Disk
	}
	c.disk(disk())
	return c.report(), nil
}

// collection is the items found so far.
type collection struct {
	now    time.Time
	items  map[Kind][]Item
	capped map[Kind]bool // not all were read
}

func (c *collection) add(i Item) { c.items[i.Kind] = append(c.items[i.Kind], i) }

// report lists the first items of each kind.
func (c *collection) report() Report {
	r := Report{At: c.now}
	for _, kind := range Kinds {
		items := c.items[kind]
		if len(items) == 0 {
			continue
		}
		g := Group{Kind: kind, Items: items, More: c.capped[kind]}
		if len(items) > Shown {
			g.Items = items[:Shown]
			g.Rest = len(items) - Shown
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

// disk adds a disk that is nearly full.
func (c *collection) disk(d sqldb.Disk, known bool) {
	if !known || d.Free >= diskEnough || d.Free*100 >= d.Total*diskShare {
		return
	}
	c.add(Item{Kind: DiskFull, Text: fmt.Sprintf("%d MB of %d MB are free.", d.Free>>20, d.Total>>20), Count: d.Free})
}

// backup adds an old last backup. An install without any backup may have a tool that does not report.
func (c *collection) backup(every time.Duration) func(context.Context, *sqldb.Tx) error {
	return func(ctx context.Context, tx *sqldb.Tx) error {
		last, err := backups.Last(ctx, tx)
		if !last.IsZero() && backups.Old(last, every, c.now) {
			c.add(Item{Kind: BackupOld, Since: last})
		}
		return err
	}
}

// jobs adds jobs that failed or did not run.
func (c *collection) jobs(ctx context.Context, tx *sqldb.Tx) error {
	runs, err := job.Runs(ctx, tx)
	for _, r := range job.Troubled(runs, c.now) {
		i := Item{Kind: JobFailed, Subject: r.Job, Since: r.FailedSince, Text: r.Error}
		if !r.Failed() {
			i.Since = r.BeganAt
			i.Text = "It has not run since."
		}
		c.add(i)
	}
	return err
}

// keys adds signing keys near their end.
func (c *collection) keys(ctx context.Context, keys *oauth.Keys) error {
	list, err := keys.Ending(ctx)
	for _, k := range list {
		c.add(Item{Kind: KeyEnds, Subject: k.ID, Since: k.ActivatesAt, Until: k.EndsAt(), Text: string(k.Alg)})
	}
	return err
}
