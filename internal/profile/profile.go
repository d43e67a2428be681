// Package profile holds how a partner is reached: its redirect URL and its
// webhook URL, their validation, and its contacts. It owns the tables profiles
// and contacts.
//
// A partner and its profile are made together and changed through the same calls;
// the partner itself is package partner's.
package profile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Profile is how a partner's application is reached. A URL that is not set is
// empty; one that was never seen to work has the zero time.
type Profile struct {
	PartnerID       int64
	WebhookURL      string
	WebhookValidAt  time.Time
	RedirectURL     string
	RedirectValidAt time.Time
	RedirectEpoch   int64 // rises with every change of RedirectURL: open codes are void then
	CreatedAt       time.Time
	UpdatedAt       time.Time

	InitiateLoginURI string // where the partner begins a sign-in of its own; "" has none
	IDTokenAlg       string // how its identity tokens are signed: RS256 or ES256
	NoErrorMember    bool   // the answer to a code exchange leaves out its empty error member
}

// URLs are what a partner that is yet to be made begins with; empty ones are not
// set.
type URLs struct {
	Webhook, Redirect string
	Connection
}

// URLChange is what is to become of a profile; nil leaves a thing as it is, an
// empty URL is unset.
type URLChange struct {
	Webhook, Redirect *string
	Connection
}

// Book is the book of profiles.
type Book struct {
	DB       *sqldb.DB
	Partners *partner.Registry
	Now      func() time.Time
	Check    Checker

	// Moved is called in the transaction that saves a webhook URL, be it the same
	// again; nil: nobody need know.
	Moved func(tx *sqldb.Tx, partnerID int64)

	// Resumed is called in the transaction that ends a partner's pause; nil: nobody
	// need know.
	Resumed func(tx *sqldb.Tx, partnerID int64)

	// Removed is called in the transaction that deletes a partner, for packages that
	// this one does not know; nil: they have nothing of it.
	Removed func(tx *sqldb.Tx, partnerID int64)

	slots checkSlots
}

const columns = `partner_id, webhook_url, webhook_valid_at, redirect_url, redirect_valid_at, redirect_epoch, created_at, updated_at,
	initiate_login_uri, id_token_alg, no_error_member`

func scan(r *sqldb.Row, p *Profile) error {
	return r.Scan(&p.PartnerID, &p.WebhookURL, &p.WebhookValidAt, &p.RedirectURL, &p.RedirectValidAt, &p.RedirectEpoch, &p.CreatedAt, &p.UpdatedAt,
		&p.InitiateLoginURI, &p.IDTokenAlg, &p.NoErrorMember)
}

// found turns the answer that there is no row into the fault for it: every
// partner has a profile.
func found(p Profile, err error) (Profile, error) {
	if errors.Is(err, sqldb.ErrNone) {
		return Profile{}, partner.Unknown()
	}
	return p, err
}

