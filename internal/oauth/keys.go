package oauth

import (
	"cmp"
	"context"
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
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Alg is how identity tokens are signed.
type Alg string

// The algorithms. OpenID demands RS256 of everybody; ES256 is ten times faster.
const (
	RS256 Alg = "RS256"
	ES256 Alg = "ES256"
)

// algs is every algorithm, the default one first.
var algs = []Alg{RS256, ES256}

// State is where a key stands in its life.
type State string

// The states, in the order of a life.
const (
	Next     State = "next"     // published, and does not sign yet
	Active   State = "active"   // signs
	Previous State = "previous" // published until what it signed is dead
)

const (
	// jwksAge is how long others may keep the published keys.
	jwksAge = time.Hour
	// publishedAhead is how long a key is published before it signs, so that
	// everybody has it by then.
	publishedAhead = 24 * time.Hour
	// reloadEvery bounds how long a node does not notice what another did. It is
	// short so that a revoked key is gone everywhere at once; reading the few keys
	// once a second costs nothing that shows.
	reloadEvery = time.Second
	// defaultGrace is until what a replaced key signed has expired everywhere: other
	// nodes sign with it for up to reloadEvery more, and clocks differ a little.
	defaultGrace = idTokenLife + jwksAge + 5*time.Minute
)

// Keys keeps the keys that sign identity tokens, in the database and opened in
// memory. Of each algorithm there is one that is next and one that is active, and
// while they are served those that were active before.
type Keys struct {
	DB     *sqldb.DB
	Sealer *secret.Sealer // not needed by List and Forget
	Now    func() time.Time
	Grace  time.Duration // how long a replaced key is served; 0: until what it signed is dead

	ring    atomic.Pointer[ring]
	loading sync.Mutex // held by whoever reloads the ring; nobody signs under it
}

// Key is a key as the operator sees it.
type Key struct {
	ID          string
	Alg         Alg
	State       State
	CreatedAt   time.Time
	ActivatesAt time.Time // zero: nobody has asked for it yet
	ServedUntil time.Time // zero: no other is to replace it yet
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

// stored reads all keys in the order in which they came, or will come, to sign;
// those that nobody has activated are last.
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

// successor is when the key at i of such a list is replaced; zero when no other
// is to replace it yet.
func successor(list []row, i int) time.Time {
	for _, later := range list[i+1:] {
		if later.alg == list[i].alg {
			return later.activatesAt
		}
	}
	return time.Time{}
}

// state is where the key at i of such a list stands at a time, and until when it
// is served.
func (k *Keys) state(list []row, i int, now time.Time) (state State, servedUntil time.Time) {
	own, next := list[i].activatesAt, successor(list, i)
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

// Sign returns claims as a compact JWS by the active key of alg. It asks the
// database at most once a second.
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

// Published returns the public halves of all keys that are served. The active
// ones are first, for readers who take the first that fits.
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

// Prepare makes the keys that are missing, so that the first who needs one does
// not wait for that.
func (k *Keys) Prepare(ctx context.Context) error {
	_, err := k.current(ctx, algs...)
	return err
}

// List returns all keys, by algorithm in the order in which they came, or will
// come, to sign.
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
	slices.SortStableFunc(list, func(a, b Key) int { return cmp.Compare(slices.Index(algs, a.Alg), slices.Index(algs, b.Alg)) })
	return list
}

// Rotate makes the next key of an algorithm, or of each with "", the active one:
// a day after it was first published, or at once with now, which leaves those who
// keep the published keys without it for a while. A new next key is made. It
// returns all keys.
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

// change changes the keys in one transaction, one caller at a time over all nodes;
// before is all keys. It returns all keys as they are then.
func (k *Keys) change(ctx context.Context, doing string, fn func(tx *sqldb.Tx, before []row) error) ([]Key, error) {
	var rows []row
	err := k.DB.Write(ctx, func(tx *sqldb.Tx) error {
		alone, err := tx.TryLock("oauth keys").One(ctx)
		if err != nil {
			return err
		}
		if !alone {
			return fault.New(fault.Conflict, "rotation_pending", "Somebody else is rotating the keys. Look at the list of keys before you try again.")
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

// rotate does so for one algorithm; before is all keys, made the new next one.
func (k *Keys) rotate(ctx context.Context, tx *sqldb.Tx, by audit.Actor, before []row, made row, alg Alg, atOnce bool) error {
	now := k.Now()
	// The next one, or one that is due later: that was the next one before.
	i := slices.IndexFunc(before, func(r row) bool {
		return r.alg == alg && (r.activatesAt.IsZero() || r.activatesAt.After(now))
	})
	if i < 0 {
		return fmt.Errorf("there is no next key of %s", alg)
	}
	next := before[i]
	pending := !next.activatesAt.IsZero()
	if pending && !atOnce {
		return fault.New(fault.Conflict, "rotation_pending", "The next key of %s is to sign from %s on. Wait for that, or have it sign now.",
			alg, next.activatesAt.Format(time.RFC3339))
	}
	from := now
	if day := next.createdAt.Add(publishedAhead); !atOnce && day.After(now) {
		from = day
	}
	tx.Queue(`UPDATE oauth_keys SET activates_at = $2 WHERE id = $1`, next.id, from)
	audit.Record(tx, now, by, "key.rotate", subjectOf(next.kid), next.facts(), row{alg: alg, activatesAt: from}.facts())
	if pending {
		return nil // its own next one is there already
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

// Prune removes the keys that are no longer served.
func (k *Keys) Prune(ctx context.Context) (int64, error) {
	var gone int64
	err := k.DB.Write(ctx, func(tx *sqldb.Tx) error {
		gone = 0
		rows, err := stored(ctx, tx)
		if err != nil {
			return err
		}
		now := k.Now()
		for i, r := range rows {
			state, until := k.state(rows, i, now)
			if state != Previous || now.Before(until) {
				continue
			}
			n, err := tx.Exec(ctx, `DELETE FROM oauth_keys WHERE id = $1`, r.id)
			if err != nil {
				return err
			}
			if n > 0 { // else another node was first
				audit.Record(tx, now, itself, "key.forget", subjectOf(r.kid), r.facts(), nil)
				gone++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("prune signing keys: %w", err)
	}
	return gone, nil
}

func subjectOf(kid string) string { return "key:" + kid }

func (r row) facts() audit.Facts {
	f := audit.Facts{"alg": r.alg}
	if !r.activatesAt.IsZero() {
		f["activates_at"] = r.activatesAt.Format(time.RFC3339)
	}
	return f
}
