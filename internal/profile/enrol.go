package profile

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/audit"
	"claviger/internal/idempotency"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Enrolment creates a partner and its profile. With Validate, the URLs are checked first. Otherwise
// they are stored as not validated.
type Enrolment struct {
	Draft       partner.Draft
	URLs        URLs
	Validate    bool
	Given       partner.Credentials // non-empty fields are used instead of generated ones
	Idempotency idempotency.Request

	external idempotency.Request
}

// Enrolled is a created partner, with its credentials, which cannot be read again.
type Enrolled struct {
	Partner     partner.Partner
	Profile     Profile
	Credentials partner.Credentials // empty for a repeat
	Repeated    bool                // an earlier request created it
}

// Enrol makes a partner and its profile in one transaction, without looking for an earlier request
// like this one. If the secret is generated here, the partner's server cannot verify the posts of
// the check yet. Then only a server that does not verify passes the check.
func (b *Store) Enrol(
	ctx context.Context,
	by audit.Actor,
	d partner.Draft,
	urls URLs,
	validate bool,
	given partner.Credentials,
) (partner.Partner, Profile, partner.Credentials, error) {
	made, err := b.EnrolOnce(ctx, by, Enrolment{Draft: d, URLs: urls, Validate: validate, Given: given})
	return made.Partner, made.Profile, made.Credentials, err
}

// EnrolOnce does the same as Enrol, but has one effect even if it is repeated under the same
// external id or idempotency key. A repeat returns the partner in its original state.
func (b *Store) EnrolOnce(ctx context.Context, by audit.Actor, e Enrolment) (made Enrolled, err error) {
	if err := e.Draft.Valid(); err != nil {
		return Enrolled{}, err
	}
	n, err := b.read(URLChange{Webhook: &e.URLs.Webhook, Redirect: &e.URLs.Redirect, Connection: e.URLs.Connection})
	if err != nil {
		return Enrolled{}, err
	}
	e.external = externalRequest(e.Draft.ExternalID, e.content(n))
	if e.Validate {
		if made, err = b.checkNew(ctx, &e, &n); made.Repeated || err != nil {
			return made, err
		}
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if made, err = e.earlier(ctx, tx); made.Repeated || err != nil {
			return err
		}
		made, err = b.enrol(ctx, tx, by, e, n)
		switch {
		case errors.Is(err, partner.ErrExists): // another request was faster
			if made, err = e.earlier(ctx, tx); err == nil && !made.Repeated {
				err = idempotency.ErrExternalIDReused() // its creation stored no outcome
			}
			if err == nil {
				err = idempotency.Store(tx, e.Idempotency, outcomeOf(made), b.Now())
			}
		case err == nil:
			at := b.Now()
			err = errors.Join(
				idempotency.Store(tx, e.external, outcomeOf(made), at),
				idempotency.Store(tx, e.Idempotency, outcomeOf(made), at))
		}
		return err
	})
	if err != nil {
		return Enrolled{}, fmt.Errorf("enrol a partner: %w", err)
	}
	return made, nil
}

// checkNew checks the URLs of a partner before it is created, unless it was created before.
func (b *Store) checkNew(ctx context.Context, e *Enrolment, n *urlUpdate) (made Enrolled, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		made, err = e.earlier(ctx, tx)
		return err
	})
	if made.Repeated || err != nil {
		return made, err
	}
	who, given := newPartner(e.Draft, e.Given)
	e.Given = given
	_, err = b.check(ctx, n, who)
	return Enrolled{}, err
}

// earlier returns the partner that the first request like this one created, if there was one.
func (e Enrolment) earlier(ctx context.Context, tx *sqldb.Tx) (Enrolled, error) {
	for _, r := range []idempotency.Request{e.Idempotency, e.external} {
		var was outcome
		if found, err := idempotency.Lookup(ctx, tx, r, &was); found || err != nil {
			return was.enrolled(), err
		}
	}
	return Enrolled{}, nil
}

// content distinguishes requests under the same external id. Its hash is stored forever, so its
// text never changes. A field added later is appended as " name=value", and only if it is given.
func (e Enrolment) content(n urlUpdate) string {
	p := n.connection.on(n.on(Profile{IDTokenAlg: RS256}))
	text := fmt.Sprintf("%q %q %t %t %q %q %q %s %t %t", e.Draft.Name, e.Draft.Brand, e.Draft.Strict, e.Draft.SingleKey,
		p.WebhookURL, p.RedirectURL, p.InitiateLoginURI, p.IDTokenAlg, p.NoErrorMember, e.Validate)
	if e.Draft.Webhooks != 0 {
		text += fmt.Sprintf(" webhook_concurrency=%d", e.Draft.Webhooks)
	}
	return secret.Hash(text)
}

// enrol writes the partner and its profile.
func (b *Store) enrol(ctx context.Context, tx *sqldb.Tx, by audit.Actor, e Enrolment, n urlUpdate) (Enrolled, error) {
	made, keys, err := b.Partners.Create(ctx, tx, by, e.Draft, e.Given)
	if err != nil {
		return Enrolled{}, err
	}
	moved := n.on(Profile{PartnerID: made.ID, IDTokenAlg: RS256, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt})
	p := n.connection.on(moved)
	tx.Queue(
		`INSERT INTO profiles (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		p.PartnerID,
		p.WebhookURL,
		p.WebhookValidAt,
		p.RedirectURL,
		p.RedirectValidAt,
		p.RedirectEpoch,
		p.CreatedAt,
		p.UpdatedAt,
		p.InitiateLoginURI,
		p.IDTokenAlg,
		p.NoErrorMember,
	)
	if p.WebhookURL != "" || p.RedirectURL != "" {
		audit.Record(tx, p.CreatedAt, by, "profile.urls", subject(made.ID), nil, p.urls())
	}
	if p != moved {
		audit.Record(tx, p.CreatedAt, by, "profile.connection", subject(made.ID), nil, p.connection())
	}
	return Enrolled{Partner: made, Profile: p, Credentials: keys}, nil
}
