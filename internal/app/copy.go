package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/dbcopy"
)

// Copy copies all data from one database to another. cfg has the secret key of both, if one is set.
// Otherwise the key is in the key file of the source, and hint explains what to do with it.
func Copy(
	ctx context.Context,
	cfg Config,
	from, to string,
	tell func(dbcopy.Progress),
) (done dbcopy.Result, hint string, err error) {
	source := cfg
	target := cfg
	source.DB = from
	target.DB = to
	proof := &keyProof{source: source, target: target}
	done, err = dbcopy.Run(ctx, dbcopy.Spec{
		From: cfg.past(from), To: cfg.past(to), FromName: fullDB(source), ToName: fullDB(target), Now: Now(),
		Log: cfg.logger(), Skip: cluster.Tables, Running: cluster.Running, Prove: proof.check, Tell: tell,
	})
	return done, proof.hint, copyFailed(err)
}

// past returns the URL past a pooler, if there is one for a database: a copy locks sessions, which a
// pooler mixes.
func (c Config) past(db string) string {
	if db == c.DB && c.DirectURL != "" {
		return c.DirectURL
	}
	return db
}

// GiveUpCopy makes a database with an unfinished copy usable again.
func GiveUpCopy(ctx context.Context, cfg Config, from string) error {
	source := cfg
	source.DB = from
	return copyFailed(
		dbcopy.GiveUp(
			ctx,
			dbcopy.Spec{From: cfg.past(from), FromName: fullDB(source), Log: cfg.logger(), Running: cluster.Running},
		),
	)
}

// copyFailed adds the next step to an error that lacks it.
func copyFailed(err error) error {
	switch {
	case errors.Is(err, sqldb.ErrInUse):
		return fmt.Errorf("%w; stop the service, and every other program that uses it, first", err)
	case errors.Is(err, fs.ErrNotExist), sqldb.IsUnavailable(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	default:
		return err
	}
}

// keyProof opens sealed rows of the source and then of the target with the same key.
type keyProof struct {
	source, target Config
	key            []byte // nil: the source was not read yet
	hint           string
}

func (p *keyProof) check(ctx context.Context, db *sqldb.DB) error {
	if p.key != nil {
		target := p.target
		target.SecretKey = hex.EncodeToString(p.key)
		_, err := Sealer(ctx, db, target)
		return err
	}
	_, err := Sealer(ctx, db, p.source)
	if err != nil {
		return err
	}
	if p.key, _, err = p.source.key(false); err != nil || p.target.SecretKey != "" {
		return err
	}
	return p.checkTargetFile()
}

// checkTargetFile checks the key file that a service on the target will read.
func (p *keyProof) checkTargetFile() error {
	file := p.target.KeyFile()
	if file == p.source.KeyFile() {
		return nil
	}
	other, err := readKey(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.hint = fmt.Sprintf(
			"the copy needs the same secret key: set secret-key to it, or copy %s to %s",
			p.source.KeyFile(),
			file,
		)
		return nil
	case err != nil:
		return err
	case hex.EncodeToString(other) != hex.EncodeToString(p.key):
		return fmt.Errorf(
			"%w: %s holds another key than %s, so nothing of the copy could be opened with it; remove it, or copy "+
				"%s there",
			ErrKey,
			file,
			p.source.KeyFile(),
			p.source.KeyFile(),
		)
	}
	return nil
}
