package outage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"claviger/internal/job"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// Watch is the job that notifies contacts. It sends a notice when deliveries to their partner have
// failed for After, and then every Again while that lasts and events wait. It also sends one when
// events are given up, and one on recovery after earlier notices. Two nodes that run it never send
// the same notice.
type Watch struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Partners *partner.Store
	Profiles *profile.Store
	Service  string // name of the service in emails, such as licenses.example.com
	// Count is a hook: it counts waiting events. Watch calls it for each email, outside of a
	// transaction; queue.Figures.Waiting answers. Nil: emails do not mention them.
	Count func(ctx context.Context, partnerID int64) (Counts, error)
	Links Links // in emails
	// Lasts is how long an event is tried before it is given up; 0: emails do not mention it.
	Lasts time.Duration
	Mail  *mail.Outbox  // queue for emails
	Log   *slog.Logger  // nil: slog.Default()
	Every time.Duration // between rounds; 0: WatchEvery
	Ran   job.Ran       // called after each round; nil: not called

	warned map[int64]bool // outages without a contact that were logged
}

// Counts describes the waiting events of a partner.
type Counts struct {
	Waiting int64     // neither delivered nor given up
	Oldest  time.Time // of the oldest of them; zero: unknown
	Latest  string    // cause of the newest failed attempt, as in Notice.Cause; "": unknown
	Parked  bool      // the endpoint gets only occasional probes
}

// Links contains the links of an email; empty ones are omitted.
type Links struct {
	Records   string // the recorded attempts
	Profile   string // settings of the webhook URL and the contacts
	Redeliver string // page or instructions for redelivery of given-up events
}

// WatchEvery is the default interval of Watch.
const WatchEvery = 30 * time.Second

func (w *Watch) log() *slog.Logger { return cmp.Or(w.Log, slog.Default()) }

