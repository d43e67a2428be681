package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sealing"
	"claviger/internal/sqldb"
)

// ring is a snapshot of the keys, ready to sign. It is immutable: a newer one replaces it.
type ring struct {
	rows   []row // see stored
	opened map[string]opened
	at     time.Time
}

// opened is a key that can sign.
type opened struct {
	signer jose.Signer
	public jose.JSONWebKey
}

// itself is the audit actor of the service.
var itself = audit.System("service")

// current returns the ring, with keys of these algorithms. While one caller reloads it, the others
// use the old one.
func (k *Keys) current(ctx context.Context, which ...Alg) (*ring, error) {
	r := k.ring.Load()
	if r != nil && r.has(which) {
		if k.Now().Sub(r.at) < reloadEvery || !k.loading.TryLock() {
			return r, nil
		}
	} else {
		k.loading.Lock()
	}
	defer k.loading.Unlock()
	// Another caller may have made the missing keys while we waited.
	if newer := k.ring.Load(); newer != r && newer.has(which) {
		return newer, nil
	}
	r, err := k.reload(ctx)
	if err != nil {
		return nil, err
	}
	for _, alg := range which {
		if r.has([]Alg{alg}) {
			continue
		}
		if err := k.first(ctx, alg); err != nil {
			return nil, err
		}
		if r, err = k.reload(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// has reports whether the ring has a next key of each of these algorithms. Then it also has an
// active one: they are created together.
func (r *ring) has(which []Alg) bool {
	for _, alg := range which {
		if !slices.ContainsFunc(r.rows, func(k row) bool { return k.alg == alg && k.activatesAt.IsZero() }) {
			return false
		}
	}
	return true
}

// reload reads the keys and opens the new ones. The caller holds loading.
func (k *Keys) reload(ctx context.Context) (*ring, error) {
	now := k.Now()
	rows, err := stored(ctx, k.DB)
	if err != nil {
		return nil, err
	}
	next := &ring{rows: rows, opened: make(map[string]opened, len(rows)), at: now}
	old := k.ring.Load()
	for _, r := range rows {
		if old != nil {
			if o, ok := old.opened[r.kid]; ok {
				next.opened[r.kid] = o
				continue
			}
		}
		if next.opened[r.kid], err = k.unseal(r); err != nil {
			return nil, fmt.Errorf("open the signing key %s: %w", r.kid, err)
		}
	}
	k.ring.Store(next)
	return next, nil
}

// label binds a sealed key to its row.
func label(kid string) string { return "signing key " + kid }

// Sealed lists the columns of sealed signing keys and answers.
func Sealed() []sealing.Column {
	return []sealing.Column{
		{
			Name: "signing keys",
			Page: `SELECT kid, kid, sealed FROM oauth_keys WHERE kid > $1 ORDER BY kid LIMIT $2`,
			Save: `UPDATE oauth_keys SET sealed = $3 WHERE kid = $1 AND sealed = $2`, Label: label,
		},
		{
			Name: "answers of the token endpoint",
			Page: `SELECT hash, hash, answer FROM oauth_answers WHERE hash > $1 ORDER BY hash LIMIT $2`,
			Save: `UPDATE oauth_answers SET answer = $3 WHERE hash = $1 AND answer = $2`, Label: answerLabel,
		},
	}
}

// unseal unseals a key. Parsing an RSA key precomputes values for signing.
func (k *Keys) unseal(r row) (opened, error) {
	text, err := k.Sealer.Open(label(r.kid), r.sealed)
	if err != nil {
		return opened{}, err
	}
	private, err := x509.ParsePKCS8PrivateKey([]byte(text))
	if err != nil {
		return opened{}, err
	}
	full := jose.JSONWebKey{Key: private, KeyID: r.kid, Algorithm: string(r.alg), Use: "sig"}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(r.alg), Key: full},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return opened{}, err
	}
	return opened{signer: signer, public: full.Public()}, nil
}

// errFirst means that another node already made the first keys.
var errFirst = errors.New("another made the first keys")

// first makes the first two keys of an algorithm: an active one and the next one. If two nodes do
// this simultaneously, the index of next keys lets one pass; the other finds those keys.
func (k *Keys) first(ctx context.Context, alg Alg) error {
	made, err := k.makeKeys([]Alg{alg, alg})
	if err != nil {
		return err
	}
	err = k.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := k.Now()
		active := made[0]
		next := made[1]
		active.createdAt = now
		active.activatesAt = now
		next.createdAt = now
		for _, r := range []row{active, next} {
			if err := insert(ctx, tx, r); errors.Is(err, sqldb.ErrNone) {
				return errFirst
			} else if err != nil {
				return err
			}
			audit.Record(tx, now, itself, "key.create", subjectOf(r.kid), nil, r.facts())
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFirst) {
		return fmt.Errorf("make the first keys of %s: %w", alg, err)
	}
	return nil
}

// insert inserts a key. ErrNone means that there already is a next one.
func insert(ctx context.Context, tx *sqldb.Tx, r row) error {
	_, err := sqldb.One(
		ctx,
		tx,
		sqldb.Value[int64],
		`INSERT INTO oauth_keys (kid, alg, sealed, created_at, activates_at)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING id`,
		r.kid,
		r.alg,
		r.sealed,
		r.createdAt,
		r.activatesAt,
	)
	return err
}

// makeKeys makes a key of each of these algorithms. It is slow, so it runs before the transaction
// that stores them.
func (k *Keys) makeKeys(which []Alg) ([]row, error) {
	made := make([]row, len(which))
	for i, alg := range which {
		private, err := k.generate(alg)
		if err != nil {
			return nil, err
		}
		raw, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			return nil, fmt.Errorf("encode a signing key: %w", err)
		}
		sum, err := (&jose.JSONWebKey{Key: private.Public()}).Thumbprint(crypto.SHA256)
		if err != nil {
			return nil, fmt.Errorf("name a signing key: %w", err)
		}
		kid := base64.RawURLEncoding.EncodeToString(sum)
		made[i] = row{kid: kid, alg: alg, sealed: k.Sealer.Seal(label(kid), string(raw))}
	}
	return made, nil
}

func (k *Keys) generate(alg Alg) (crypto.Signer, error) {
	switch alg {
	case RS256:
		if k.NewRSA != nil {
			return k.NewRSA()
		}
		return rsa.GenerateKey(rand.Reader, 2048)
	case ES256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return nil, fault.Field("alg", "must be RS256 or ES256.")
}
