// Package profile owns a partner's URLs (redirect and webhook), the check of those URLs, and its
// contacts. It owns the tables profiles and contacts.
//
// A partner and its profile are created together and changed by the same calls; package partner
// owns the partner itself.
package profile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Profile has the addresses of a partner's application. An unset URL is empty; one that is not
// validated has the zero time.
type Profile struct {
	PartnerID       int64
	WebhookURL      string
	WebhookValidAt  time.Time
	RedirectURL     string
	RedirectValidAt time.Time
	RedirectEpoch   int64 // rises with every change of RedirectURL, which invalidates open codes
	CreatedAt       time.Time
	UpdatedAt       time.Time

	InitiateLoginURI string // starts a sign-in at the partner; "" for none
	IDTokenAlg       string // algorithm of its identity tokens: RS256 or ES256
	NoErrorMember    bool   // the answer to a code exchange leaves out its empty error member
}

// URLs are the URLs of a new partner; empty ones are not set.
type URLs struct {
	Webhook, Redirect string
	Connection
}

// URLChange is a change of a profile; nil leaves a field unchanged, an empty URL unsets it.
type URLChange struct {
	Webhook, Redirect *string
	Connection
}

// Change is a change that the sending of webhooks depends on.
type Change int

// The changes that Store.Changed reports.
const (
	Moved   Change = iota + 1 // a webhook URL is saved, even if it is unchanged
	Resumed                   // the partner's pause ends
	Removed                   // the partner is deleted
)

// Store reads and changes profiles.
type Store struct {
	DB       *sqldb.DB
	Partners *partner.Store
	Now      func() time.Time
	Check    Checker

	// Changed is a hook. Store calls it in the transaction of a change, before it locks the
	// profile: webhook.Outbox.FollowProfile listens, and locks the endpoint first. Nil: not called.
	Changed func(tx *sqldb.Tx, partnerID int64, change Change)

	slots checkSlots
}

const columns = `partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at,
	updated_at,
	initiate_login_uri, id_token_alg, no_error_member`

func scan(r *sqldb.Row, p *Profile) error {
	return r.Scan(&p.PartnerID, &p.WebhookURL, &p.WebhookValidAt, &p.RedirectURL, &p.RedirectValidAt, &p.RedirectEpoch,
		&p.CreatedAt, &p.UpdatedAt,
		&p.InitiateLoginURI, &p.IDTokenAlg, &p.NoErrorMember)
}

func (b *Store) changed(tx *sqldb.Tx, partnerID int64, change Change) {
	if b.Changed != nil {
		b.Changed(tx, partnerID, change)
	}
}

// found returns the fault for an unknown partner if there is no row: every partner has a profile.
func found(p Profile, err error) (Profile, error) {
	if errors.Is(err, sqldb.ErrNone) {
		return Profile{}, partner.Unknown()
	}
	return p, err
}

// Get returns a partner's profile and contacts, which belong together.
func (b *Store) Get(ctx context.Context, partnerID int64) (Profile, []Contact, error) {
	var p Profile
	var contacts []Contact
	err := b.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		p, contacts, err = get(ctx, tx, partnerID)
		return err
	})
	if err != nil {
		return Profile{}, nil, fmt.Errorf("get a profile: %w", err)
	}
	return p, contacts, nil
}

// Read returns a partner's profile without its contacts. It also works in the caller's transaction.
func (b *Store) Read(ctx context.Context, r sqldb.Reader, partnerID int64) (Profile, error) {
	p, err := found(sqldb.One(ctx, r, scan, `SELECT `+columns+` FROM profiles WHERE partner_id = $1`, partnerID))
	if err != nil {
		return Profile{}, fmt.Errorf("read a profile: %w", err)
	}
	return p, nil
}

// QueueRead queues the query of Read, so that other queries can join it. The returned function
// waits for the result.
func QueueRead(tx *sqldb.Tx, partnerID int64) func(context.Context) (Profile, error) {
	queued := sqldb.QueueQuery(tx, scan, `SELECT `+columns+` FROM profiles WHERE partner_id = $1`, partnerID)
	return func(ctx context.Context) (Profile, error) {
		p, err := found(queued.One(ctx))
		if err != nil {
			return Profile{}, fmt.Errorf("read a profile: %w", err)
		}
		return p, nil
	}
}

func get(ctx context.Context, tx *sqldb.Tx, partnerID int64) (Profile, []Contact, error) {
	read := QueueRead(tx, partnerID)
	contacts, err := Contacts(ctx, tx, partnerID)
	if err != nil {
		return Profile{}, nil, err
	}
	p, err := read(ctx)
	return p, contacts, err
}

