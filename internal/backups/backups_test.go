package backups_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/backups"
	"claviger/internal/sqldb/sqldbtest"
)

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// TestReport: the newest backup counts. A report that cannot be true is refused, and changes nothing.
func TestReport(t *testing.T) {
	db := sqldbtest.Open(t)
	want := func(last time.Time) {
		t.Helper()
		if got, err := backups.Last(t.Context(), db); !got.Equal(last) || err != nil {
			t.Errorf("the last backup is of %v, not %v; %v", got, last, err)
		}
	}
	want(time.Time{})
	for _, step := range []struct {
		name   string
		report func() error
		says   string
		last   time.Time
	}{
		{"a report", func() error { return backups.Report(t.Context(), db, noon, noon) }, "", noon},
		{"the same again", func() error { return backups.Report(t.Context(), db, noon, noon) }, "", noon},
		{"of the future", func() error {
			return backups.Report(t.Context(), db, noon.Add(time.Second), noon)
		}, "a backup of 2026-11-16T12:00:01Z would be in the future; give the time", noon},
		{"an older one", func() error {
			return backups.Report(t.Context(), db, noon.Add(-time.Hour), noon)
		}, "a backup of 2026-11-16T12:00:00Z is known, and the one of 2026-11-16T11:00:00Z is older; report", noon},
		{"an older one of ours", func() error {
			return backups.Record(t.Context(), db, noon.Add(-time.Hour), noon)
		}, "", noon},
		{"a newer one of ours", func() error {
			return backups.Record(t.Context(), db, noon.Add(time.Hour), noon.Add(time.Hour))
		}, "", noon.Add(time.Hour)},
		{"ours, when the clock is right again", func() error {
			return backups.Record(t.Context(), db, noon.Add(-time.Minute), noon)
		}, "", noon.Add(-time.Minute)},
	} {
		err := step.report()
		if step.says == "" && err != nil || step.says != "" && (err == nil || !strings.HasPrefix(err.Error(), step.says)) {
			t.Errorf("%s: %v", step.name, err)
		}
		want(step.last)
	}
}
