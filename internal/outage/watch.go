package outage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// Watch is the duty of telling contacts: when deliveries to their partner have
// failed for After, then each Again while that lasts and something waits, when
// events are given up, and once on recovery, if they had been told before. It
// runs on every node; two of them never tell the same thing.
type Watch struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Partners *partner.Registry
	Profiles *profile.Book
	Service  string // what the service calls itself in mails, such as licenses.example.com
	// Count tells what waits; nil: nobody knows, and mails do not say.
	Count func(ctx context.Context, partnerID int64) (Counts, error)
	// Links are what a mail to a partner's contacts leads to; nil: nothing.
	Links func(partnerID int64) Links
	// Lasts is how long an event is tried before it is given up; 0: mails do not say.
	Lasts time.Duration
	Mail  *mail.Outbox  // where mails are put in
	Log   *slog.Logger  // nil: slog.Default()
	Every time.Duration // between rounds; 0: 30 s

	warned map[int64]bool // outages without a contact that were logged
}

// Counts is what waits for a partner.
type Counts struct {
	Waiting int64     // events that are not delivered and not given up
	Oldest  time.Time // of the oldest of them; zero: not known
	Latest  string    // what the newest failed attempt met, in words as Notice.Cause; "": not known
	Parked  bool      // the endpoint is only probed now and then
}

// Links are addresses that a mail leads to; those that are empty are left out.
type Links struct {
	Records   string // where the attempts are on record
	Profile   string // where the webhook URL and the contacts are changed
	Redeliver string // where, or how, events that were given up are delivered again
}

func (w *Watch) log() *slog.Logger { return cmp.Or(w.Log, slog.Default()) }

// Run tells what there is to tell until ctx ends. A round that fails is logged,
// and the next one comes all the same.
func (w *Watch) Run(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(w.Every, 30*time.Second))
	defer ticker.Stop()
	for {
		_, err := w.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.log().Error("telling contacts of outages failed; the next round tries again", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once does what is to be done about every outage and returns how many mails it
// put in. What fails for one partner holds up no other.
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

// batchSize is how many outages are read at a time.
const batchSize = 100

// due returns outages after the one with id last about which there may be
// something to do; what it is, next decides.
func (w *Watch) due(ctx context.Context, now time.Time, last int64) ([]Outage, error) {
	list, err := sqldb.All(ctx, w.DB, scan, `SELECT `+columns+` FROM outages
		WHERE settled_at = 0 AND id > $1 AND (closed_at <> 0
			OR tellings = 0 AND opened_at <= $2
			OR tellings > 0 AND told_at <= $3
			OR exhausted > exhausted_told AND exhausted_told_at <= $3)
		ORDER BY id LIMIT $4`, last, now.Add(-After), now.Add(-Again), batchSize)
	if err != nil {
		return nil, fmt.Errorf("find outages to tell of: %w", err)
	}
	return list, nil
}

// handle does what is to be done about one outage.
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
		return 0, err // what is to be told of a paused partner is told when it is resumed
	}
	s, contacts = recipients(o, s, contacts, now)
	switch {
	case s == wait:
		return 0, nil
	case s == finish:
		return w.write(ctx, o, s, nil, now)
	case len(contacts) == 0: // Nobody is told, and so nothing is marked as told.
		w.warnNoContacts(o)
		return 0, nil
	}
	if (s == opened || s == still) && facts.known && facts.Waiting == 0 {
		// Nothing is to be delivered: that it would fail is no news.
		if s = o.nextIdle(now); s == wait {
			return 0, nil
		}
	}
	facts.step = s
	var letters []mail.Message
	for _, c := range contacts {
		letters = append(letters, facts.message(c))
	}
	return w.write(ctx, o, s, letters, now)
}

// recipients is who of the contacts is told of an outage, and what: who was not told
// that there was anything to recover from is not told that it is over. Where there
// is nobody, what is to be told waits for somebody until it is stale.
func recipients(o Outage, s step, contacts []profile.Contact, now time.Time) (step, []profile.Contact) {
	if s == recovered {
		var told []profile.Contact
		for _, c := range contacts {
			if !c.CreatedAt.After(o.NotifiedAt) {
				told = append(told, c)
			}
		}
		if len(told) > 0 {
			return s, told
		}
		s = o.nextOver(now)
	}
	if len(contacts) == 0 && o.stale(now) {
		return finish, nil
	}
	return s, contacts
}

// warnNoContacts logs, once, that an outage has nobody to be told.
func (w *Watch) warnNoContacts(o Outage) {
	if w.warned[o.ID] {
		return
	}
	if w.warned == nil {
		w.warned = map[int64]bool{}
	}
	w.warned[o.ID] = true
	what := "a partner cannot be reached and has no contacts to tell"
	if !o.Open() {
		what = "events were given up and their partner has no contacts to tell"
	}
	w.log().Warn(what, "outage", o.ID, "partner", o.PartnerID,
		"since", o.OpenedAt, "cause", o.Cause, "exhausted", o.Exhausted)
}

// facts gathers what mails about an outage say.
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
	if w.Links != nil {
		f.links = w.Links(o.PartnerID)
	}
	return f, contacts, nil
}

// write puts the mails in and notes that it did, in one transaction, if the
// outage is still as it was when that was decided: another node may have been
// faster, or something may have happened that the mails do not tell.
func (w *Watch) write(ctx context.Context, o Outage, s step, letters []mail.Message, now time.Time) (mails int, err error) {
	var ours bool
	err = w.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		mails = 0
		ours, err = mark(ctx, tx, o, s, now)
		if err != nil || !ours {
			return err
		}
		for _, m := range letters {
			w.Mail.Put(tx, m, now)
			mails++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("write down what was told of an outage: %w", err)
	}
	if ours && !o.Open() {
		delete(w.warned, o.ID)
	}
	if ours && s >= opened {
		w.log().Info("told contacts of an outage", "step", s.String(), "outage", o.ID, "partner", o.PartnerID, "since", o.OpenedAt,
			"cause", o.Cause, "exhausted", o.Exhausted, "mails", mails)
	}
	return mails, nil
}

// same holds for an outage that is as it was read.
const same = `id = $1 AND tellings = $2 AND exhausted = $3 AND exhausted_told = $4 AND closed_at = $5 AND settled_at = 0`

// mark writes down that a step is done and reports whether it was ours to do.
func mark(ctx context.Context, tx *sqldb.Tx, o Outage, s step, now time.Time) (bool, error) {
	args := []any{o.ID, o.Notices, o.Exhausted, o.exhaustedNotified, o.ClosedAt}
	if s == discard {
		n, err := tx.Exec(ctx, `DELETE FROM outages WHERE `+same, args...)
		return n == 1, err
	}
	after, settled := o.after(s, now), time.Time{}
	if !o.Open() {
		settled = now
	}
	args = append(args, after.NotifiedAt, after.Notices, after.exhaustedNotified, after.exhaustedNotifiedAt, settled)
	n, err := tx.Exec(ctx, `UPDATE outages SET told_at = $6, tellings = $7, exhausted_told = $8, exhausted_told_at = $9, settled_at = $10
		WHERE `+same, args...)
	return n == 1, err
}
