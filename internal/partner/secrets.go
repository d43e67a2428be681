package partner

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Secret names one of a partner's secrets.
type Secret string

// The secrets of a partner.
const (
	ClientSecret  Secret = "client_secret"
	APIKey        Secret = "api_key"
	WebhookSecret Secret = "webhook_secret"
)

// MaxOverlap is how long a replaced secret may stay valid.
const MaxOverlap = 30 * 24 * time.Hour

// Credentials are a partner's credentials in the clear. They exist while a partner
// is created and are not stored.
type Credentials struct {
	ClientID      string
	ClientSecret  string
	APIKey        string
	WebhookSecret string
}

// filled generates what is missing. With a single key the webhook secret is the API
// key.
func (c Credentials) filled(single bool) Credentials {
	if c.ClientID == "" {
		c.ClientID = secret.Make("")[:32]
	}
	if c.ClientSecret == "" {
		c.ClientSecret = newSecret(ClientSecret)
	}
	if c.APIKey == "" {
		c.APIKey = newSecret(APIKey)
	}
	switch {
	case single:
		c.WebhookSecret = c.APIKey
	case c.WebhookSecret == "":
		c.WebhookSecret = newSecret(WebhookSecret)
	}
	return c
}

// newSecret generates a secret.
func newSecret(what Secret) string {
	switch what {
	case ClientSecret:
		return secret.Make(string(secret.ClientSecret))
	case APIKey:
		return secret.Make(string(secret.APIKey))
	case WebhookSecret:
		return secret.MakeWebhook()
	}
	panic("partner: no such secret: " + string(what))
}

// storeSecret queues the row of a secret: hashed if we only compare it, sealed if we
// must read it again, both when it is the single key.
func (r *Registry) storeSecret(tx *sqldb.Tx, p Partner, what Secret, value string, at time.Time) {
	var hash, sealed string
	switch what {
	case ClientSecret:
		hash = r.Sealer.Pepper(value)
	case APIKey:
		hash = secret.Hash(value)
	case WebhookSecret:
	}
	if what == WebhookSecret || what == APIKey && p.SingleKey {
		sealed = r.Sealer.Seal(label(p.ID), value)
	}
	tx.Queue(`INSERT INTO partner_secrets (partner_id, kind, hash, sealed, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, 0)`,
		p.ID, what, hash, sealed, at)
}

// label binds a sealed secret to its partner: it cannot be opened in another
// partner's row.
func label(id int64) string { return "webhook secret of partner " + strconv.FormatInt(id, 10) }

// ByKey returns the partner whose API key that is, in one statement. The key is
// looked up by its hash, so that timing reveals nothing about other keys.
func (r *Registry) ByKey(ctx context.Context, key string) (Partner, error) {
	list, err := sqldb.All(ctx, r.DB, scanRevision, `SELECT `+columns+`, c.turns, c.clock FROM partner_secrets s
		JOIN partners ON partners.id = s.partner_id JOIN partner_counters c ON c.partner_id = s.partner_id
		WHERE s.kind = $1 AND s.hash = $2 AND s.hash <> '' AND (s.expires_at = 0 OR s.expires_at > $3)`,
		APIKey, secret.Hash(key), r.Now())
	if err != nil {
		return Partner{}, fmt.Errorf("look up an API key: %w", err)
	}
	if len(list) == 0 {
		return Partner{}, fault.New(fault.Unknown, CodeInvalidKey, "%s", cmp.Or(secret.Mistaken(key, secret.APIKey),
			"The API key is not valid; send the key of your application as Authorization: Bearer <key>."))
	}
	return list[0], nil
}

func scanRevision(r *sqldb.Row, p *Partner) error {
	return r.Scan(p.fields(&p.Revision.Number, &p.Revision.At)...)
}

// ByClient returns the partner with that client id if the secret is one of its valid
// client secrets. The fault does not say which of the two was wrong.
func (r *Registry) ByClient(ctx context.Context, db sqldb.Reader, clientID, clientSecret string) (Partner, error) {
	list, err := sqldb.All(ctx, db, scanClient, `SELECT `+columns+`, s.hash FROM partners JOIN partner_secrets s ON s.partner_id = partners.id
		WHERE partners.client_id = $1 AND s.kind = $2 AND (s.expires_at = 0 OR s.expires_at > $3)`, clientID, ClientSecret, r.Now())
	if err != nil {
		return Partner{}, fmt.Errorf("look up a client: %w", err)
	}
	hash := r.Sealer.Pepper(clientSecret)
	for _, c := range list {
		if secret.Equal(c.hash, hash) {
			return c.Partner, nil
		}
	}
	return Partner{}, fault.New(fault.Unknown, CodeInvalidClient, "The client id or the client secret is not valid.")
}

// client is a partner with the hash of one of its client secrets.
type client struct {
	Partner
	hash string
}

func scanClient(r *sqldb.Row, c *client) error {
	return r.Scan(c.fields(&c.hash)...)
}

