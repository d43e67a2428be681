package sqldb

import (
	"context"
	"log/slog"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Purge removes the data that the transaction deletes or overwrites from the database's files after
// the commit. It is for personal data that must be erased. On SQLite the pages are overwritten
// (secure_delete), and the log, which has the old pages, is emptied. If a reader prevents that, it
// is retried until it succeeds, or at the next start if this process ends first. PostgreSQL keeps
// deleted rows until it vacuums.
func (tx *Tx) Purge() { tx.AfterCommit(tx.engine.purge) }

func (p *postgres) purge() {}

// purge empties the log now, or leaves that to purger.
func (l *sqlite) purge() {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if emptied, err := l.writer.emptyLog(ctx); emptied && err == nil {
		return
	}
	l.erased.Store(true)
	select {
	case l.unpurged <- struct{}{}:
	default: // purger is already running
	}
}

// Delays of purger: a snapshot lasts milliseconds, unless another program or a backup reads.
const (
	purgeFirst = 10 * time.Millisecond
	purgeTell  = 32 * purgeFirst // warn the operator
	purgeLast  = 512 * purgeFirst
)

// purger empties the log after readers prevented it. It stops when the database is closed, which
// empties the log too.
//
// It warns only of data that this process erased. A log from before it, as beside the service that a
// backup reads, hardly ever has some.
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
			if wait >= purgeTell && !told && l.erased.Load() && ctx.Err() == nil {
				told = true
				log.Warn(
					"erased data is still in the database's log, because a reader uses an older state of it; the "+
						"log is emptied when that ends",
					"file",
					l.path+"-wal",
					"err",
					err,
				)
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		l.erased.Store(false)
		if told {
			log.Info("erased data was removed from the database's log", "file", l.path+"-wal")
		}
	}
}

// emptyLog moves the log into the database and truncates it, between two groups of writes. False
// means that a reader still needs the log. It does not wait for readers, because all writes would
// wait with it.
func (w *writer) emptyLog(ctx context.Context) (bool, error) {
	emptied := false
	err := w.ask(ctx, &request{ctx: ctx, log: func(c *sqliteConn) error {
		if err := c.BusyTimeout(0); err != nil {
			return err
		}
		defer c.BusyTimeout(sqliteBusy) //nolint:errcheck // only sets a number
		_, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
		emptied = err == nil
		return err
	}})
	return emptied, err
}
