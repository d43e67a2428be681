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

// Enrolment creates a partner and its profile. The URLs are shown as not validated,
// unless Validate is set: then they are checked first.
type Enrolment struct {
	Draft       partner.Draft
	URLs        URLs
	Validate    bool
	Given       partner.Credentials // members that are not empty are used instead of generated ones
	Idempotency idempotency.Request
}

// Enrolled is a partner that was just made, with its credentials, which cannot be
// read again.
type Enrolled struct {
	Partner     partner.Partner
	Profile     Profile
	Credentials partner.Credentials
}

// Enrol makes a partner and its profile in one transaction, without looking for
// an earlier request like this one. A partner whose secret is made here cannot
// verify what the check of a URL posts; only a server that does not verify, or a
// secret that is given, passes it.
func (b *Book) Enrol(ctx context.Context, by audit.Actor, d partner.Draft, urls URLs, validate bool, given partner.Credentials) (partner.Partner, Profile, partner.Credentials, error) {
	e := Enrolment{Draft: d, URLs: urls, Validate: validate, Given: given}
	made, _, err := b.EnrolOnce(ctx, by, e, func(Enrolled) []byte { return nil })
	return made.Partner, made.Profile, made.Credentials, err
}

// EnrolOnce is Enrol that has one effect however often it is repeated under the
// same external id or idempotency key. answer is what a repeat is answered with;
// it is stored, so it must not have the credentials in it. For a repeat, its
// bytes of the first time are returned, and nothing else.
func (b *Book) EnrolOnce(ctx context.Context, by audit.Actor, e Enrolment, answer func(Enrolled) []byte) (made Enrolled, first []byte, err error) {
	if err := e.Draft.Valid(); err != nil {
		return Enrolled{}, nil, err
	}
	n, err := b.read(URLChange{Webhook: &e.URLs.Webhook, Redirect: &e.URLs.Redirect, Connection: e.URLs.Connection})
	if err != nil {
		return Enrolled{}, nil, err
	}
	e.Draft.Content = e.content(n)
	if e.Validate {
		if first, err = b.checkNew(ctx, &e, &n); first != nil || err != nil {
			return Enrolled{}, first, err
		}
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		made = Enrolled{}
		if first, err = e.earlier(ctx, tx); first != nil || err != nil {
			return err
		}
		made, err = b.enrol(ctx, tx, by, e, n)
		if errors.Is(err, partner.ErrExists) { // somebody else was a moment ahead
			first, err = e.earlier(ctx, tx)
		}
		if err != nil {
			return err
		}
		text := first
		if first == nil {
			text = answer(made)
			if e.Draft.ExternalID != "" {
				partner.StoreAnswer(tx, made.Partner.ID, text)
			}
		}
		idempotency.Keep(tx, e.Idempotency, text, b.Now())
		return nil
	})
	if err != nil {
		return Enrolled{}, nil, fmt.Errorf("enrol a partner: %w", err)
	}
	return made, first, nil
}

// checkNew checks the URLs of a partner that is yet to be made, unless it was made
// before.
func (b *Book) checkNew(ctx context.Context, e *Enrolment, n *urlUpdate) (first []byte, err error) {
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		first, err = e.earlier(ctx, tx)
		return err
	})
	if first != nil || err != nil {
		return first, err
	}
	who, given := newPartner(e.Draft, e.Given)
	e.Given = given
	_, err = b.check(ctx, n, who)
	return nil, err
}

// earlier returns the answer to the first request like this one, nil when there
// was none.
func (e Enrolment) earlier(ctx context.Context, tx *sqldb.Tx) ([]byte, error) {
	kept, found, err := idempotency.Find(ctx, tx, e.Idempotency)
	if found || err != nil {
		return kept, err
	}
	kept, _, err = partner.Earlier(ctx, tx, e.Draft.ExternalID, e.Draft.Content)
	return kept, err
}

// content tells one request from another under the same external id. It is stored
// for ever, so its text never changes; a field that is added later is appended as
// " name=value", and only when it is given.
func (e Enrolment) content(n urlUpdate) string {
	p := n.connection.on(n.on(Profile{IDTokenAlg: RS256}))
	return secret.Hash(fmt.Sprintf("%q %q %t %t %q %q %q %s %t %t", e.Draft.Name, e.Draft.Brand, e.Draft.Strict, e.Draft.SingleKey,
		p.WebhookURL, p.RedirectURL, p.InitiateLoginURI, p.IDTokenAlg, p.NoErrorMember, e.Validate))
}

// enrol writes the partner and its profile.
func (b *Book) enrol(ctx context.Context, tx *sqldb.Tx, by audit.Actor, e Enrolment, n urlUpdate) (Enrolled, error) {
	made, keys, err := b.Partners.Create(ctx, tx, by, e.Draft, e.Given)
	if err != nil {
		return Enrolled{}, err
	}
	moved := n.on(Profile{PartnerID: made.ID, IDTokenAlg: RS256, CreatedAt: made.CreatedAt, UpdatedAt: made.CreatedAt})
	p := n.connection.on(moved)
	tx.Queue(`INSERT INTO profiles (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		p.PartnerID, p.WebhookURL, p.WebhookValidAt, p.RedirectURL, p.RedirectValidAt, p.RedirectEpoch, p.CreatedAt, p.UpdatedAt,
		p.InitiateLoginURI, p.IDTokenAlg, p.NoErrorMember)
	if p.WebhookURL != "" || p.RedirectURL != "" {
		audit.Record(tx, p.CreatedAt, by, "profile.urls", subject(made.ID), nil, p.urls())
	}
	if p != moved {
		audit.Record(tx, p.CreatedAt, by, "profile.connection", subject(made.ID), nil, p.connection())
	}
	return Enrolled{made, p, keys}, nil
}
