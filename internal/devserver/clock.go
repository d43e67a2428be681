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

// timePath is the path to read and move the time.
const timePath = controlPath + "/time"

// clockRow is the row of dev_seeds with the clock's offset: stored data has its times, so the next
// start continues from there.
const clockRow = 4

// maxAhead is the maximum offset of the clock: SQLite stores nanoseconds, which end in the year
// 2262.
const maxAhead = 50 * 365 * 24 * time.Hour

// clock is the time of the service: the system clock plus an offset that only grows.
type clock struct {
	db    *sqldb.DB
	log   *slog.Logger
	ahead atomic.Int64 // nanoseconds
}

// newClock returns the clock with the offset stored in this database.
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

// Now returns the time of the service.
func (c *clock) Now() time.Time { return app.Now().Add(c.Ahead()) }

// Ahead returns the offset.
func (c *clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) }

// move sets the clock forward.
func (c *clock) move(ctx context.Context, by time.Duration) error {
	if by <= 0 {
		return fault.New(fault.Unprocessable, codeTimeMovesForward, "Time moves forward only: give a span such as "+
			"90s, 1h or 2d.").
			On("by")
	}
	err := c.db.Write(ctx, func(tx *sqldb.Tx) error {
		text, err := sqldb.One(ctx, tx, sqldb.Value[string], `SELECT seed FROM dev_seeds WHERE id = $1`, clockRow)
		if err != nil && !errors.Is(err, sqldb.ErrNone) {
			return err
		}
		ahead, _ := strconv.ParseInt(text, 10, 64) // "" is 0
		if by > maxAhead-time.Duration(ahead) {
			return fault.New(fault.Unprocessable, codeTimeTooFar, "The clock can be at most 50 years ahead. Start "+
				"again on a fresh database.").
				On("by")
		}
		ahead += int64(by)
		tx.Queue(
			`INSERT INTO dev_seeds (id, seed) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seed = excluded.seed`,
			clockRow,
			strconv.FormatInt(ahead, 10),
		)
		tx.AfterCommit(func() { c.advance(ahead) })
		return nil
	})
	if err != nil {
		return fmt.Errorf("move the clock: %w", err)
	}
	c.log.Info(fmt.Sprintf("time moved by %s, %s ahead of this machine", by, c.Ahead()))
	return nil
}

// advance never moves the clock back, in whichever order two moves end.
func (c *clock) advance(to int64) {
	for {
		was := c.ahead.Load()
		if to <= was || c.ahead.CompareAndSwap(was, to) {
			return
		}
	}
}

// parseSpan parses the offset to move the clock: a duration, also in days.
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

// timeAnswer is the time for programs, such as claviger dev time.
type timeAnswer struct {
	Now   time.Time `json:"now"`
	Ahead string    `json:"ahead"`
}

// showClock answers the time.
func (c *clock) showClock(w http.ResponseWriter, _ *http.Request) error {
	return wire.JSON(w, http.StatusOK, timeAnswer{c.Now(), c.Ahead().String()})
}

// set moves the time. Programs get the time as the answer, people the control page.
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
		return c.showClock(w, r)
	}
	ui.SeeOther(w, r, controlPath+"/?done=time")
	return nil
}

func (c *clock) routes(pages *ui.Pages) []wire.Route {
	return []wire.Route{wire.Public(http.MethodGet, timePath, c.showClock), formRoute(pages, timePath, c.set)}
}
