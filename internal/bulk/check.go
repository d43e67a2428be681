package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"claviger/internal/batch"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// checkedAtOnce is the number of rows that Prepare checks: a person who selected few sees the
// effects immediately.
const checkedAtOnce = 100

// finding is the result of checking a row.
type finding struct {
	will, seen string
	skip       *fault.Error // why the act is impossible
}

// checkRows predicts the effect of a job on its next rows, and reports whether there are more. If
// checks have failed too often, the failing rows are skipped.
func (s *Store) checkRows(ctx context.Context, j Job) (more bool, err error) {
	rows, err := s.Rows(ctx, j.ID, j.Checked, Open, false, batchSize)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	found := make([]finding, len(rows))
	for i, row := range rows {
		if found[i], err = s.find(ctx, j, row); err == nil {
			continue
		}
		if tries := j.tries + 1; tries < batch.RowTries || batch.Away(ctx, err) {
			return false, fmt.Errorf("check row %d of bulk act %d: %w", row.Position, j.ID, err)
		}
		found[i] = s.unchecked(j, row, err)
	}
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error { return s.storeChecks(ctx, tx, j, rows, found) })
	if errors.Is(err, errMoved) {
		return true, nil
	}
	return j.Checked+int64(len(rows)) < j.Total, err
}

// unchecked skips a row with a repeatedly failing check.
func (s *Store) unchecked(j Job, row Row, err error) finding {
	if f := fault.Of(err); f != nil {
		return finding{skip: f}
	}
	id := batch.NewFailureID()
	cmp.Or(s.Log, slog.Default()).
		Error("a row of a bulk act could not be checked", "job", j.ID, "row", row.Position, "failure", id, "err", err)
	return finding{skip: givenUp(j.tries+1, id)}
}

// storeChecks stores the findings, unless another node has done so.
func (s *Store) storeChecks(ctx context.Context, tx *sqldb.Tx, j Job, rows []Row, found []finding) error {
	skipped := 0
	now := s.Now()
	for i, row := range rows {
		f := found[i]
		if f.skip == nil {
			tx.Queue(
				`UPDATE bulk_rows SET will = $3, seen = $4 WHERE job_id = $1 AND position = $2`,
				j.ID,
				row.Position,
				f.will,
				f.seen,
			)
			continue
		}
		skipped++
		tx.Queue(
			`UPDATE bulk_rows SET result = $3, code = $4, message = $5, done_at = $6 WHERE job_id = $1
				AND position = $2`,
			j.ID,
			row.Position,
			int(Skipped),
			f.skip.Code,
			f.skip.Text,
			now,
		)
	}
	n, err := tx.Exec(ctx, `UPDATE bulk_jobs SET checked = checked + $3, skipped = skipped + $4, updated_at = $5
		WHERE id = $1 AND checked = $2 AND started_at = 0
		AND finished_at = 0`, j.ID, j.Checked, len(rows), skipped, now)
	if err == nil && n == 0 {
		return errMoved
	}
	return err
}

// find predicts the effect of the act on a row.
func (s *Store) find(ctx context.Context, j Job, row Row) (f finding, err error) {
	switch {
	case j.Kind.ofLicenses():
		var list []license.Effect
		list, err = s.Licenses.Preview(func(dry *license.Store) error {
			return s.onLicenses(ctx, dry, j, row, func(*sqldb.Tx) error { return nil })
		})
		f.will = words(list)
		if err == nil {
			f.seen, err = versions(list)
		}
	case j.Kind == Events:
		err = s.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
			f.seen, err = s.seenEvent(ctx, tx, row)
			return err
		})
		f.will = "It is sent again, and after it the newest event of its license."
		if f.seen == accepted {
			f.will = "The partner has accepted it before. " + f.will
		}
	default:
		_, f.seen, err = seenPartner(ctx, s.DB, j, row)
		f.will = "Nothing of it is sold, redeemed or authorized any more, and its events wait."
		if j.Act == Resume {
			f.will = "It is sold, redeemed and authorized again, and the events that waited are sent."
		}
	}
	if refusal := fault.Of(err); refusal != nil && !again(refusal) {
		return finding{skip: refusal}, nil
	}
	return f, err
}

// again reports whether a failed act may succeed later.
func again(f *fault.Error) bool { return f.Kind == fault.Busy || f.Kind == fault.Throttled }

// words describes the effect of an act on the licenses of one row.
func words(list []license.Effect) string {
	var order []string
	count := map[string]int{}
	for _, e := range list {
		was := state(e.Before)
		is := state(e.After)
		say := fmt.Sprintf("becomes %s; the partner is told, with the reason %s", is, e.Reason)
		if e.Event == 0 {
			say = fmt.Sprintf("stays %s; the partner is not told", was)
		}
		if count[say]++; count[say] == 1 {
			order = append(order, say)
		}
	}
	if len(list) == 1 {
		return "The license " + order[0] + "."
	}
	for i, say := range order {
		order[i] = "A license " + say + "."
		if count[say] > 1 {
			order[i] = fmt.Sprintf("Each of %d licenses %s.", count[say], say)
		}
	}
	slices.Sort(order)
	return strings.Join(order, " ")
}

func state(l license.License) string { return fmt.Sprintf("%s, tier %d", l.Status, l.Tier) }

// versions returns the checked versions of a row's licenses.
func versions(list []license.Effect) (string, error) {
	seen := make(map[string]string, len(list))
	for _, e := range list {
		seen[e.Before.Key] = e.Version
	}
	text, err := json.Marshal(seen)
	return string(text), err
}

// unchanged returns a registry that refuses licenses that have changed since the check of the row.
func (s *Store) unchanged(row Row) (*license.Store, error) {
	if row.seen == "" {
		return s.Licenses, nil
	}
	var seen map[string]string
	if err := json.Unmarshal([]byte(row.seen), &seen); err != nil {
		return nil, fmt.Errorf("read what was checked of row %d: %w", row.Position, err)
	}
	return s.Licenses.IfUnchanged(seen), nil
}
