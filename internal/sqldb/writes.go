package sqldb

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
)

// writes says whether the database takes writes.
type writes struct {
	full atomic.Bool // the disk was full since the last check that needed space

	mu   sync.Mutex // held during a check
	at   time.Time  // of the last check
	last error      // its result
}

// Checks of writes.
const (
	writesEvery = time.Second
	spaceNeeded = 256 << 10 // more than the free space inside of a table
)

// CheckWrites writes and commits a change, and returns the error. The change leaves nothing behind.
// Several calls within a second share one check.
//
// A full disk fails only writes that need space. So after a failure for lack of space, the check
// needs some, too, until it gets it.
func (db *DB) CheckWrites(ctx context.Context) error {
	w := &db.writes
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at.IsZero() || time.Since(w.at) >= writesEvery {
		w.last = db.checkWrites(ctx)
		w.at = time.Now()
	}
	return w.last
}

func (db *DB) checkWrites(ctx context.Context) error {
	rows := 1
	full := db.writes.full.Load()
	if full {
		rows = spaceNeeded / len(filler())
	}
	// The table with a single row gets more of them, which no one else sees.
	err := db.Write(ctx, func(tx *Tx) error {
		for range rows {
			tx.Queue(`INSERT INTO oldest_program (version) VALUES ($1)`, filler())
		}
		_, err := tx.Exec(ctx, `DELETE FROM oldest_program WHERE version LIKE $1`, fillerPrefix+"%")
		return err
	})
	if err == nil && full {
		db.writes.full.Store(false)
	}
	return err
}

const fillerPrefix = "check "

// filler returns a new text of 1 KB that cannot be compressed.
func filler() string {
	random := make([]byte, 750)
	_, _ = rand.Read(random) // never fails
	return fillerPrefix + base64.StdEncoding.EncodeToString(random)
}

// noteWrite notes the error of a write.
func (db *DB) noteWrite(err error) {
	if WhyUnwritable(err) != "" && !readOnly(err) {
		db.writes.full.Store(true)
	}
}

// Reasons why a database takes no writes.
const (
	diskFull   = "its disk is full"
	isReadOnly = "it is read-only"
)

// WhyUnwritable returns why the database takes no writes, such as "its disk is full", if err says that;
// otherwise "".
func WhyUnwritable(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case e.Code == "25006":
			return isReadOnly
		case e.Code == "53100", e.Code == "58030" && strings.Contains(e.Message, "No space left"):
			return diskFull
		}
		return ""
	}
	switch {
	case errors.Is(err, sqlite3.READONLY):
		return isReadOnly
	case errors.Is(err, sqlite3.FULL):
		return diskFull
	}
	return ""
}