// Get returns a partner's profile and contacts, which belong together.
func (b *Book) Get(ctx context.Context, partnerID int64) (Profile, []Contact, error) {
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

// Read returns a partner's profile alone, for whoever reads it along with other
// things.
func (b *Book) Read(ctx context.Context, r sqldb.Reader, partnerID int64) (Profile, error) {
	p, err := found(sqldb.One(ctx, r, scan, `SELECT `+columns+` FROM profiles WHERE partner_id = $1`, partnerID))
	if err != nil {
		return Profile{}, fmt.Errorf("read a profile: %w", err)
	}
	return p, nil
}

// QueueRead is Read for whoever has other questions to put first; what it returns waits
// for the answer.
func QueueRead(tx *sqldb.Tx, partnerID int64) func(context.Context) (Profile, error) {
	asked := sqldb.QueueQuery(tx, scan, `SELECT `+columns+` FROM profiles WHERE partner_id = $1`, partnerID)
	return func(ctx context.Context) (Profile, error) {
		p, err := found(asked.One(ctx))
		if err != nil {
			return Profile{}, fmt.Errorf("read a profile: %w", err)
		}
		return p, nil
	}
}

func get(ctx context.Context, tx *sqldb.Tx, partnerID int64) (Profile, []Contact, error) {
	asked := QueueRead(tx, partnerID)
	contacts, err := sqldb.All(ctx, tx, scanContact,
		`SELECT `+contactColumns+` FROM contacts WHERE partner_id = $1 ORDER BY id DESC`, partnerID)
	if err != nil {
		return Profile{}, nil, err
	}
	p, err := asked(ctx)
	return p, contacts, err
}

// Of returns the profiles of a page of partners, by partner, without contacts.
// The page is a run of ids, so one statement reads it.
func (b *Book) Of(ctx context.Context, partners []partner.Partner) (map[int64]Profile, error) {
	all := map[int64]Profile{}
	if len(partners) == 0 {
		return all, nil
	}
	first, last := partners[0].ID, partners[len(partners)-1].ID
	list, err := sqldb.All(ctx, b.DB, scan, `SELECT `+columns+` FROM profiles WHERE partner_id >= $1 AND partner_id <= $2`,
		min(first, last), max(first, last))
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, p := range list {
		all[p.PartnerID] = p
	}
	return all, nil
}

// Amend changes a partner and its URLs in one transaction. The URLs are taken as
// they are, unless validate asks for the check first. A change of single_key gives
// the partner new secrets.
func (b *Book) Amend(ctx context.Context, by audit.Actor, id int64, c partner.Change, urls URLChange, validate bool) (partner.Partner, Profile, partner.Issued, error) {
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

// SetURLs changes a partner's profile once new URLs have passed the check; the
// old ones serve until then. It returns the transcript of the check too, which may
// have warnings.
func (b *Book) SetURLs(ctx context.Context, by audit.Actor, partnerID int64, urls URLChange) (Profile, []Contact, []Check, error) {
	n, err := b.read(urls)
	if err != nil {
		return Profile{}, nil, nil, err
	}
	who, err := b.checkedPartner(ctx, partnerID)
	if err != nil {
		return Profile{}, nil, nil, err
	}
	checks, err := b.check(ctx, &n, who)
	if err != nil {
		return Profile{}, nil, nil, err
	}
	var p Profile
	var contacts []Contact
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if _, err = b.setURLs(ctx, tx, by, partnerID, n); err != nil {
			return err
		}
		p, contacts, err = get(ctx, tx, partnerID)
		return err
	})
	if err != nil {
		return Profile{}, nil, nil, fmt.Errorf("set a partner's URLs: %w", err)
	}
	return p, contacts, checks, nil
}

// setURLs writes what is new. What changes nothing writes nothing.
func (b *Book) setURLs(ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID int64, n urlUpdate) (Profile, error) {
	before, err := lock(ctx, tx, partnerID)
	if err != nil {
		return Profile{}, err
	}
	if b.Moved != nil && n.webhook != nil {
		b.Moved(tx, partnerID)
	}
	moved := n.on(before)
	after := n.connection.on(moved)
	if after == before {
		return before, nil
	}
	after.UpdatedAt = b.Now()
	tx.Queue(`UPDATE profiles SET webhook_url = $2, webhook_valid_at = $3, redirect_url = $4, redirect_valid_at = $5,
		redirect_epoch = $6, updated_at = $7, initiate_login_uri = $8, id_token_alg = $9, no_error_member = $10 WHERE partner_id = $1`,
		partnerID, after.WebhookURL, after.WebhookValidAt, after.RedirectURL, after.RedirectValidAt, after.RedirectEpoch, after.UpdatedAt,
		after.InitiateLoginURI, after.IDTokenAlg, after.NoErrorMember)
	if moved != before {
		audit.Record(tx, after.UpdatedAt, by, "profile.urls", subject(partnerID), before.urls(), after.urls())
	}
	if n.connection.on(before) != before {
		audit.Record(tx, after.UpdatedAt, by, "profile.connection", subject(partnerID), before.connection(), after.connection())
	}
	return after, nil
}

// lock takes the profile's row for the rest of the transaction: whoever changes a
// profile or its contacts does so one after another.
func lock(ctx context.Context, tx *sqldb.Tx, partnerID int64) (Profile, error) {
	return found(sqldb.One(ctx, tx, scan,
		`UPDATE profiles SET updated_at = updated_at WHERE partner_id = $1 RETURNING `+columns, partnerID))
}

// Worked queues the note that a delivery reached the webhook URL, which shows that
// it works as a check does. Another URL, or one that is known to work, stays as it
// is.
func Worked(tx *sqldb.Tx, partnerID int64, webhookURL string, at time.Time) {
	tx.Queue(`UPDATE profiles SET webhook_valid_at = $3 WHERE partner_id = $1 AND webhook_url = $2 AND webhook_valid_at = 0`,
		partnerID, webhookURL, at)
}

func subject(partnerID int64) string { return "partner:" + strconv.FormatInt(partnerID, 10) }

func (p Profile) urls() audit.Facts {
	return audit.Facts{
		"webhook_url": p.WebhookURL, "webhook_valid": !p.WebhookValidAt.IsZero(),
		"redirect_url": p.RedirectURL, "redirect_valid": !p.RedirectValidAt.IsZero(),
	}
}
