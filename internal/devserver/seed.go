package devserver

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"

	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// seed is a random number from which all credentials of a dev database are derived, so the next
// start can print them again. A database has one, made once.
type seed struct {
	text      string
	partnerID int64 // of the seeded partner; 0 until seeding is complete
}

// Rows of dev_seeds: the seed itself, and after seeding the partner's id. Later changes by a
// developer are not overwritten.
const (
	seedRow    = 1
	partnerRow = 2
)

// loadSeed returns the database's seed, and creates it in an empty database. A database with
// partners but without a seed was not made by dev, and must not get its known credentials.
func loadSeed(ctx context.Context, db *sqldb.DB) (seed, error) {
	s, err := readSeed(ctx, db)
	if err != nil || s.text != "" {
		return s, err
	}
	_, partners, err := (&partner.Store{DB: db}).List(ctx, paging.First())
	if err != nil {
		return s, err
	}
	if partners > 0 {
		return s, fault.New(
			fault.Conflict,
			codeNotADevDatabase,
			"This database was not made by claviger dev, which would open it to anybody on this machine; use "+
				"another --db, or run claviger serve.",
		)
	}
	if err := keep(ctx, db, seedRow, secret.Make("")); err != nil {
		return s, err
	}
	return readSeed(ctx, db) // another process may have been first; its seed counts
}

// row is a row of dev_seeds.
type row struct {
	id   int64
	text string
}

func scanRow(r *sqldb.Row, v *row) error { return r.Scan(&v.id, &v.text) }

func readSeed(ctx context.Context, db *sqldb.DB) (seed, error) {
	var s seed
	rows, err := sqldb.All(ctx, db, scanRow, `SELECT id, seed FROM dev_seeds`)
	if err != nil {
		return s, fmt.Errorf("read the seed: %w", err)
	}
	for _, r := range rows {
		switch r.id {
		case seedRow:
			s.text = r.text
		case partnerRow:
			if s.partnerID, err = strconv.ParseInt(r.text, 10, 64); err != nil {
				return s, fmt.Errorf("read the seeded partner's id: %w", err)
			}
		}
	}
	return s, nil
}

// keep inserts a row of dev_seeds if it does not exist.
func keep(ctx context.Context, db *sqldb.DB, id int64, text string) error {
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`INSERT INTO dev_seeds (id, seed) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, id, text)
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep the seed: %w", err)
	}
	return nil
}

// derive returns the secret with a name: 256 bits in hex, different for each name.
func (s seed) derive(name string) string { return hex.EncodeToString(s.bytes(name)) }

func (s seed) bytes(name string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(s.text), nil, "claviger dev "+name, 32)
	if err != nil {
		panic("devserver: " + err.Error()) // cannot fail: SHA-256 can derive this length
	}
	return key
}

// credentials returns the credentials of the seeded partner, in the real format.
func (s seed) credentials(single bool) partner.Credentials {
	c := partner.Credentials{
		ClientID:      s.derive("client id")[:32],
		ClientSecret:  string(secret.ClientSecret) + s.derive("client secret"),
		APIKey:        string(secret.APIKey) + s.derive("api key"),
		WebhookSecret: string(secret.WebhookSecret) + base64.StdEncoding.EncodeToString(s.bytes("webhook secret")),
	}
	if single {
		c.WebhookSecret = c.APIKey
	}
	return c
}

// token returns the seeded operator token.
func (s seed) token() string { return string(secret.OperatorToken) + s.derive("operator token") }

// password returns the password of a seeded person: long enough to be safe, short enough to type.
func (s seed) password(email string) string { return s.derive("password of " + email)[:16] }

// brand returns the stored brand of the seeded partner, if it is not the default, so that it
// survives a restart.
func (s seed) brand(ctx context.Context, db *sqldb.DB) (string, error) {
	if s.partnerID == 0 {
		return "", nil
	}
	p, err := (&partner.Store{DB: db}).Get(ctx, s.partnerID)
	if err != nil || p.Brand == partner.DefaultBrand {
		return "", err
	}
	return p.Brand, nil
}
