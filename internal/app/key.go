package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/payout"
	"claviger/internal/sealing"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// ErrKey is wrapped by every error about the installation's secret key, to distinguish it from
// database errors.
var ErrKey = errors.New("secret key")

// KeyFile returns the path of the secret key if none is set: beside the SQLite file, under its
// name, or in the current folder if the data is elsewhere.
func (c Config) KeyFile() string {
	if c.Postgres() {
		return "claviger.key"
	}
	return strings.TrimSuffix(c.DB, filepath.Ext(c.DB)) + ".key"
}

// key returns the installation's secret key: the configured one, or the key file's. Only a database
// without sealed values (fresh) may get a new file. Otherwise a missing file is lost, and a new key
// would leave every stored secret unreadable.
func (c Config) key(fresh bool) (raw []byte, made bool, err error) {
	if c.SecretKey != "" {
		raw, err = parseKey(c.SecretKey)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrKey, err)
		}
		return raw, false, err
	}
	if c.Postgres() && !c.Local() {
		return nil, false, fmt.Errorf("%w: not set; every node of a PostgreSQL install needs the same one: "+
			"make it once with openssl rand -hex 32 and set secret-key (CLAVIGER_SECRET_KEY, or "+
			"CLAVIGER_SECRET_KEY_FILE for a file that holds it)", ErrKey)
	}
	path := c.KeyFile()
	raw, err = readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return raw, false, err
	}
	if !fresh {
		return nil, false, fmt.Errorf(
			"%w: the database holds sealed secrets and %s is missing; restore it from a backup, or set secret-key "+
				"to what it held",
			ErrKey,
			path,
		)
	}
	if err := makeKey(path); err != nil {
		return nil, false, fmt.Errorf("%w: make the key file: %w", ErrKey, err)
	}
	raw, err = readKey(path)
	return raw, true, err
}

// readKey reads a key file.
func readKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	raw, err := parseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %s %w", ErrKey, path, err)
	}
	return raw, nil
}

// makeKey writes a new key file that only its owner can read. It appears complete or not at all. If
// two processes make it simultaneously, the first one's stays.
func makeKey(path string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".claviger-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // a leftover is harmless
	_, err = temp.WriteString(secret.Make("") + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// sealed lists the columns of all sealed values.
func sealed() []sealing.Column {
	return slices.Concat(
		[]sealing.Column{sealing.Pepper(), partner.Sealed(), account.Sealed(), payout.Sealed()},
		oauth.Sealed(),
		mail.Sealed(),
	)
}

// box creates the sealer from the configured keys; see key.
func (c Config) box(fresh bool) (box *secret.Sealer, made bool, err error) {
	raw, made, err := c.key(fresh)
	if err != nil {
		return nil, false, err
	}
	var others [][]byte
	if c.PreviousKey != "" {
		other, err := parseKey(c.PreviousKey)
		if err != nil {
			return nil, made, fmt.Errorf("%w: secret-key-previous %w", ErrKey, err)
		}
		others = append(others, other)
	}
	if box, err = secret.NewSealer(raw, others...); err != nil {
		return nil, made, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return box, made, nil
}

// sealer creates the sealer from the keys that the data was sealed with. A missing key is detected
// here, not at the first webhook.
func (a *App) sealer(ctx context.Context, db *sqldb.DB) (*secret.Sealer, error) {
	fresh, err := sealing.Empty(ctx, db, sealed()...)
	if err != nil {
		return nil, err
	}
	box, made, err := a.cfg.box(fresh)
	if err != nil {
		return nil, err
	}
	if made {
		a.log.Info(
			"created the secret key of this install; store a copy apart from the database's backups",
			"file",
			a.cfg.KeyFile(),
		)
	}
	if err := sealing.Check(ctx, db, box, sealed()...); err != nil {
		return nil, fmt.Errorf("%w: it does not open what is stored (%w); is it the key of another install? "+
			"If the key was replaced, set secret-key-previous to the one before and run claviger secret rotate", ErrKey,
			err)
	}
	return a.pepper(ctx, db, box)
}

// pepper adds the stored pepper to a Sealer. An install without one stores the value that was
// derived from its key until now.
func (a *App) pepper(ctx context.Context, db *sqldb.DB, box *secret.Sealer) (*secret.Sealer, error) {
	with, err := sealing.WithPepper(ctx, db, box)
	if !errors.Is(err, sealing.ErrNoPepper) {
		return with, err
	}
	if a.cfg.PreviousKey != "" {
		return nil, fmt.Errorf(
			"%w: secret-key-previous is set, and this version has not run with one key yet; start it once with the "+
				"key that was in use and without secret-key-previous",
			ErrKey,
		)
	}
	if err := sealing.StorePepper(ctx, db, box, a.cfg.Now()); err != nil {
		return nil, err
	}
	return sealing.WithPepper(ctx, db, box)
}

// Reseal seals all values with the configured secret key, for a command; done reports progress. It
// returns the number of resealed values.
func Reseal(
	ctx context.Context,
	db *sqldb.DB,
	cfg Config,
	by audit.Actor,
	done func(what string, seen, changed int),
) (total int, err error) {
	a := newApp(cfg)
	box, err := a.sealer(ctx, db)
	if err != nil {
		return 0, err
	}
	total, err = sealing.Reseal(ctx, db, box, done, sealed()...)
	if err != nil {
		return total, err
	}
	return total, db.Write(ctx, func(tx *sqldb.Tx) error {
		audit.Record(tx, a.cfg.Now(), by, "secret_key.rotate", "", nil, audit.Facts{"values": total})
		return nil
	})
}
