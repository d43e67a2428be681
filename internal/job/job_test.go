package job_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"claviger/internal/job"
	"claviger/internal/sqldb/sqldbtest"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func newLog(t *testing.T) (*job.Log, *clock) {
	t.Helper()
	c := &clock{time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)}
	return &job.Log{DB: sqldbtest.Open(t), Now: func() time.Time { return c.now }, Node: "one", Log: slog.New(slog.DiscardHandler)}, c
}

// only returns the one run on record.
func only(t *testing.T, l *job.Log) job.Run {
	t.Helper()
	runs, err := job.Runs(t.Context(), l.DB)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v, %v", runs, err)
	}
	return runs[0]
}

// TestRunIsRecorded follows a job from success through failures back to success.
func TestRunIsRecorded(t *testing.T) {
	t.Parallel()
	l, c := newLog(t)
	ran := l.Of("mail", 15*time.Second)
	began := c.now
	ran(t.Context(), time.Second, nil)
	r := only(t, l)
	if r.Job != "mail" || r.Node != "one" || r.Failed() || r.Error != "" || !r.SucceededAt.Equal(began) ||
		!r.BeganAt.Equal(began.Add(-time.Second)) || r.Took != time.Second || !r.NextAt.Equal(began.Add(15*time.Second)) {
		t.Errorf("a success is %+v", r)
	}
	c.now = c.now.Add(15 * time.Second)
	failed := c.now
	ran(t.Context(), time.Second, errors.New("no route\x00 to the server"))
	c.now = c.now.Add(2 * time.Minute)
	ran(t.Context(), time.Second, errors.New("no route\x00 to the server"))
	r = only(t, l)
	if !r.Failed() || r.Error != "no route to the server" || !r.FailedSince.Equal(failed) || !r.SucceededAt.Equal(began) {
		t.Errorf("the second failure is %+v", r)
	}
	ran(t.Context(), 0, nil)
	if r = only(t, l); r.Failed() || r.Error != "" || !r.SucceededAt.Equal(c.now) {
		t.Errorf("after it was mended: %+v", r)
	}
}

// TestSameOutcomeIsRarelyWritten: a job that looks for work five times a second writes less often.
func TestSameOutcomeIsRarelyWritten(t *testing.T) {
	t.Parallel()
	l, c := newLog(t)
	ran := l.Of("redeliveries", time.Second)
	before, _ := l.DB.Counts()
	for range 3 * 60 * 5 {
		ran(t.Context(), 0, nil)
		c.now = c.now.Add(time.Second / 5)
	}
	if after, _ := l.DB.Counts(); after-before != 3 {
		t.Errorf("%d writes in three minutes, not one a minute", after-before)
	}
}

// TestRunThatWasCutShort: a stopping node records nothing about its jobs.
func TestRunThatWasCutShort(t *testing.T) {
	t.Parallel()
	l, _ := newLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Of("mail", time.Second).Run(ctx, time.Now(), context.Canceled)
	job.Ran(nil).Run(t.Context(), time.Now(), nil)
	if runs, err := job.Runs(t.Context(), l.DB); len(runs) > 0 || err != nil {
		t.Errorf("%v, %v", runs, err)
	}
}

// TestLast reads the last run of one job.
func TestLast(t *testing.T) {
	t.Parallel()
	l, c := newLog(t)
	l.Of("mail", time.Hour)(t.Context(), time.Second, nil)
	if r, err := job.Last(t.Context(), l.DB, "check"); err != nil || r.Job != "" || !r.BeganAt.IsZero() {
		t.Errorf("before its first run: %+v, %v", r, err)
	}
	r, err := job.Last(t.Context(), l.DB, "mail")
	if err != nil || r.Job != "mail" || !r.SucceededAt.Equal(c.now) || !r.NextAt.Equal(c.now.Add(time.Hour)) {
		t.Errorf("after it: %+v, %v", r, err)
	}
	if err := l.DB.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Last(t.Context(), l.DB, "mail"); err == nil {
		t.Error("a closed database was read")
	}
}

// TestTroubled finds failed and overdue jobs, and no others.
func TestTroubled(t *testing.T) {
	t.Parallel()
	l, c := newLog(t)
	l.Of("once", 0)(t.Context(), 0, nil)
	l.Of("well", time.Hour)(t.Context(), 0, nil)
	l.Of("fails", time.Hour)(t.Context(), 0, errors.New(strings.Repeat("é", 1000)))
	l.Of("stands still", time.Minute)(t.Context(), 0, nil)
	runs, err := job.Runs(t.Context(), l.DB)
	if err != nil {
		t.Fatal(err)
	}
	names := func(now time.Time) (list []string) {
		for _, r := range job.Troubled(runs, now) {
			list = append(list, r.Job)
			if n := len([]rune(r.Error)); n > 501 {
				t.Errorf("an error of %d characters", n)
			}
		}
		return list
	}
	if got := strings.Join(names(c.now.Add(6*time.Minute)), ", "); got != "fails" {
		t.Errorf("when none is late: %s", got)
	}
	if got := strings.Join(names(c.now.Add(6*time.Minute+time.Second)), ", "); got != "fails, stands still" {
		t.Errorf("when one is late: %s", got)
	}
}
