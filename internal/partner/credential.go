package partner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of API keys.
const (
	MaxKeys    = 20 // per partner, not counting those in an overlap
	maxKeyName = 40 // characters
)

// Credential describes a valid secret of a partner, without the secret.
type Credential struct {
	ID         int64
	What       Secret
	Name       string
	Tail       string // its last characters; "" if it is from before they were stored
	Signs      bool   // webhooks are signed with it
	CreatedAt  time.Time
	EndsAt     time.Time // end of the overlap if it was replaced; else zero
	LastUsedAt time.Time // to the minute; zero: never, or a webhook secret, which only signs
}

// Replaced reports whether another secret has replaced it.
func (c Credential) Replaced() bool { return !c.EndsAt.IsZero() }

const credentialColumns = `id, kind, name, tail, sealed <> '', created_at, expires_at, last_used_at`

func scanCredential(r *sqldb.Row, c *Credential) error {
	return r.Scan(&c.ID, &c.What, &c.Name, &c.Tail, &c.Signs, &c.CreatedAt, &c.EndsAt, &c.LastUsedAt)
}

// ListCredentials returns a partner's valid secrets by kind and name. A replaced one follows its
// replacement.
func (r *Store) ListCredentials(ctx context.Context, partnerID int64) ([]Credential, error) {
	list, err := sqldb.All(ctx, r.DB, scanCredential, `SELECT `+credentialColumns+` FROM partner_secrets
		WHERE partner_id = $1 AND (expires_at = 0 OR expires_at > $2)
		ORDER BY kind, CASE WHEN name = '`+MainKey+`' THEN 0 ELSE 1 END, name, id DESC`, partnerID, r.Now())
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	return list, nil
}

// Credential returns one of a partner's valid secrets.
func (r *Store) Credential(ctx context.Context, partnerID, id int64) (Credential, error) {
	return r.credential(ctx, r.DB, partnerID, id)
}

func (r *Store) credential(ctx context.Context, db sqldb.Reader, partnerID, id int64) (Credential, error) {
	c, err := sqldb.One(ctx, db, scanCredential, `SELECT `+credentialColumns+` FROM partner_secrets
		WHERE id = $1 AND partner_id = $2 AND (expires_at = 0 OR expires_at > $3)`, id, partnerID, r.Now())
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Credential{}, unknownCredential()
	case err != nil:
		return Credential{}, fmt.Errorf("read a credential: %w", err)
	}
	return c, nil
}

func unknownCredential() error {
	return fault.New(
		fault.Missing,
		codeUnknownCredential,
		"There is no such credential, or it has ended; list the credentials to see which are valid.",
	)
}

func credentialChanged() error {
	return fault.New(
		fault.Conflict,
		codeCredentialChanged,
		"This secret has been replaced or revoked since the page was shown. Nothing was changed; look at the "+
			"credentials as they are now.",
	)
}

// AddKey makes another API key of a partner. Its name distinguishes it from the others. A repeat of
// the request makes no second one.
func (r *Store) AddKey(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	name string,
	once idempotency.Request,
) (Rotation, error) {
	name, err := validate.Name("name", name, 1, maxKeyName)
	if err != nil {
		return Rotation{}, err
	}
	var done Rotation
	err = r.once(ctx, once, &done, func(tx *sqldb.Tx) error {
		p, err := lock(ctx, tx, partnerID)
		if err != nil {
			return err
		}
		names, err := sqldb.All(
			ctx,
			tx,
			sqldb.Value[string],
			`SELECT name FROM partner_secrets WHERE partner_id = $1 AND kind = $2 AND expires_at = 0`,
			partnerID,
			APIKey,
		)
		if err != nil {
			return fmt.Errorf("read the names of keys: %w", err)
		}
		if err := checkNewName(names, name); err != nil {
			return err
		}
		now := r.Now()
		done = Rotation{What: APIKey, Value: newSecret(APIKey)}
		r.storeSecret(tx, p, APIKey, name, done.Value, now)
		audit.Record(
			tx,
			now,
			by,
			"partner.key",
			subject(partnerID),
			nil,
			audit.Facts{"what": string(APIKey), "ending": tail(done.Value)},
		)
		return nil
	})
	if err != nil {
		return Rotation{}, fmt.Errorf("add an API key: %w", err)
	}
	return done, nil
}

// checkNewName refuses the name of another key. The main key is made only with the partner and by
// rotation, because it may sign.
func checkNewName(names []string, name string) error {
	if len(names) >= MaxKeys {
		return fault.New(
			fault.Conflict,
			codeTooManyKeys,
			"An application has at most %d API keys; revoke one first.",
			MaxKeys,
		)
	}
	for _, other := range append(names, MainKey) {
		if strings.EqualFold(other, name) {
			return fault.New(fault.Conflict, codeKeyExists, "There is an API key with this name; choose another, or "+
				"rotate that key.").
				On("name")
		}
	}
	return nil
}

// Revoke ends a credential immediately, on every node. For a replaced one it ends the overlap; for
// a current one it also ends the overlap with its predecessor, because both have one name. A secret
// that signs webhooks cannot be revoked, only replaced: there are no unsigned webhooks.
func (r *Store) Revoke(ctx context.Context, by audit.Actor, partnerID, id int64) (Credential, error) {
	var c Credential
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, err := lock(ctx, tx, partnerID)
		if err != nil {
			return err
		}
		if c, err = r.credential(ctx, tx, partnerID, id); err != nil {
			return err
		}
		if c.Signs && !c.Replaced() {
			return fault.New(
				fault.Conflict,
				codeSecretSigns,
				"This secret signs your webhooks, and none are sent unsigned. Rotate it without an overlap instead: "+
					"then the old one ends immediately.",
			)
		}
		r.changed(tx, partnerID)
		now := r.Now()
		tx.Queue(`UPDATE partners SET updated_at = $2 WHERE id = $1`, p.ID, now)
		if c.Replaced() {
			tx.Queue(`DELETE FROM partner_secrets WHERE id = $1 AND partner_id = $2`, id, partnerID)
			audit.Record(tx, now, by, "partner.switch", subject(partnerID), nil, c.facts())
			return nil
		}
		tx.Queue(
			`DELETE FROM partner_secrets WHERE partner_id = $1 AND kind = $2 AND name = $3`,
			partnerID,
			c.What,
			c.Name,
		)
		audit.Record(tx, now, by, "partner.revoke", subject(partnerID), c.facts(), nil)
		return nil
	})
	if err != nil {
		return Credential{}, fmt.Errorf("revoke a credential: %w", err)
	}
	return c, nil
}

func (c Credential) facts() audit.Facts {
	return audit.Facts{"what": string(c.What), "ending": c.Tail}
}

// CredentialVersions returns a version text per partner. It changes with the partner's credentials
// and their use.
func (r *Store) CredentialVersions(ctx context.Context, partnerIDs []int64) (map[int64]string, error) {
	found, err := sqldb.Versions(
		ctx,
		r.DB,
		partnerIDs,
		4,
		`SELECT partner_id, count(*), max(id), max(expires_at), max(last_used_at) FROM partner_secrets
		WHERE partner_id = ANY($1) GROUP BY partner_id`,
	)
	if err != nil {
		return nil, fmt.Errorf("read the versions of credentials: %w", err)
	}
	return found, nil
}
