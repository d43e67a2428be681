package sqldb

import (
	"context"
	"log/slog"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Purge takes what the transaction deletes or overwrites out of the database's files
// too, once it is committed: for data of people that must be gone. On SQLite the pages
// are overwritten (secure_delete) and the log, which holds the pages of before, is
// emptied. A reader can be in the way of that; then it is tried again until it is
// done, and the next start does it if this process ends before. PostgreSQL keeps
// what was deleted until it vacuums.
func (tx *Tx) Purge() { tx.AfterCommit(tx.engine.purge) }

func (p *postgres) purge() {}

// purge empties the log now, or else lets purger do it.
func (l *sqlite) purge() {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if emptied, err := l.writer.emptyLog(ctx); emptied && err == nil {
		return
	}
	select {
	case l.unpurged <- struct{}{}:
	default: // it is at it
	}
}

// The waits of purger: a snapshot lasts milliseconds, unless another program or a
// backup reads.
const (
	purgeFirst = 10 * time.Millisecond
	purgeTell  = 32 * purgeFirst // the operator is told
	purgeLast  = 512 * purgeFirst
)

// purger empties the log when readers were in the way of that, until the database
// is closed, which empties it too.
func (l *sqlite) purger(ctx context.Context, log *slog.Logger) {
	defer close(l.purged)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-l.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-l.unpurged:
		case <-ctx.Done():
			return
		}
		told := false
		for wait := purgeFirst; ; wait = min(2*wait, purgeLast) {
			emptied, err := l.writer.emptyLog(ctx)
			if emptied && err == nil {
				break
			}
			if wait >= purgeTell && !told && ctx.Err() == nil {
				told = true
				log.Warn("erased data is still in the database's log, because somebody reads an older state of it; the log is emptied when that ends", "file", l.path+"-wal", "err", err)
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		if told {
			log.Info("erased data was removed from the database's log", "file", l.path+"-wal")
		}
	}
}

// emptyLog moves the log into the database and cuts it to nothing, between two
// groups of writes. False: somebody reads what is only there. It does not wait for
// them, since everybody's writes would wait with it.
func (w *writer) emptyLog(ctx context.Context) (bool, error) {
	emptied := false
	err := w.ask(ctx, &request{ctx: ctx, log: func(c *sqliteConn) error {
		if err := c.BusyTimeout(0); err != nil {
			return err
		}
		defer c.BusyTimeout(sqliteBusy) //nolint:errcheck // it only sets a number
		_, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
		emptied = err == nil
		return err
	}})
	return emptied, err
}
