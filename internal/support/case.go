package support

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/notice"
	"claviger/internal/paging"
	"claviger/internal/partner"
)

// Limits of a timeline, newest first.
const (
	maxEvents      = 50
	maxAttempts    = 5 // of each event
	maxActs        = 100
	maxSignIns     = 20
	maxMails       = 20
	maxMailsRead   = 500 // to find those: a buyer may have many licenses
	maxConnections = 20
)

// EntryKind is the source of an entry of a timeline.
type EntryKind string

// Kinds of entries, in their order at the same time.
const (
	Act        EntryKind = "act"        // an act of a person or program
	Purchased  EntryKind = "purchase"   // a purchase or plan change
	Event      EntryKind = "event"      // a change of status or tier
	Delivery   EntryKind = "delivery"   // an attempt to notify the partner, with its answer
	Mail       EntryKind = "mail"       // an email to the buyer
	SignIn     EntryKind = "sign_in"    // the buyer signed in
	Connection EntryKind = "connection" // the buyer connected the license to the application
	Payment    EntryKind = "payment"    // a report of Stripe: a payment, a refund or a dispute
)

var entryOrder = []EntryKind{SignIn, Payment, Purchased, Act, Connection, Event, Delivery, Mail}

// Entry is one thing that happened. It contains no secret and no free text.
type Entry struct {
	At         time.Time
	Kind       EntryKind
	Title      string
	Text       string // details, or ""
	By         string // the actor, for the marketplace's own people; "" if none or obvious
	Failed     bool   // something went wrong
	EventID    int64  // of an event or delivery, or 0
	AttemptID  int64  // of a delivery, or 0
	PurchaseID int64  // of a purchase or payment, or 0
	DisputeID  string // the provider's, or ""

	by     audit.Actor  // of an act
	became event.Status // of an event
	aside  bool         // not about the license, and not for a reply
}

// Case is everything known about a license, to help with a request.
type Case struct {
	License license.Detail
	Partner partner.Partner
	Owner   account.User // zero if there is none, or they were erased
	Explain []string     // reasons for its status
	Server  []string     // the last answer of the partner's server, and the next step
	Entries []Entry      // newest first
	More    bool         // older entries are left out

	names map[int64]string
	plans map[time.Time]audit.Actor // actors of plan changes, by time
}

// Case returns the case of a license.
func (d *Store) Case(ctx context.Context, key string) (Case, error) {
	var c Case
	var err error
	if c.License, err = d.Licenses.Inspect(ctx, key); err != nil {
		return Case{}, err
	}
	if c.Partner, err = d.Partners.Get(ctx, c.License.PartnerID); err != nil {
		return Case{}, err
	}
	if c.License.OwnerID != 0 {
		if c.Owner, err = d.Accounts.Get(ctx, c.License.OwnerID); err != nil &&
			!fault.Is(err, account.CodeUnknownUser) {
			return Case{}, err
		}
	}
	if c.Explain, err = d.Licenses.Explain(ctx, c.License.License); err != nil {
		return Case{}, err
	}
	for _, add := range []func(context.Context, *Case) error{
		d.addActs, d.addEvents, d.addConnections, d.addPayments, d.addOwner,
	} {
		if err := add(ctx, &c); err != nil {
			return Case{}, err
		}
	}
	c.addPurchases()
	c.sort()
	return c, d.addNames(ctx, &c)
}

// sort puts the newest entry first.
func (c *Case) sort() {
	slices.SortStableFunc(c.Entries, func(a, b Entry) int {
		return cmp.Or(b.At.Compare(a.At), slices.Index(entryOrder, b.Kind)-slices.Index(entryOrder, a.Kind))
	})
}

func (c *Case) addPurchases() {
	for _, k := range c.License.Links {
		s := k.Sale
		c.Entries = append(c.Entries, Entry{
			At: s.CreatedAt, Kind: Purchased, PurchaseID: s.ID, Title: saleTitle(s), Text: saleText(s),
			by: c.plans[s.CreatedAt],
		})
	}
}