// Run notifies contacts until ctx ends. A failed run is logged, and the next one follows as usual.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(w.Every, WatchEvery))
	defer ticker.Stop()
	for {
		began := time.Now()
		_, err := w.once(ctx)
		w.Ran.Run(ctx, began, err)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.log().Error("notifying contacts of outages failed; the next run tries again", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once handles every outage that is due and returns the number of queued emails. A failure for one
// partner does not stop the others.
func (w *Watch) once(ctx context.Context) (mails int, err error) {
	now := w.Now()
	var failed []error
	var last int64
	for {
		list, err := w.due(ctx, now, last)
		if err != nil {
			return mails, errors.Join(append(failed, err)...)
		}
		for _, o := range list {
			n, err := w.handle(ctx, o, now)
			if err != nil {
				failed = append(failed, fmt.Errorf("partner %d: %w", o.PartnerID, err))
			}
			mails += n
			last = o.ID
		}
		if len(list) < batchSize || ctx.Err() != nil {
			return mails, errors.Join(failed...)
		}
	}
}

// batchSize is the number of outages read at a time.
const batchSize = 100

// due returns outages after id last that may need a step; next decides which step.
func (w *Watch) due(ctx context.Context, now time.Time, last int64) ([]Outage, error) {
	list, err := sqldb.All(ctx, w.DB, scan, `SELECT `+columns+` FROM outages
		WHERE settled_at = 0 AND id > $1 AND (closed_at <> 0
			OR tellings = 0 AND opened_at <= $2
			OR tellings > 0 AND told_at <= $3
			OR exhausted > exhausted_told AND exhausted_told_at <= $3)
		ORDER BY id LIMIT $4`, last, now.Add(-After), now.Add(-Again), batchSize)
	if err != nil {
		return nil, fmt.Errorf("find outages to notify of: %w", err)
	}
	return list, nil
}

// handle performs the next step of one outage.
func (w *Watch) handle(ctx context.Context, o Outage, now time.Time) (mails int, err error) {
	s := o.next(now)
	switch s {
	case wait:
		return 0, nil
	case discard, finish:
		_, err := w.write(ctx, o, s, nil, now)
		return 0, err
	case opened, still, exhausted, recovered:
	}
	facts, contacts, err := w.facts(ctx, o, now)
	if err != nil || facts.paused {
		return 0, err // notices about a paused partner follow when it is resumed
	}
	s, contacts = recipients(o, s, contacts, now)
	switch {
	case s == wait:
		return 0, nil
	case s == finish:
		return w.write(ctx, o, s, nil, now)
	case len(contacts) == 0: // no notice is sent, so none is marked as sent
		w.warnNoContacts(o)
		return 0, nil
	}
	if (s == opened || s == still) && facts.known && facts.Waiting == 0 {
		// Nothing waits, so nothing fails now.
		if s = o.nextIdle(now); s == wait {
			return 0, nil
		}
	}
	facts.step = s
	var messages []mail.Message
	for _, c := range contacts {
		messages = append(messages, facts.message(c))
	}
	return w.write(ctx, o, s, messages, now)
}

// recipients returns the contacts to notify, and the step: a contact without a notice of the outage
// gets no notice of its end. Without contacts, a notice waits for one until it is stale.
func recipients(o Outage, s step, contacts []profile.Contact, now time.Time) (step, []profile.Contact) {
	if s == recovered {
		var notified []profile.Contact
		for _, c := range contacts {
			if !c.CreatedAt.After(o.NotifiedAt) {
				notified = append(notified, c)
			}
		}
		if len(notified) > 0 {
			return s, notified
		}
		s = o.nextOver(now)
	}
	if len(contacts) == 0 && o.stale(now) {
		return finish, nil
	}
	return s, contacts
}

// warnNoContacts logs, once, that an outage has no contacts to notify.
func (w *Watch) warnNoContacts(o Outage) {
	if w.warned[o.ID] {
		return
	}
	if w.warned == nil {
		w.warned = map[int64]bool{}
	}
	w.warned[o.ID] = true
	what := "a partner cannot be reached and has no contacts to notify"
	if !o.Open() {
		what = "events were given up and their partner has no contacts to notify"
	}
	w.log().Warn(what, "outage", o.ID, "partner", o.PartnerID,
		"since", o.OpenedAt, "cause", o.Cause, "exhausted", o.Exhausted)
}

// facts collects the data for emails about an outage.
func (w *Watch) facts(ctx context.Context, o Outage, now time.Time) (facts, []profile.Contact, error) {
	f := facts{outage: o, now: now, service: w.Service, lasts: w.Lasts}
	p, err := w.Partners.Get(ctx, o.PartnerID)
	if err != nil {
		return f, nil, err
	}
	prof, contacts, err := w.Profiles.Get(ctx, o.PartnerID)
	if err != nil {
		return f, nil, err
	}
	f.paused = p.Paused()
	f.partner, f.url = p.Name, bare(prof.WebhookURL)
	if f.failing, err = failing(ctx, w.DB, o.PartnerID); err != nil {
		return f, nil, err
	}
	if w.Count != nil {
		if f.Counts, err = w.Count(ctx, o.PartnerID); err != nil {
			return f, nil, fmt.Errorf("count what waits: %w", err)
		}
		f.known = true
	}
	f.links = w.Links
	return f, contacts, nil
}

// write queues the emails and records this, in one transaction, if the outage has not changed since
// it was read. Another node may have been faster, or something may have happened that the emails do
// not mention.
func (w *Watch) write(
	ctx context.Context,
	o Outage,
	s step,
	messages []mail.Message,
	now time.Time,
) (mails int, err error) {
	var ours bool
	err = w.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		mails = 0
		ours, err = mark(ctx, tx, o, s, now)
		if err != nil || !ours {
			return err
		}
		for _, m := range messages {
			w.Mail.Put(tx, m, now)
			mails++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("record a notice of an outage: %w", err)
	}
	if ours && !o.Open() {
		delete(w.warned, o.ID)
	}
	if ours && s >= opened {
		w.log().
			Info("notified contacts of an outage", "step", s.String(), "outage", o.ID, "partner", o.PartnerID, "since",
				o.OpenedAt,
				"cause", o.Cause, "exhausted", o.Exhausted, "mails", mails)
	}
	return mails, nil
}

// same selects the outage if it is unchanged since it was read.
const same = `id = $1 AND tellings = $2 AND exhausted = $3 AND exhausted_told = $4 AND closed_at = $5
	AND settled_at = 0`

// mark records that a step is done, and reports whether no other node did it before.
func mark(ctx context.Context, tx *sqldb.Tx, o Outage, s step, now time.Time) (bool, error) {
	args := []any{o.ID, o.Notices, o.Exhausted, o.exhaustedNotified, o.ClosedAt}
	if s == discard {
		n, err := tx.Exec(ctx, `DELETE FROM outages WHERE `+same, args...)
		return n == 1, err
	}
	after := o.after(s, now)
	settled := time.Time{}
	if !o.Open() {
		settled = now
	}
	args = append(args, after.NotifiedAt, after.Notices, after.exhaustedNotified, after.exhaustedNotifiedAt, settled)
	n, err := tx.Exec(
		ctx,
		`UPDATE outages SET told_at = $6, tellings = $7, exhausted_told = $8, exhausted_told_at = $9, settled_at = $10
		WHERE `+same,
		args...)
	return n == 1, err
}
