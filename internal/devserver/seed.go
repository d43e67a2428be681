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

// seed is the random number from which every credential in a dev database is
// derived, which is how the next start can print them again. A database has one,
// made once.
type seed struct {
	text      string
	partnerID int64 // of the seeded partner; 0 until all is seeded
}

// The rows of dev_seeds: the seed itself, and once everything is created the seeded
// partner's id. Later changes by a developer are not overwritten.
const (
	seedRow    = 1
	partnerRow = 2
)

// loadSeed returns the database's seed, creating it in an empty one. A database with
// partners and without a seed was not made by dev, which must not add its known
// credentials to it.
func loadSeed(ctx context.Context, db *sqldb.DB) (seed, error) {
	s, err := readSeed(ctx, db)
	if err != nil || s.text != "" {
		return s, err
	}
	_, partners, err := (&partner.Registry{DB: db}).List(ctx, paging.First())
	if err != nil {
		return s, err
	}
	if partners > 0 {
		return s, fault.New(fault.Conflict, codeNotADevDatabase,
			"This database was not made by claviger dev, which would open it to anybody on this machine; use another --db, or run claviger serve.")
	}
	if err := keep(ctx, db, seedRow, secret.Make("")); err != nil {
		return s, err
	}
	return readSeed(ctx, db) // Another process may have been first; its seed is the one.
}

// row is one line of dev_seeds.
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

// derive makes the secret of that name: 256 bits in hex, another for each name.
func (s seed) derive(name string) string { return hex.EncodeToString(s.bytes(name)) }

func (s seed) bytes(name string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(s.text), nil, "claviger dev "+name, 32)
	if err != nil {
		panic("devserver: " + err.Error()) // The length is within what SHA-256 can derive.
	}
	return key
}

// credentials are those of the seeded partner, in the forms of real ones.
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

// token is the seeded operator token.
func (s seed) token() string { return string(secret.OperatorToken) + s.derive("operator token") }

// password is that of a seeded person: long enough to be safe, short enough to
// be typed.
func (s seed) password(email string) string { return s.derive("password of " + email)[:16] }

// brand is the one that the seeded partner got earlier, if it is not the
// default, so that it survives a restart.
func (s seed) brand(ctx context.Context, db *sqldb.DB) (string, error) {
	if s.partnerID == 0 {
		return "", nil
	}
	p, err := (&partner.Registry{DB: db}).Get(ctx, s.partnerID)
	if err != nil || p.Brand == partner.DefaultBrand {
		return "", err
	}
	return p.Brand, nil
}
