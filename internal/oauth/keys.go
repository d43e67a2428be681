package oauth

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/prune"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Alg is a signing algorithm of identity tokens.
type Alg string

// The algorithms. OpenID requires RS256; ES256 is ten times faster.
const (
	RS256 Alg = "RS256"
	ES256 Alg = "ES256"
)

// algs are all algorithms, the default one first.
var algs = []Alg{RS256, ES256}

// State is the phase of a key's life.
type State string

// The states, in order.
const (
	Next     State = "next"     // published, and does not sign yet
	Active   State = "active"   // signs
	Previous State = "previous" // published until every token it signed has expired
)

const (
	// jwksAge is the time for which clients may cache the published keys.
	jwksAge = time.Hour
	// publishedAhead is the time between publishing a key and signing with it, so that every cache
	// has it by then.
	publishedAhead = 24 * time.Hour
	// reloadEvery is the interval at which a node reads the keys. It is short so that no node uses
	// a revoked key for long. Reading a few rows per second costs almost nothing.
	reloadEvery = time.Second
	// defaultGrace is the time after which every token signed by a replaced key has expired. Other
	// nodes sign with it for up to reloadEvery longer, and clocks differ.
	defaultGrace = idTokenLife + jwksAge + 5*time.Minute
)

// Keys stores the signing keys of identity tokens, sealed in the database and opened in memory.
// Each algorithm has one next and one active key, and previous keys as long as they are published.
type Keys struct {
	DB     *sqldb.DB
	Sealer *secret.Sealer // not needed by List and Prune
	Now    func() time.Time
	Grace  time.Duration                   // for which a replaced key is published; 0: until its tokens have expired
	NewRSA func() (*rsa.PrivateKey, error) // makes a key; nil: one of 2048 bits

	ring    atomic.Pointer[ring]
	loading sync.Mutex // serializes reloads of the ring; signing does not need it
}

// Key is a key in the operator's view.
type Key struct {
	ID          string
	Alg         Alg
	State       State
	CreatedAt   time.Time
	ActivatesAt time.Time // zero: no rotation was requested yet
	ServedUntil time.Time // zero: not replaced yet
}

// row is a stored key.
type row struct {
	id          int64
	kid         string
	alg         Alg
	sealed      string
	createdAt   time.Time
	activatesAt time.Time
}

func scanRow(r *sqldb.Row, k *row) error {
	return r.Scan(&k.id, &k.kid, (*string)(&k.alg), &k.sealed, &k.createdAt, &k.activatesAt)
}

const rowColumns = `id, kid, alg, sealed, created_at, activates_at`

