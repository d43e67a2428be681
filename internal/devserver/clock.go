package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"claviger/internal/app"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// timePath is where the time is read and moved.
const timePath = controlPath + "/time"

// clockRow is the row of dev_seeds that holds how far the clock is ahead: what is stored has
// its times, so the next start goes on from there.
const clockRow = 4

// maxAhead is how far the clock can be moved in all: SQLite stores nanoseconds, which end in
// the year 2262.
const maxAhead = 50 * 365 * 24 * time.Hour

// clock is the time of the service: the machine's, and a span ahead that only grows.
type clock struct {
	db    *sqldb.DB
	log   *slog.Logger
	ahead atomic.Int64 // nanoseconds
}

// newClock is the clock as it was moved on this database.
func newClock(ctx context.Context, db *sqldb.DB, log *slog.Logger) (*clock, error) {
	c := &clock{db: db, log: log}
	text, err := sqldb.One(ctx, db, sqldb.Value[string], `SELECT seed FROM dev_seeds WHERE id = $1`, clockRow)
	if errors.Is(err, sqldb.ErrNone) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the clock was moved: %w", err)
	}
	ahead, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read how far the clock was moved: %w", err)
	}
	c.ahead.Store(ahead)
	return c, nil
}

// Now is the time of the service.
func (c *clock) Now() time.Time { return app.Now().Add(c.Ahead()) }

// Ahead is how far it was moved.
func (c *clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// move sets the clock forward.
func (c *clock) move(ctx context.Context, by time.Duration) error {
	if by <= 0 {
		return fault.New(fault.Unprocessable, codeTimeMovesForward, "Time moves forward only: give a span such as 90s, 1h or 2d.").On("by")
	}
	err := c.db.Write(ctx, func(tx *sqldb.Tx) error {
		text, err := sqldb.One(ctx, tx, sqldb.Value[string], `SELECT seed FROM dev_seeds WHERE id = $1`, clockRow)
		if err != nil && !errors.Is(err, sqldb.ErrNone) {
			return err
		}
		ahead, _ := strconv.ParseInt(text, 10, 64) // "" is 0
		if by > maxAhead-time.Duration(ahead) {
			return fault.New(fault.Unprocessable, codeTimeTooFar, "The clock can be at most 50 years ahead. Start again on a fresh database.").On("by")
		}
		ahead += int64(by)
		tx.Queue(`INSERT INTO dev_seeds (id, seed) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seed = excluded.seed`, clockRow, strconv.FormatInt(ahead, 10))
		tx.AfterCommit(func() { c.advance(ahead) })
		return nil
	})
	if err != nil {
		return fmt.Errorf("move the clock: %w", err)
	}
	c.log.Info(fmt.Sprintf("time moved by %s, %s ahead of this machine", by, c.Ahead()))
	return nil
}

// advance never takes the clock back, in whatever order two moves end.
func (c *clock) advance(to int64) {
	for {
		was := c.ahead.Load()
		if to <= was || c.ahead.CompareAndSwap(was, to) {
			return
		}
	}
}

// parseSpan reads how far to move the clock: a duration, with days too.
func parseSpan(text string) (time.Duration, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "+")
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 14); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fault.Parameter("by", "must be a span such as 90s, 1h or 2d.")
	}
	return d, nil
}

// timeAnswer is the time as programs read it; claviger dev time does.
type timeAnswer struct {
	Now   time.Time `json:"now"`
	Ahead string    `json:"ahead"`
}

// read answers the time.
func (c *clock) read(w http.ResponseWriter, _ *http.Request) error {
	return wire.JSON(w, http.StatusOK, timeAnswer{c.Now(), c.Ahead().String()})
}

// set moves the time as a form says. A program is answered the time, a person sees the
// control page.
func (c *clock) set(w http.ResponseWriter, r *http.Request) error {
	by, err := parseSpan(r.PostForm.Get("by"))
	if err == nil {
		err = c.move(r.Context(), by)
	}
	program := strings.Contains(r.Header.Get("Accept"), "application/json")
	switch {
	case err != nil && program:
		wire.Fail(w, r, err)
		return nil
	case err != nil:
		return err
	case program:
		return c.read(w, r)
	}
	ui.SeeOther(w, r, controlPath+"/?done=time")
	return nil
}

func (c *clock) routes(pages *ui.Pages) []wire.Route {
	return []wire.Route{wire.Public(http.MethodGet, timePath, c.read), formRoute(pages, timePath, c.set)}
}
