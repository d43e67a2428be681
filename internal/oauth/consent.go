package oauth

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Authentication is the signed-in user and the time of the sign-in.
type Authentication struct {
	UserID int64
	At     time.Time
}

// Consented returns the licenses of list that the buyer already agreed to share with their
// application, in the same order. A consent ends when the license is released or transferred.
func (s *Server) Consented(ctx context.Context, userID int64, list []license.License) ([]license.License, error) {
	ids := make([]int64, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	type consent struct{ licenseID, epoch int64 }
	given, err := sqldb.All(ctx, s.DB, func(r *sqldb.Row, c *consent) error {
		return r.Scan(&c.licenseID, &c.epoch)
	}, `SELECT license_id, epoch FROM oauth_consents WHERE license_id = ANY($1) AND user_id = $2`, ids, userID)
	if err != nil {
		return nil, fmt.Errorf("look up consents: %w", err)
	}
	valid := make(map[consent]bool, len(given))
	for _, c := range given {
		valid[c] = true
	}
	var known []license.License
	for _, l := range list {
		if valid[consent{l.ID, l.Epoch}] {
			known = append(known, l)
		}
	}
	return known, nil
}

// Accept records the buyer's consent. One transaction redeems the license, stores the consent and
// makes a code. to is the URL with the code to which the buyer is redirected. Accept fails if the
// partner changed its redirect URL after the request.
func (s *Server) Accept(
	ctx context.Context,
	by audit.Actor,
	r Request,
	who Authentication,
	redemptionID string,
) (to string, l license.License, err error) {
	// The partner of a license never changes, so it is read outside the transaction.
	if l, err = s.Licenses.ByRedemption(ctx, redemptionID); err != nil {
		return "", license.License{}, err
	}
	if l.PartnerID != r.Partner.ID {
		return "", license.License{}, fault.New(
			fault.Missing,
			license.CodeUnknownLicense,
			"There is no such license of %s.",
			r.Partner.Name,
		)
	}
	code := secret.Make("")
	l, err = s.Licenses.Redeem(ctx, by, redemptionID, who.UserID, func(tx *sqldb.Tx, l license.License) error {
		how, err := s.Profiles.Read(ctx, tx, r.Partner.ID)
		if err != nil {
			return err
		}
		if how.RedirectURL != r.RedirectURL || how.RedirectEpoch != r.Profile.RedirectEpoch {
			return fault.New(fault.Conflict, codeRedirectChanged,
				"%s has just changed where its users are sent to. Begin again.", r.Partner.Name)
		}
		s.accept(tx, by, r, who, l, code)
		return nil
	})
	if err != nil {
		return "", license.License{}, err
	}
	params := r.back(s.Issuer)
	params.Set("code", code)
	return r.answer(params), l, nil
}

// accept queues the rows of a consent. A valid consent keeps its creation time.
func (s *Server) accept(tx *sqldb.Tx, by audit.Actor, r Request, who Authentication, l license.License, code string) {
	now := s.Now()
	tx.Queue(`INSERT INTO oauth_consents (license_id, user_id, epoch, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (license_id)
		DO UPDATE SET user_id = excluded.user_id, epoch = excluded.epoch, created_at = excluded.created_at
		WHERE oauth_consents.user_id <> excluded.user_id OR oauth_consents.epoch <> excluded.epoch`,
		l.ID, who.UserID, l.Epoch, now)
	tx.Queue(
		`INSERT INTO oauth_grants (code_hash, partner_id, license_id, user_id, license_epoch, redirect_url,
			redirect_epoch,
			challenge, nonce, scope, named_scope, auth_time, created_at, expires_at, used_at, burned, revoked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, '', 0)`,
		secret.Hash(code),
		l.PartnerID,
		l.ID,
		who.UserID,
		l.Epoch,
		r.RedirectURL,
		r.Profile.RedirectEpoch,
		r.Challenge,
		r.Nonce,
		r.Scope,
		r.NamedScope,
		who.At,
		now,
		now.Add(s.Life.Code),
	)
	audit.Record(tx, now, by, "oauth.accept", "license:"+l.Key, nil, audit.Facts{
		"partner_id": l.PartnerID, "scope": r.Scope, "by_partner": r.ByPartner, "pkce": r.Challenge != "",
	})
}

// Connection is a license that its owner shares with its application.
type Connection struct {
	License license.License
	Since   time.Time
}

// Consents returns the valid connections of a user, newest license first. A guest may have agreed
// before the user took over the license.
func (s *Server) Consents(ctx context.Context, userID int64) ([]Connection, error) {
	type consent struct {
		licenseID, epoch int64
		since            time.Time
	}
	owned, err := s.Licenses.Owned(ctx, userID)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(owned))
	for i, l := range owned {
		ids[i] = l.ID
	}
	given, err := sqldb.All(ctx, s.DB, func(r *sqldb.Row, c *consent) error {
		return r.Scan(&c.licenseID, &c.epoch, &c.since)
	}, `SELECT license_id, epoch, created_at FROM oauth_consents WHERE license_id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("list the consents of a user: %w", err)
	}
	byLicense := make(map[int64]consent, len(given))
	for _, c := range given {
		byLicense[c.licenseID] = c
	}
	var list []Connection
	for _, l := range owned {
		if c, ok := byLicense[l.ID]; ok && c.epoch == l.Epoch {
			list = append(list, Connection{License: l, Since: c.since})
		}
	}
	return list, nil
}