// WebhookSecrets returns the secrets that sign a partner's webhooks, the newest
// first: one, or two during the overlap of a rotation.
func (r *Registry) WebhookSecrets(ctx context.Context, id int64) ([]string, error) {
	list, err := sqldb.All(ctx, r.DB, sqldb.Value[string], `SELECT sealed FROM partner_secrets
		WHERE partner_id = $1 AND kind IN ($2, $3) AND sealed <> '' AND (expires_at = 0 OR expires_at > $4) ORDER BY id DESC`,
		id, APIKey, WebhookSecret, r.Now())
	if err != nil {
		return nil, fmt.Errorf("read webhook secrets: %w", err)
	}
	for i, sealed := range list {
		if list[i], err = r.Sealer.Open(label(id), sealed); err != nil {
			return nil, fmt.Errorf("open a webhook secret: %w", err)
		}
	}
	return list, nil
}

// SigningUntil returns when the next of the secrets that sign a partner's webhooks ends;
// zero: none of them does.
func (r *Registry) SigningUntil(ctx context.Context, id int64) (time.Time, error) {
	until, err := sqldb.One(ctx, r.DB, sqldb.Value[time.Time], `SELECT coalesce(min(expires_at), 0) FROM partner_secrets
		WHERE partner_id = $1 AND kind IN ($2, $3) AND sealed <> '' AND expires_at > $4`, id, APIKey, WebhookSecret, r.Now())
	if err != nil {
		return time.Time{}, fmt.Errorf("read when webhook secrets end: %w", err)
	}
	return until, nil
}

// Rotation is a secret that replaced another. Value is shown only once.
type Rotation struct {
	What          Secret
	Value         string
	PreviousUntil time.Time // when the replaced one ends
}

// Rotate replaces a secret of a partner. The replaced one stays valid for overlap;
// one that was replaced earlier ends at once, so that at most two are valid.
// With a single key, rotating the API key or the webhook secret rotates both.
func (r *Registry) Rotate(ctx context.Context, by audit.Actor, id int64, what Secret, overlap time.Duration) (Rotation, error) {
	if err := what.valid(); err != nil {
		return Rotation{}, err
	}
	if err := validOverlap(overlap); err != nil {
		return Rotation{}, err
	}
	var done Rotation
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		r.changed(tx, id)
		if p.signs(p.stored(what)) {
			// The one before a switch of single_key would be the third that signs.
			if _, err := p.endSigning(ctx, tx); err != nil {
				return err
			}
		}
		done = r.replace(tx, p, what, overlap)
		audit.Record(tx, r.Now(), by, "partner.rotate", subject(id), nil,
			audit.Facts{"what": what, "overlap_s": int64(overlap / time.Second)})
		return nil
	})
	if err != nil {
		return Rotation{}, fmt.Errorf("rotate a secret: %w", err)
	}
	return done, nil
}

// Switch ends a rotation's overlap now: the replaced secret becomes invalid, and
// webhooks are signed by the new one alone. Without an overlap it changes nothing.
func (r *Registry) Switch(ctx context.Context, by audit.Actor, id int64, what Secret) error {
	if err := what.valid(); err != nil {
		return err
	}
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		r.changed(tx, id)
		ended, err := r.end(ctx, tx, p, p.stored(what))
		if ended > 0 {
			audit.Record(tx, r.Now(), by, "partner.switch", subject(id), nil, audit.Facts{"what": what})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("end an overlap: %w", err)
	}
	return nil
}

// end deletes the replaced secrets of a kind, and returns how many there were.
func (r *Registry) end(ctx context.Context, tx *sqldb.Tx, p Partner, kind Secret) (int64, error) {
	ended, err := tx.Exec(ctx, `DELETE FROM partner_secrets WHERE partner_id = $1 AND kind = $2 AND expires_at > $3`, p.ID, kind, r.Now())
	if err != nil || !p.signs(kind) {
		return ended, err
	}
	left, err := p.endSigning(ctx, tx)
	return ended + left, err
}

func (s Secret) valid() error {
	switch s {
	case ClientSecret, APIKey, WebhookSecret:
		return nil
	default:
		return fault.Field("what", "must be client_secret, api_key or webhook_secret.")
	}
}

// stored is the kind under which a secret is stored: a single key is an API key.
func (p Partner) stored(what Secret) Secret {
	if p.SingleKey && what == WebhookSecret {
		return APIKey
	}
	return what
}

// replace queues what a rotation writes, under the partner's lock.
func (r *Registry) replace(tx *sqldb.Tx, p Partner, what Secret, overlap time.Duration) Rotation {
	kind := p.stored(what)
	now := r.Now()
	until := now.Add(overlap)
	r.expire(tx, p.ID, kind, overlap, until)
	value := newSecret(kind)
	r.storeSecret(tx, p, kind, value, now)
	tx.Queue(`UPDATE partners SET updated_at = $2 WHERE id = $1`, p.ID, now)
	return Rotation{What: what, Value: value, PreviousUntil: until}
}
