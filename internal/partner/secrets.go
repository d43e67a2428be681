package partner

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sealing"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Secret is a kind of secret of a partner.
type Secret string

// Kinds of secrets.
const (
	ClientSecret  Secret = "client_secret"
	APIKey        Secret = "api_key"
	WebhookSecret Secret = "webhook_secret"
)

// MaxOverlap is the maximum time that a replaced secret stays valid.
const MaxOverlap = 30 * 24 * time.Hour

// Credentials are a partner's credentials in plain text. They exist only while a partner is
// created, and are not stored.
type Credentials struct {
	ClientID      string
	ClientSecret  string
	APIKey        string
	WebhookSecret string
}

// filled generates missing ones. With a single key the webhook secret is the API key.
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

// MainKey is the name of the secrets that every partner has. Other API keys have their own names.
const MainKey = "main"

// tailLength is the number of characters of a secret that stay readable, so that people can
// distinguish secrets.
const tailLength = 4

// storeSecret queues the row of a secret: hashed if it is only compared, sealed if it must be read
// again, both for the single key.
func (r *Store) storeSecret(tx *sqldb.Tx, p Partner, what Secret, name, value string, at time.Time) {
	var hash, sealed string
	switch what {
	case ClientSecret:
		hash = r.Sealer.Pepper(value)
	case APIKey:
		hash = secret.Hash(value)
	case WebhookSecret:
	}
	if p.signs(what, name) {
		sealed = r.Sealer.Seal(label(p.ID), value)
	}
	tx.Queue(
		`INSERT INTO partner_secrets (partner_id, kind, name, hash, sealed, tail, created_at, expires_at, last_used_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0)`,
		p.ID,
		what,
		name,
		hash,
		sealed,
		tail(value),
		at,
	)
}

// tail returns the end of a secret that people may see.
func tail(value string) string { return value[max(0, len(value)-tailLength):] }

// label binds a sealed secret to its partner: it cannot be opened in another partner's row.
func label(id int64) string { return labelOf(strconv.FormatInt(id, 10)) }

func labelOf(id string) string { return "webhook secret of partner " + id }

// Sealed returns the column of sealed secrets.
func Sealed() sealing.Column {
	return sealing.Column{
		Name: "webhook secrets", First: "0",
		Page: `SELECT CAST(id AS text), CAST(partner_id AS text), sealed FROM partner_secrets
			WHERE id > CAST(CAST($1 AS text) AS bigint) AND sealed <> '' ORDER BY partner_secrets.id LIMIT $2`,
		Save:  `UPDATE partner_secrets SET sealed = $3 WHERE id = CAST(CAST($1 AS text) AS bigint) AND sealed = $2`,
		Label: labelOf,
	}
}

// ByKey returns the partner with the API key, in one statement. It looks the key up by its hash, so
// that timing reveals nothing about other keys. For an ended key, it returns the fault with a
// Partner that has only the ID of the key's partner.
func (r *Store) ByKey(ctx context.Context, key string) (Partner, error) {
	list, err := sqldb.All(
		ctx,
		r.DB,
		scanKey,
		`SELECT `+columns+`, c.turns, c.clock, s.id, s.expires_at FROM partner_secrets s
		JOIN partners ON partners.id = s.partner_id JOIN partner_counters c ON c.partner_id = s.partner_id
		WHERE s.kind = $1 AND s.hash = $2 AND s.hash <> ''`,
		APIKey,
		secret.Hash(key),
	)
	if err != nil {
		return Partner{}, fmt.Errorf("look up an API key: %w", err)
	}
	if len(list) == 0 {
		return Partner{}, fault.New(fault.Unknown, CodeInvalidKey, "%s", cmp.Or(secret.Mistaken(key, secret.APIKey),
			"The API key is not valid; send the key of your application as Authorization: Bearer <key>."))
	}
	found := list[0]
	now := r.Now()
	if !found.until.IsZero() && !found.until.After(now) {
		return Partner{ID: found.ID}, fault.New(
			fault.Unknown,
			CodeInvalidKey,
			"The API key was replaced, and the time in which both were valid is over. Send the key that replaced it.",
		).Because(causeKeyEnded)
	}
	r.Uses.Note(found.credential, now)
	return found.Partner, nil
}

// key is a partner with the id of one of its API keys.
type key struct {
	Partner
	credential int64
	until      time.Time // zero: no end
}

// causeKeyEnded is the cause of a refusal, for the log of refused calls.
const causeKeyEnded = "key_ended"

func scanKey(r *sqldb.Row, k *key) error {
	return r.Scan(k.fields(&k.Revision.Number, &k.Revision.At, &k.credential, &k.until)...)
}

// ByClient returns the partner with the client id if the secret is one of its valid client secrets.
// The fault does not reveal which of the two was wrong.
func (r *Store) ByClient(ctx context.Context, db sqldb.Reader, clientID, clientSecret string) (Partner, error) {
	list, err := sqldb.All(
		ctx,
		db,
		scanClient,
		`SELECT `+columns+`, s.hash, s.id FROM partners JOIN partner_secrets s ON s.partner_id = partners.id
		WHERE partners.client_id = $1 AND s.kind = $2 AND (s.expires_at = 0 OR s.expires_at > $3)`,
		clientID,
		ClientSecret,
		r.Now(),
	)
	if err != nil {
		return Partner{}, fmt.Errorf("look up a client: %w", err)
	}
	hash := r.Sealer.Pepper(clientSecret)
	for _, c := range list {
		if secret.Equal(c.hash, hash) {
			r.Uses.Note(c.credential, r.Now())
			return c.Partner, nil
		}
	}
	return Partner{}, fault.New(fault.Unknown, CodeInvalidClient, "The client id or the client secret is not valid.")
}

// client is a partner with the hash and the id of one of its client secrets.
type client struct {
	Partner
	hash       string
	credential int64
}

func scanClient(r *sqldb.Row, c *client) error {
	return r.Scan(c.fields(&c.hash, &c.credential)...)
}

// WebhookSecrets returns the secrets that sign a partner's webhooks, newest first: one, or two
// during the overlap of a rotation.
func (r *Store) WebhookSecrets(ctx context.Context, id int64) ([]string, error) {
	list, err := sqldb.All(ctx, r.DB, sqldb.Value[string], `SELECT sealed FROM partner_secrets
		WHERE partner_id = $1 AND kind IN ($2, $3) AND sealed <> '' AND (expires_at = 0 OR expires_at > $4)
		ORDER BY id DESC`,
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

// SigningUntil returns when the next secret that signs a partner's webhooks ends; zero: none of
// them does.
func (r *Store) SigningUntil(ctx context.Context, id int64) (time.Time, error) {
	until, err := sqldb.One(ctx, r.DB, sqldb.Value[time.Time], `SELECT coalesce(min(expires_at), 0) FROM partner_secrets
		WHERE partner_id = $1 AND kind IN ($2, $3) AND sealed <> ''
		AND expires_at > $4`, id, APIKey, WebhookSecret, r.Now())
	if err != nil {
		return time.Time{}, fmt.Errorf("read when webhook secrets end: %w", err)
	}
	return until, nil
}