// addActs adds the audit entries of the license and its events.
func (d *Store) addActs(ctx context.Context, c *Case) error {
	list, more, err := d.Audit.List(
		ctx,
		audit.Filter{Subject: "license:" + c.License.Key},
		paging.Page{Number: 1, Limit: maxActs},
	)
	if err != nil {
		return err
	}
	c.More = c.More || more
	c.plans = map[time.Time]audit.Actor{}
	for _, e := range list {
		if e.Action == "license.plan" { // its purchase has an entry
			c.plans[e.At] = e.Actor
		}
		if title := acts[e.Action]; title != "" {
			c.Entries = append(c.Entries, Entry{At: e.At, Kind: Act, Title: title, by: e.Actor})
		}
	}
	return nil
}

func (d *Store) addConnections(ctx context.Context, c *Case) error {
	list, err := d.OAuth.OfLicense(ctx, c.License.ID, maxConnections)
	if err != nil {
		return err
	}
	for _, a := range list {
		c.Entries = append(c.Entries, connectionEntries(a)...)
	}
	return nil
}

// addOwner adds the sign-ins of the current owner and the emails to them, except those about their
// other licenses.
func (d *Store) addOwner(ctx context.Context, c *Case) error {
	if c.Owner.ID == 0 || !c.Owner.ErasedAt.IsZero() {
		c.Owner = account.User{}
		return nil
	}
	entries, err := d.ofPerson(
		ctx,
		c.Owner,
		func(m mail.Record) bool { return !notice.AboutAnother(m.Cause, c.License) },
	)
	c.Entries = append(c.Entries, entries...)
	return err
}

// ofPerson returns the sign-ins of a person and the emails to them that tells selects. For a guest, these
// are only the emails with the guest's link.
func (d *Store) ofPerson(ctx context.Context, u account.User, tells func(mail.Record) bool) ([]Entry, error) {
	var entries []Entry
	mails, err := mail.To(ctx, d.DB, u.Address(), maxMailsRead)
	if err != nil {
		return nil, err
	}
	for _, m := range mails {
		toThem := !u.Guest() || account.ToGuest(m.Cause, u.ID)
		if toThem && tells(m) && len(entries) < maxMails {
			entries = append(entries, mailEntry(m))
		}
	}
	list, _, err := d.Audit.List(
		ctx,
		audit.Filter{Subject: userSubject(u.ID)},
		paging.Page{Number: 1, Limit: maxSignIns},
	)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if title := ofPerson[e.Action]; title != "" {
			entries = append(entries, Entry{At: e.At, Kind: SignIn, Title: title, by: e.Actor})
		}
	}
	return entries, nil
}

// Person returns the newest sign-ins of a person and emails to them, newest first.
func (d *Store) Person(ctx context.Context, u account.User) ([]Entry, error) {
	entries, err := d.ofPerson(ctx, u, func(mail.Record) bool { return true })
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		entries[i].Title = strings.NewReplacer("The buyer", "The person", "the buyer", "the person").Replace(e.Title)
	}
	c := Case{Owner: u, Entries: entries}
	c.sort()
	return c.Entries, d.addNames(ctx, &c)
}

// addNames adds the names of the actors.
func (d *Store) addNames(ctx context.Context, c *Case) error {
	var ids []int64
	for _, e := range c.Entries {
		if e.by.Kind == audit.ByUser {
			ids = append(ids, e.by.ID)
		}
	}
	var err error
	if c.names, err = d.Accounts.Names(ctx, ids); err != nil {
		return err
	}
	for i := range c.Entries {
		if e := &c.Entries[i]; e.by.Kind != "" &&
			(e.Kind != SignIn || e.by.Kind != audit.ByUser || e.by.ID != c.Owner.ID) {
			e.By = c.who(e.by)
		}
	}
	return nil
}
