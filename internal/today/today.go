// Package today collects what needs a person of the marketplace: endpoints that fail,
// events and mails that were given up, partners that are not set up, jobs that fail, keys
// and certificates near their end, and queues and disks that fill. It owns no table: each
// fact is read through the package that does, from counters or by small indexes, so that
// it costs the same with a million licenses.
package today

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"claviger/internal/job"
	"claviger/internal/oauth"
	"claviger/internal/sqldb"
)

// Kind is what an item is about.
type Kind string

// The kinds, in the order in which they are listed.
const (
	QueueOld        Kind = "queue_old"        // deliveries or mails are due and not sent
	DiskFull        Kind = "disk_full"        // the database's disk is nearly full
	JobFailed       Kind = "job_failed"       // a background job failed, or did not run
	EndpointParked  Kind = "endpoint_parked"  // it is only probed now and then
	EndpointFailing Kind = "endpoint_failing" // its deliveries fail
	EventsGivenUp   Kind = "events_given_up"  // exhausted or superseded, and not delivered since
	CannotRedeem    Kind = "cannot_redeem"    // buyers have paid, and there is no redirect URL
	MailGivenUp     Kind = "mail_given_up"
	PlanUnchecked   Kind = "plan_unchecked"   // its price must be looked at before it is sold again
	PaymentProblem  Kind = "payment_problem"  // a payment that was not sold, a refund that failed, an inquiry
	CertificateEnds Kind = "certificate_ends" // of a partner's webhook URL, as last seen
	KeyEnds         Kind = "key_ends"         // of a key that signs identity tokens
	URLUnproven     Kind = "url_unproven"     // a URL was never validated
	NoContacts      Kind = "no_contacts"      // nobody is told when deliveries fail
)

// Kinds are all of them.
var Kinds = []Kind{
	QueueOld, DiskFull, JobFailed, PaymentProblem, PlanUnchecked, EndpointParked, EndpointFailing, EventsGivenUp, CannotRedeem, MailGivenUp,
	CertificateEnds, KeyEnds, URLUnproven, NoContacts,
}

// Item is one thing that needs a person. What is zero says nothing.
type Item struct {
	Kind      Kind
	PartnerID int64
	Partner   string    // its name
	Subject   string    // what it is about besides: the id of a mail or key, the name of a job or URL
	Since     time.Time // when it began
	Until     time.Time // when something ends or happens next
	Count     int64     // how many events, licenses or attempts it is about
	More      bool      // there are more than Count
	Text      string    // in words, such as the last error
}

// Shown is how many items of a kind are listed.
const Shown = 10

// most is how many items of a kind are counted.
const most = 500

// Group is the items of a kind.
type Group struct {
	Kind  Kind
	Items []Item // at most Shown
	Rest  int    // how many are not listed
	More  bool   // there are more than Rest
}

// Report is what needs a person at a time.
type Report struct {
	At     time.Time
	Groups []Group // of those kinds that there are
}

// Version is another one whenever the report says something else.
func (r Report) Version() string {
	h := sha256.New()
	for _, g := range r.Groups {
		fmt.Fprintf(h, "%s %d %t\n", g.Kind, g.Rest, g.More) //nolint:errcheck // a hash takes everything
		for _, i := range g.Items {
			fmt.Fprintf(h, "%d %q %q %d %d %d %t %q\n", i.PartnerID, i.Partner, i.Subject, i.Since.UnixNano(), i.Until.UnixNano(), i.Count, i.More, i.Text) //nolint:errcheck // likewise
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// When people are told.
const (
	queueAge   = time.Minute         // of what is due and not sent
	notice     = 21 * 24 * time.Hour // before a certificate ends
	diskShare  = 10                  // percent of the disk that should be free
	diskEnough = 5 << 30             // bytes that are enough on any disk
)

// Book reads what needs a person.
type Book struct {
	DB   *sqldb.DB
	Keys *oauth.Keys
	Now  func() time.Time
	Disk func() (sqldb.Disk, bool) // of the database; nil: DB.Disk

	mu   sync.Mutex
	last Report
}

// recentAge is how old what Recent returns may be.
const recentAge = 500 * time.Millisecond

// Recent is Read for many who ask at once, such as open pages: it may be half a second
// old.
func (b *Book) Recent(ctx context.Context) (Report, error) {
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

// Read reads what needs a person now.
func (b *Book) Read(ctx context.Context) (Report, error) {
	c := &collection{now: b.Now(), items: map[Kind][]Item{}, capped: map[Kind]bool{}}
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		clear(c.items)
		for _, read := range []func(context.Context, *sqldb.Tx) error{c.queues, c.jobs, c.mails, c.payments, c.plans, c.partners} {
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

// collection is what was found so far.
type collection struct {
	now    time.Time
	items  map[Kind][]Item
	capped map[Kind]bool // there are more than were read
}

func (c *collection) add(i Item) { c.items[i.Kind] = append(c.items[i.Kind], i) }

// report lists the beginning of each kind.
func (c *collection) report() Report {
	r := Report{At: c.now}
	for _, kind := range Kinds {
		items := c.items[kind]
		if len(items) == 0 {
			continue
		}
		g := Group{Kind: kind, Items: items, More: c.capped[kind]}
		if len(items) > Shown {
			g.Items, g.Rest = items[:Shown], len(items)-Shown
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

// disk tells of a disk that is nearly full.
func (c *collection) disk(d sqldb.Disk, known bool) {
	if !known || d.Free >= diskEnough || d.Free*100 >= d.Total*diskShare {
		return
	}
	c.add(Item{Kind: DiskFull, Text: fmt.Sprintf("%d MB of %d MB are free.", d.Free>>20, d.Total>>20), Count: d.Free})
}

// jobs tells of jobs that failed or stand still.
func (c *collection) jobs(ctx context.Context, tx *sqldb.Tx) error {
	runs, err := job.Runs(ctx, tx)
	for _, r := range job.Troubled(runs, c.now) {
		i := Item{Kind: JobFailed, Subject: r.Job, Since: r.FailedSince, Text: r.Error}
		if !r.Failed() {
			i.Since, i.Text = r.BeganAt, "It has not run since."
		}
		c.add(i)
	}
	return err
}

// keys tells of signing keys near their end.
func (c *collection) keys(ctx context.Context, keys *oauth.Keys) error {
	list, err := keys.Ending(ctx)
	for _, k := range list {
		c.add(Item{Kind: KeyEnds, Subject: k.ID, Since: k.ActivatesAt, Until: k.EndsAt(), Text: string(k.Alg)})
	}
	return err
}
