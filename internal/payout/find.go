package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

func unknownRun() error {
	return fault.New(
		fault.Missing, codeUnknownRun, "There is no payout run with this id. GET /operator/v1/payouts lists them.",
	)
}

// Run returns a run.
func (s *Store) Run(ctx context.Context, id int64) (Run, error) {
	run, err := sqldb.One(ctx, s.DB, scanRun, `SELECT `+runColumns+` FROM payout_runs WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return Run{}, unknownRun()
	}
	if err != nil {
		return Run{}, fmt.Errorf("read a payout run: %w", err)
	}
	return run, nil
}

// Runs returns a page of runs, newest first, before an id; 0 starts with the newest.
func (s *Store) Runs(ctx context.Context, before int64, limit int) (list []Run, next int64, err error) {
	list, err = sqldb.All(ctx, s.DB, scanRun, `SELECT `+runColumns+` FROM payout_runs
		WHERE id < $1 OR $1 = 0 ORDER BY id DESC LIMIT $2`, before, limit+1)
	if err != nil {
		return nil, 0, fmt.Errorf("list payout runs: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return list, next, nil
}

// Lines returns a page of the lines of a run by partner, after a partner; 0 starts with the first.
func (s *Store) Lines(ctx context.Context, runID, after int64, limit int) (list []Line, next int64, err error) {
	list, err = sqldb.All(ctx, s.DB, scanLine, `SELECT `+lineColumns+` FROM payout_lines
		WHERE run_id = $1 AND partner_id > $2 ORDER BY partner_id LIMIT $3`, runID, after, limit+1)
	if err != nil {
		return nil, 0, fmt.Errorf("list the lines of a payout run: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].PartnerID
	}
	return list, next, nil
}

// OfPartner returns the latest payouts of a partner, newest first.
func (s *Store) OfPartner(ctx context.Context, partnerID int64, limit int) ([]Line, error) {
	list, err := sqldb.All(ctx, s.DB, scanLine, `SELECT `+lineColumns+` FROM payout_lines
		WHERE partner_id = $1 ORDER BY run_id DESC LIMIT $2`, partnerID, limit)
	if err != nil {
		return nil, fmt.Errorf("list the payouts of partner %d: %w", partnerID, err)
	}
	return list, nil
}

// Transfer is a line of the file for the bank.
type Transfer struct {
	Line
	Partner string // its name
	Details string
}

// Transfers returns a page of the transfers of a run that the bank does not have: those that were not sent,
// or that it refused. A file with sent ones, given to the bank again, would pay a partner twice. A page may
// have fewer than limit, also none.
func (s *Store) Transfers(
	ctx context.Context, runID, after int64, limit int,
) (list []Transfer, next int64, err error) {
	lines, next, err := s.Lines(ctx, runID, after, limit)
	if err != nil {
		return nil, 0, err
	}
	lines = slices.DeleteFunc(lines, func(l Line) bool { return !l.May(Sent) })
	var details, partners []int64
	for _, l := range lines {
		details = append(details, l.DetailsID)
		partners = append(partners, l.PartnerID)
	}
	texts, err := s.textsOf(ctx, s.DB, details)
	if err != nil {
		return nil, 0, err
	}
	names, err := partner.ByID(ctx, s.DB, partners)
	for _, l := range lines {
		list = append(list, Transfer{Line: l, Partner: names[l.PartnerID].Name, Details: texts[l.DetailsID]})
	}
	return list, next, err
}
