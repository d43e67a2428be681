package accounting

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"claviger/internal/job"
	"claviger/internal/ledger"
	"claviger/internal/plural"
	"claviger/internal/sqldb"
)

// CheckEvery is the time between two checks of the ledger.
const CheckEvery = 24 * time.Hour

// Times of the check.
const (
	lookEvery  = time.Minute // between two looks whether a check is due
	retryAfter = time.Hour   // after a check that failed or found mistakes
)

// maxLogged is the maximum number of mistakes of a partner that are logged.
const maxLogged = 100

// Check checks the ledger of every partner once a day. A mistake is an error of the run, so operators
// see it among the jobs that failed. Its last run decides when the next one is due, so a restart does not
// repeat it.
type Check struct {
	DB   *sqldb.DB
	Now  func() time.Time
	Name string // of the job
	Ran  job.Ran
	Log  *slog.Logger
}

// Run checks the ledger until ctx ends.
func (c *Check) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		c.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Look checks the ledger if a check is due.
func (c *Check) Look(ctx context.Context) {
	last, err := job.Last(ctx, c.DB, c.Name)
	if err != nil {
		if ctx.Err() == nil {
			c.Log.Error("the check of the ledger could not start", "err", err)
		}
		return
	}
	if !due(last, c.Now()) {
		return
	}
	began := time.Now()
	c.Ran.Run(ctx, began, c.once(ctx))
}

// due reports whether the next check is due. A last one in the future means that the clock was set back.
func due(last job.Run, now time.Time) bool {
	wait := CheckEvery
	if last.Failed() {
		wait = retryAfter
	}
	age := now.Sub(last.BeganAt)
	return age < 0 || age >= wait
}

// once checks all partners. A partner that cannot be checked does not stop the check of the others.
func (c *Check) once(ctx context.Context) error {
	partners, err := ledger.Partners(ctx, c.DB)
	if err != nil {
		return err
	}
	var wrong []string
	for _, id := range partners {
		found, err := c.partner(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
			c.Log.Error("the ledger of a partner could not be checked", "partner", id, "err", err)
			wrong = append(wrong, fmt.Sprintf("partner %d could not be checked: %v", id, err))
		case len(found) > 0:
			c.report(id, found)
			wrong = append(wrong, fmt.Sprintf("partner %d: %s", id, found[0]))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	// Only the first 500 characters are stored, so the number comes first.
	return fmt.Errorf("the check of %s failed, and the log has each mistake; %s",
		plural.Of(len(wrong), "partner"), strings.Join(wrong, "; "))
}

// partner returns the mistakes in the ledger of a partner, in one snapshot: sales continue meanwhile.
func (c *Check) partner(ctx context.Context, id int64) (found []string, err error) {
	err = c.DB.Read(sqldb.InJob(ctx), func(tx *sqldb.Tx) error {
		found, err = ledger.Check(ctx, tx, id)
		return err
	})
	return found, err
}

// report logs the mistakes in the ledger of a partner.
func (c *Check) report(id int64, found []string) {
	for _, text := range found[:min(len(found), maxLogged)] {
		c.Log.Error("the ledger has a mistake", "partner", id, "mistake", text)
	}
	if more := len(found) - maxLogged; more > 0 {
		c.Log.Error("the ledger has more mistakes than are logged", "partner", id, "more", more)
	}
}
