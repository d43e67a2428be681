package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"claviger/internal/cluster"
	"claviger/internal/sqldb"
)

// Copy moves all data from one database to another; cfg has the secret key of both, if
// one is set. Else it is in the key file of the source, and hint says what to do with it.
func Copy(ctx context.Context, cfg Config, from, to string, tell func(sqldb.CopyProgress)) (done sqldb.Copied, hint string, err error) {
	source, target := cfg, cfg
	source.DB, target.DB = from, to
	proof := &keyProof{source: source, target: target}
	done, err = sqldb.Copy(ctx, sqldb.Copying{
		From: from, To: to, FromName: fullDB(source), ToName: fullDB(target), Now: Now(), Log: cfg.logger(),
		Skip: cluster.Tables, Running: cluster.Running, Prove: proof.check, Tell: tell,
	})
	return done, proof.hint, copyFailed(err)
}

// GiveUpCopy makes a database usable again whose copy has not ended.
func GiveUpCopy(ctx context.Context, cfg Config, from string) error {
	cfg.DB = from
	return copyFailed(sqldb.GiveUp(ctx, sqldb.Copying{From: from, FromName: fullDB(cfg), Log: cfg.logger(), Running: cluster.Running}))
}

// copyFailed says what to do about it where it does not say so itself.
func copyFailed(err error) error {
	switch {
	case errors.Is(err, sqldb.ErrInUse):
		return fmt.Errorf("%w; stop the service, and whatever else uses it, first", err)
	case errors.Is(err, fs.ErrNotExist), sqldb.IsUnavailable(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	default:
		return err
	}
}

// keyProof opens sealed rows of the source and then of the target with the same key.
type keyProof struct {
	source, target Config
	key            []byte // nil: the source has not been asked
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

// checkTargetFile looks at the key file that a service on the target will read.
func (p *keyProof) checkTargetFile() error {
	file := p.target.KeyFile()
	if file == p.source.KeyFile() {
		return nil
	}
	other, err := readKey(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.hint = fmt.Sprintf("the copy needs the same secret key: set secret-key to it, or copy %s to %s", p.source.KeyFile(), file)
		return nil
	case err != nil:
		return err
	case hex.EncodeToString(other) != hex.EncodeToString(p.key):
		return fmt.Errorf("%w: %s holds another key than %s, so nothing of the copy could be opened with it; remove it, or copy %s there",
			ErrKey, file, p.source.KeyFile(), p.source.KeyFile())
	}
	return nil
}