// Contacts returns the contacts of a partner, newest first.
func Contacts(ctx context.Context, r sqldb.Reader, partnerID int64) ([]Contact, error) {
	list, err := sqldb.All(ctx, r, scanContact,
		`SELECT `+contactColumns+` FROM contacts WHERE partner_id = $1 ORDER BY id DESC`, partnerID)
	if err != nil {
		return nil, fmt.Errorf("list the contacts of partner %d: %w", partnerID, err)
	}
	return list, nil
}

// Of returns the profiles of a page of partners, by partner, without contacts.
func (b *Store) Of(ctx context.Context, partners []partner.Partner) (map[int64]Profile, error) {
	all := make(map[int64]Profile, len(partners))
	ids := make([]int64, len(partners))
	for i, p := range partners {
		ids[i] = p.ID
	}
	list, err := sqldb.All(ctx, b.DB, scan, `SELECT `+columns+` FROM profiles WHERE partner_id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, p := range list {
		all[p.PartnerID] = p
	}
	return all, nil
}

// Amend changes a partner and its URLs in one transaction. The URLs are checked first only if
// validate is set. A change of single_key replaces secrets.
func (b *Store) Amend(
	ctx context.Context, by audit.Actor, id int64, c partner.Change, urls URLChange, validate bool,
) (partner.Partner, Profile, partner.Issued, error) {
	if err := c.Valid(); err != nil {
		return partner.Partner{}, Profile{}, partner.Issued{}, err
	}
	n, err := b.read(urls)
	if err != nil {
		return partner.Partner{}, Profile{}, partner.Issued{}, err
	}
	if validate {
		who, err := b.checkedPartner(ctx, id)
		if err != nil {
			return partner.Partner{}, Profile{}, partner.Issued{}, err
		}
		if _, err := b.check(ctx, &n, who.after(c)); err != nil {
			return partner.Partner{}, Profile{}, partner.Issued{}, err
		}
	}
	var changed partner.Partner
	var p Profile
	var issued partner.Issued
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if changed, issued, err = b.Partners.Amend(ctx, tx, by, id, c); err != nil {
			return err
		}
		p, err = b.setURLs(ctx, tx, by, id, n)
		return err
	})
	if err != nil {
		return partner.Partner{}, Profile{}, partner.Issued{}, fmt.Errorf("amend a partner: %w", err)
	}
	return changed, p, issued, nil
}

// SetURLs checks new URLs and saves them if they pass; otherwise the old ones stay in use. It also
// returns the transcript of the check, which may have warnings.
func (b *Store) SetURLs(
	ctx context.Context, by audit.Actor, partnerID int64, urls URLChange,
) (Profile, []Contact, []Check, error) {
	_, p, contacts, checks, err := b.Update(ctx, by, partnerID, partner.Change{}, urls)
	return p, contacts, checks, err
}

// Update does the same as SetURLs, together with a change of the partner. The check uses the
// changed partner.
func (b *Store) Update(
	ctx context.Context, by audit.Actor, partnerID int64, c partner.Change, urls URLChange,
) (partner.Partner, Profile, []Contact, []Check, error) {
	fail := func(err error) (partner.Partner, Profile, []Contact, []Check, error) {
		return partner.Partner{}, Profile{}, nil, nil, err
	}
	if err := c.Valid(); err != nil {
		return fail(err)
	}
	n, err := b.read(urls)
	if err != nil {
		return fail(err)
	}
	who, err := b.checkedPartner(ctx, partnerID)
	if err != nil {
		return fail(err)
	}
	checks, err := b.check(ctx, &n, who.after(c))
	if err != nil {
		return fail(err)
	}
	var changed partner.Partner
	var p Profile
	var contacts []Contact
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if changed, _, err = b.Partners.Amend(ctx, tx, by, partnerID, c); err != nil {
			return err
		}
		if _, err = b.setURLs(ctx, tx, by, partnerID, n); err != nil {
			return err
		}
		p, contacts, err = get(ctx, tx, partnerID)
		return err
	})
	if err != nil {
		return fail(fmt.Errorf("set a partner's URLs: %w", err))
	}
	return changed, p, contacts, checks, nil
}

// setURLs writes an update. It writes nothing if nothing changes.
func (b *Store) setURLs(
	ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID int64, n urlUpdate,
) (Profile, error) {
	if n.webhook != nil {
		b.changed(tx, partnerID, Moved)
	}
	before, err := lock(ctx, tx, partnerID)
	if err != nil {
		return Profile{}, err
	}
	moved := n.on(before)
	after := n.connection.on(moved)
	if after == before {
		return before, nil
	}
	after.UpdatedAt = b.Now()
	tx.Queue(`UPDATE profiles SET webhook_url = $2, webhook_valid_at = $3, redirect_url = $4, redirect_valid_at = $5,
		redirect_epoch = $6, updated_at = $7, initiate_login_uri = $8, id_token_alg = $9, no_error_member = $10,
		certificate_until = CASE WHEN webhook_url = $2 THEN certificate_until ELSE 0 END WHERE partner_id = $1`,
		partnerID, after.WebhookURL, after.WebhookValidAt, after.RedirectURL, after.RedirectValidAt,
		after.RedirectEpoch, after.UpdatedAt,
		after.InitiateLoginURI, after.IDTokenAlg, after.NoErrorMember)
	if moved != before {
		audit.Record(tx, after.UpdatedAt, by, "profile.urls", subject(partnerID), before.urls(), after.urls())
	}
	if n.connection.on(before) != before {
		audit.Record(
			tx, after.UpdatedAt, by, "profile.connection", subject(partnerID), before.connection(),
			after.connection(),
		)
	}
	return after, nil
}

// lock locks the profile's row until the transaction ends. It serializes changes of
// a profile and its contacts.
func lock(ctx context.Context, tx *sqldb.Tx, partnerID int64) (Profile, error) {
	return found(sqldb.One(ctx, tx, scan,
		`UPDATE profiles SET updated_at = updated_at WHERE partner_id = $1 RETURNING `+columns, partnerID))
}

// Worked queues the validation of the webhook URL after a successful delivery. It changes nothing
// if the profile has another URL or the URL is already validated.
func Worked(tx *sqldb.Tx, partnerID int64, webhookURL string, at time.Time) {
	tx.Queue(`UPDATE profiles SET webhook_valid_at = $3 WHERE partner_id = $1 AND webhook_url = $2
		AND webhook_valid_at = 0`,
		partnerID, webhookURL, at)
}

// SawCertificate queues the expiry of the certificate of the webhook URL. It changes nothing if the
// profile has another URL or the same expiry. Some expiries are too late for a column of
// nanoseconds.
func SawCertificate(tx *sqldb.Tx, partnerID int64, webhookURL string, until time.Time) {
	if last := time.Unix(0, math.MaxInt64); until.After(last) {
		until = last
	}
	tx.Queue(`UPDATE profiles SET certificate_until = $3 WHERE partner_id = $1 AND webhook_url = $2
		AND certificate_until <> $3`,
		partnerID, webhookURL, until)
}

// SignedIn queues the time of a buyer's sign-in that was exchanged for tokens. Only the first one
// is stored.
func SignedIn(tx *sqldb.Tx, partnerID int64, at time.Time) {
	tx.Queue(`UPDATE profiles SET first_sign_in_at = $2 WHERE partner_id = $1 AND first_sign_in_at = 0`, partnerID, at)
}

// FirstSignIn returns when a buyer's first sign-in was exchanged; zero: not yet.
func (b *Store) FirstSignIn(ctx context.Context, partnerID int64) (time.Time, error) {
	at, err := sqldb.One(
		ctx, b.DB, sqldb.Value[time.Time], `SELECT first_sign_in_at FROM profiles WHERE partner_id = $1`, partnerID,
	)
	if err != nil {
		return time.Time{}, fmt.Errorf("read a partner's first sign-in: %w", err)
	}
	return at, nil
}

func subject(partnerID int64) string { return "partner:" + strconv.FormatInt(partnerID, 10) }

func (p Profile) urls() audit.Facts {
	return audit.Facts{
		"webhook_url": p.WebhookURL, "webhook_valid": !p.WebhookValidAt.IsZero(),
		"redirect_url": p.RedirectURL, "redirect_valid": !p.RedirectValidAt.IsZero(),
	}
}

// Versions returns a version text per partner. It changes with the partner's URLs, their checks,
// and its first sign-in.
func (b *Store) Versions(ctx context.Context, partnerIDs []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(ctx, b.DB, partnerIDs, 4,
		`SELECT partner_id, webhook_valid_at, redirect_valid_at, first_sign_in_at, updated_at
		FROM profiles WHERE partner_id = ANY($1)`)
	if err != nil {
		return nil, fmt.Errorf("read the versions of profiles: %w", err)
	}
	// An abandoned check changes when its lease ends.
	checks, err := sqldb.Versions(ctx, b.DB, partnerIDs, 3,
		`SELECT partner_id, started_at, updated_at, CASE WHEN started_at < $2 THEN 1 ELSE 0 END
		FROM url_checks WHERE partner_id = ANY($1) ORDER BY partner_id, field`, b.Now().Add(-checkLease))
	if err != nil {
		return nil, fmt.Errorf("read the versions of checks: %w", err)
	}
	for id := range found {
		found[id] += checks[id]
	}
	return found, nil
}