// stored reads all keys, ordered by the time from which they sign. Keys without such a time are
// last.
func stored(ctx context.Context, r sqldb.Reader) ([]row, error) {
	list, err := sqldb.All(ctx, r, scanRow, `SELECT `+rowColumns+` FROM oauth_keys ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read the signing keys: %w", err)
	}
	slices.SortStableFunc(list, func(a, b row) int {
		switch none := a.activatesAt.IsZero(); {
		case none == b.activatesAt.IsZero():
			return a.activatesAt.Compare(b.activatesAt)
		case none:
			return 1
		default:
			return -1
		}
	})
	return list, nil
}

// successor returns when the key at i of such a list is replaced; zero: not yet.
func successor(list []row, i int) time.Time {
	for _, later := range list[i+1:] {
		if later.alg == list[i].alg {
			return later.activatesAt
		}
	}
	return time.Time{}
}

// state returns the state of the key at i of such a list, and until when it is published.
func (k *Keys) state(list []row, i int, now time.Time) (state State, servedUntil time.Time) {
	own := list[i].activatesAt
	next := successor(list, i)
	if !next.IsZero() {
		servedUntil = next.Add(cmp.Or(k.Grace, defaultGrace))
	}
	switch {
	case own.IsZero() || own.After(now):
		return Next, servedUntil
	case next.IsZero() || next.After(now):
		return Active, servedUntil
	default:
		return Previous, servedUntil
	}
}

// Sign returns claims as a compact JWS, signed by the active key of alg. It queries the database at
// most once a second.
func (k *Keys) Sign(ctx context.Context, alg Alg, claims any) (string, error) {
	r, err := k.current(ctx, alg)
	if err != nil {
		return "", err
	}
	now := k.Now()
	for i := range r.rows {
		if r.rows[i].alg != alg {
			continue
		}
		if state, _ := k.state(r.rows, i, now); state == Active {
			return r.opened[r.rows[i].kid].sign(claims)
		}
	}
	return "", fmt.Errorf("no key signs with %q", alg)
}

func (o opened) sign(claims any) (string, error) {
	body, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encode claims: %w", err)
	}
	signed, err := o.signer.Sign(body)
	if err != nil {
		return "", fmt.Errorf("sign claims: %w", err)
	}
	return signed.CompactSerialize()
}

// Published returns the public keys. The active ones are first, for clients that use the first
// match.
func (k *Keys) Published(ctx context.Context) (jose.JSONWebKeySet, error) {
	r, err := k.current(ctx, algs...)
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	now := k.Now()
	byState := map[State][]jose.JSONWebKey{}
	for i, key := range r.rows {
		state, until := k.state(r.rows, i, now)
		if state == Previous && !now.Before(until) {
			continue
		}
		byState[state] = append(byState[state], r.opened[key.kid].public)
	}
	return jose.JSONWebKeySet{Keys: slices.Concat(byState[Active], byState[Previous], byState[Next])}, nil
}

// Prepare creates missing keys, so that the first request does not wait for them.
func (k *Keys) Prepare(ctx context.Context) error {
	_, err := k.current(ctx, algs...)
	return err
}

// List returns all keys by algorithm, ordered by the time from which they sign.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	rows, err := stored(ctx, k.DB)
	if err != nil {
		return nil, err
	}
	return k.list(rows), nil
}

func (k *Keys) list(rows []row) []Key {
	now := k.Now()
	list := make([]Key, len(rows))
	for i, r := range rows {
		list[i] = Key{ID: r.kid, Alg: r.alg, CreatedAt: r.createdAt, ActivatesAt: r.activatesAt}
		list[i].State, list[i].ServedUntil = k.state(rows, i, now)
	}
	slices.SortStableFunc(
		list,
		func(a, b Key) int { return cmp.Compare(slices.Index(algs, a.Alg), slices.Index(algs, b.Alg)) },
	)
	return list
}

// Rotate activates the next key of an algorithm, or of each if alg is "". That happens a day after
// its publication, or immediately with now; then clients that cache the keys lack it for a while.
// Rotate makes a new next key and returns all keys.
func (k *Keys) Rotate(ctx context.Context, by audit.Actor, alg Alg, now bool) ([]Key, error) {
	which := algs
	if alg != "" {
		which = []Alg{alg}
	}
	if _, err := k.current(ctx, which...); err != nil {
		return nil, err
	}
	made, err := k.makeKeys(which)
	if err != nil {
		return nil, err
	}
	return k.change(ctx, "rotate the signing keys", func(tx *sqldb.Tx, before []row) error {
		for i, alg := range which {
			if err := k.rotate(ctx, tx, by, before, made[i], alg, now); err != nil {
				return err
			}
		}
		return nil
	})
}

// change changes the keys in one transaction, serialized over all nodes. fn gets all keys. change
// returns all keys after the change.
func (k *Keys) change(ctx context.Context, doing string, fn func(tx *sqldb.Tx, before []row) error) ([]Key, error) {
	var rows []row
	err := k.DB.Write(ctx, func(tx *sqldb.Tx) error {
		alone, err := tx.TryLock(ctx, "oauth keys")
		if err != nil {
			return err
		}
		if !alone {
			return fault.New(
				fault.Conflict,
				codeRotationPending,
				"Another person is rotating the keys. Look at the list of keys before you try again.",
			)
		}
		before, err := stored(ctx, tx)
		if err != nil {
			return err
		}
		if err := fn(tx, before); err != nil {
			return err
		}
		rows, err = stored(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	k.loading.Lock()
	defer k.loading.Unlock()
	if _, err := k.reload(ctx); err != nil {
		return nil, err
	}
	return k.list(rows), nil
}

// rotate rotates one algorithm; before is all keys, made is the new next one.
func (k *Keys) rotate(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	before []row,
	made row,
	alg Alg,
	atOnce bool,
) error {
	now := k.Now()
	// The next key, or one already scheduled to sign.
	i := slices.IndexFunc(before, func(r row) bool {
		return r.alg == alg && (r.activatesAt.IsZero() || r.activatesAt.After(now))
	})
	if i < 0 {
		return fmt.Errorf("there is no next key of %s", alg)
	}
	next := before[i]
	pending := !next.activatesAt.IsZero()
	if pending && !atOnce {
		return fault.New(
			fault.Conflict,
			codeRotationPending,
			"The next key of %s signs from %s on. Wait until then, or rotate again and let it sign now.",
			alg,
			next.activatesAt.Format(time.RFC3339),
		)
	}
	from := now
	if day := next.createdAt.Add(publishedAhead); !atOnce && day.After(now) {
		from = day
	}
	tx.Queue(`UPDATE oauth_keys SET activates_at = $2 WHERE id = $1`, next.id, from)
	audit.Record(tx, now, by, "key.rotate", subjectOf(next.kid), next.facts(), row{alg: alg, activatesAt: from}.facts())
	if pending {
		return nil // it already has a next key
	}
	made.createdAt = now
	return add(ctx, tx, by, made)
}

// add stores a new key.
func add(ctx context.Context, tx *sqldb.Tx, by audit.Actor, made row) error {
	if err := insert(ctx, tx, made); errors.Is(err, sqldb.ErrNone) {
		return fmt.Errorf("two next keys of %s: %w", made.alg, err)
	} else if err != nil {
		return err
	}
	audit.Record(tx, made.createdAt, by, "key.create", subjectOf(made.kid), nil, made.facts())
	return nil
}

// Expiring lists the rows that expire: keys that are no longer published.
func (k *Keys) Expiring() []prune.Rule {
	return []prune.Rule{{Table: "oauth_keys", Do: k.prune}}
}

// prune deletes keys that are no longer published.
func (k *Keys) prune(ctx context.Context, db *sqldb.DB, now time.Time) (int64, error) {
	var removed int64
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		removed = 0
		rows, err := stored(ctx, tx)
		if err != nil {
			return err
		}
		for i, r := range rows {
			state, until := k.state(rows, i, now)
			if state != Previous || now.Before(until) {
				continue
			}
			n, err := tx.Exec(ctx, `DELETE FROM oauth_keys WHERE id = $1`, r.id)
			if err != nil {
				return err
			}
			if n > 0 { // otherwise another node was first
				audit.Record(tx, now, itself, "key.forget", subjectOf(r.kid), r.facts(), nil)
				removed++
			}
		}
		return nil
	})
	return removed, err
}

func subjectOf(kid string) string { return "key:" + kid }

func (r row) facts() audit.Facts {
	f := audit.Facts{"alg": r.alg}
	if !r.activatesAt.IsZero() {
		f["activates_at"] = r.activatesAt.Format(time.RFC3339)
	}
	return f
}
