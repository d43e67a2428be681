package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Bounds of the write-ahead log, in pages. A long log saves work: a page that changes often is moved
// into the database once. On a small disk it may not use the space that the database needs.
const (
	logMost  = 16000 // 64 MB
	logLeast = 256   // 1 MB
	logShare = 8     // the log gets one part in so many of the free space
	logPage  = 4096  // bytes of a page, and nearly of a frame of the log
)

// logWait is the longest wait for readers before the log begins again. Writes wait too.
const logWait = 100 * time.Millisecond

// logBound keeps the log short. It belongs to the writer's goroutine.
type logBound struct {
	disk   func() (Disk, bool)
	log    *slog.Logger
	path   string
	pages  int // of the log, after the last commit
	limit  int // from here on the log is moved into the database
	next   int // the next try; above limit if a reader prevented the last one
	warned bool
}

// logLimit returns the limit for a disk with so many free bytes beside the log.
func logLimit(free int64) int {
	return int(min(max(free/logShare/logPage, logLeast), logMost))
}

// begin takes over from SQLite's own bound, which does not wait for readers.
func (b *logBound) begin(c *sqliteConn) error {
	c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		b.pages = pages
		return nil
	})
	return b.measure(c)
}

// measure sets the limit by the free space. The file shrinks to it when the log begins again.
func (b *logBound) measure(c *sqliteConn) error {
	limit := logMost
	if d, known := b.disk(); known {
		limit = logLimit(d.Free + int64(b.pages)*logPage)
	}
	b.next = limit
	if limit == b.limit {
		return nil
	}
	b.limit = limit
	return c.Exec(fmt.Sprintf("PRAGMA journal_size_limit = %d", limit*logPage))
}

// keep moves the log into the database once it is long, after a commit was acknowledged. Then the log
// begins again, unless a reader still uses it: that is tried again when it has grown by a quarter.
func (b *logBound) keep(c *sqliteConn) {
	if b.pages < b.next {
		return
	}
	err := c.BusyTimeout(logWait)
	if err == nil {
		_, _, err = c.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART)
	}
	err = errors.Join(err, c.BusyTimeout(sqliteBusy))
	if err == nil {
		b.pages = 0
		err = b.measure(c)
	}
	if err == nil {
		b.warned = false
		return
	}
	b.next = b.pages + b.limit/4
	if b.pages > 2*b.limit && !b.warned {
		b.warned = true
		b.log.Warn("the database's log grows, because a reader uses an older state; it is emptied when that ends",
			"file", b.path+"-wal", "pages", b.pages, "limit", b.limit, "err", err)
	}
}

// leastFree is the free space below which a full disk is still full: rewriting the log may succeed
// where a sale does not.
const leastFree = 1 << 20

// well returns the reason if the database cannot be used: its file was moved, or the disk refused the
// last write and still does.
func (l *sqlite) well(ctx context.Context) error {
	if err := l.moved(); err != nil {
		return err
	}
	failure := l.writer.refused.Load()
	if failure == nil {
		return nil
	}
	if d, known := l.disk(); known && d.Free < leastFree {
		return *failure
	}
	err := l.write(ctx, func(tx *Tx) error {
		tx.Queue(`UPDATE sequences SET last = last`)
		return nil
	})
	if err == nil {
		l.writer.refused.CompareAndSwap(failure, nil)
	}
	return err
}

// noteRefused remembers that the disk refused a write.
func (w *writer) noteRefused(err error) {
	for _, code := range []sqlite3.ErrorCode{sqlite3.FULL, sqlite3.IOERR, sqlite3.READONLY, sqlite3.CANTOPEN} {
		if errors.Is(err, code) {
			w.refused.Store(&err)
			return
		}
	}
}

func (p *postgres) well(context.Context) error { return nil }
