package payout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Order asks for a run.
type Order struct {
	Currency    string
	Partners    []int64 // nil: all
	Idempotency idempotency.Request
}

// ordered is the outcome of an order.
type ordered struct{ RunID int64 }

// Prepare makes a run: it reserves the payable balances in a currency, all in one transaction. A repeat
// returns the first run.
func (s *Store) Prepare(ctx context.Context, by audit.Actor, o Order) (Run, error) {
	if !money.Known(o.Currency) {
		return Run{}, fault.Field(
			"currency", "must be a currency of ISO 4217, such as EUR; there is no %s.", o.Currency,
		)
	}
	var made ordered
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		found, err := idempotency.Lookup(ctx, tx, o.Idempotency, &made)
		if err != nil || found {
			return err
		}
		if made.RunID, err = s.prepare(ctx, tx, by, o); err != nil {
			return err
		}
		return idempotency.Store(tx, o.Idempotency, made, s.Now())
	})
	if err != nil {
		return Run{}, fmt.Errorf("prepare a payout run: %w", err)
	}
	return s.Run(ctx, made.RunID)
}

func (s *Store) prepare(ctx context.Context, tx *sqldb.Tx, by audit.Actor, o Order) (int64, error) {
	if err := ledger.Freeze(ctx, tx, s.Now()); err != nil {
		return 0, err
	}
	if err := s.upToDate(ctx, tx); err != nil {
		return 0, err
	}
	p, err := s.lock(ctx, tx, o)
	if err != nil {
		return 0, err
	}
	run := p.run(o)
	if run.ID, err = run.insert(ctx, tx); err != nil {
		return 0, err
	}
	if run.Lines == 0 { // after the insert, which says that another run has the money
		return 0, nothingDue(run)
	}
	if err := p.reserve(tx, run); err != nil {
		return 0, err
	}
	audit.Record(tx, p.now, by, "payout.prepare", subject(run.ID), nil, audit.Facts{
		"currency": run.Currency, "amount": run.Amount, "lines": run.Lines,
	})
	return run.ID, nil
}

// upToDate refuses a run before the ledger has all sales and refunds.
func (s *Store) upToDate(ctx context.Context, tx *sqldb.Tx) error {
	current, err := s.Books.CaughtUp(ctx, tx)
	if err == nil && !current {
		err = fault.New(fault.Conflict, codeLedgerBehind, "The ledger does not have all sales and refunds yet. "+
			"Wait until every node has the new version and the job \"ledger\" has caught up, then try again.")
	}
	return err
}

// preparation is a run under way, with the locks of its partners.
type preparation struct {
	now      time.Time
	due      []Due
	counters map[int64]partner.Counters
}

// lock locks the partners with a payable balance in the order of their ids, and reads what is due.
func (s *Store) lock(ctx context.Context, tx *sqldb.Tx, o Order) (*preparation, error) {
	balances, err := ledger.PayableBalances(ctx, tx, o.Currency)
	if err != nil {
		return nil, err
	}
	p := &preparation{now: s.Now(), counters: map[int64]partner.Counters{}}
	partners := make([]int64, len(balances))
	for i, b := range balances {
		partners[i] = b.PartnerID
	}
	if err := p.lock(ctx, tx, partners); err != nil {
		return nil, err
	}
	// A balance may have changed before the lock.
	if balances, err = ledger.PayableBalances(ctx, tx, o.Currency); err != nil {
		return nil, err
	}
	balances = slices.DeleteFunc(balances, func(d ledger.Due) bool {
		return !slices.Contains(partners, d.PartnerID)
	})
	if p.due, err = s.due(ctx, tx, balances, p.now); err != nil {
		return nil, err
	}
	for i, d := range p.due {
		if o.Partners != nil && !slices.Contains(o.Partners, d.PartnerID) {
			p.due[i].Reason = NotChosen
		}
	}
	return p, nil
}

// lock locks partners. A removed one has no row and needs no lock.
func (p *preparation) lock(ctx context.Context, tx *sqldb.Tx, partners []int64) error {
	locks := make([]*sqldb.Result[partner.Counters], len(partners))
	for i, id := range partners {
		locks[i] = partner.Lock(tx, id)
	}
	for i, l := range locks {
		counters, err := l.One(ctx)
		if errors.Is(err, sqldb.ErrNone) {
			continue
		}
		if err != nil {
			return fmt.Errorf("lock partner %d: %w", partners[i], err)
		}
		p.counters[partners[i]] = counters
	}
	return nil
}

// run adds up the lines of a run.
func (p *preparation) run(o Order) Run {
	run := Run{Currency: o.Currency, State: Prepared, LeftOut: []LeftOut{}, CreatedAt: p.now}
	for _, d := range p.due {
		if d.Reason != "" {
			run.LeftOut = append(run.LeftOut, LeftOut{d.PartnerID, d.Amount, d.Reason})
			continue
		}
		run.Lines++
		run.Amount += d.Amount
	}
	return run
}

// nothingDue refuses a run without lines.
func nothingDue(run Run) error {
	if len(run.LeftOut) == 0 {
		return fault.New(fault.Conflict, codeNothingDue, "No partner has a payable balance in %s.", run.Currency)
	}
	first := run.LeftOut[0]
	return fault.New(fault.Conflict, codeNothingDue,
		"No partner can be paid in %s now: %d would be left out. The first is partner %d: %s",
		run.Currency, len(run.LeftOut), first.PartnerID, first.Reason.Text())
}

// insert stores a run. It refuses one while another one of the currency is prepared, and waits for one that
// another node prepares now.
func (run Run) insert(ctx context.Context, tx *sqldb.Tx) (int64, error) {
	left, err := json.Marshal(run.LeftOut)
	if err != nil {
		return 0, err
	}
	id, err := sqldb.One(ctx, tx, sqldb.Value[int64], `INSERT INTO payout_runs
		(currency, state, lines, amount, left_out, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)
		ON CONFLICT DO NOTHING RETURNING id`,
		run.Currency, string(run.State), run.Lines, run.Amount, string(left), run.CreatedAt)
	if errors.Is(err, sqldb.ErrNone) {
		return 0, fault.New(fault.Conflict, codeRunPrepared,
			"A run in %s is prepared, and is not sent yet. Send it to the bank, or release its lines, before the "+
				"next one.", run.Currency)
	}
	if err != nil {
		return 0, fmt.Errorf("store a payout run: %w", err)
	}
	return id, nil
}

// reserve stores the lines of a run and posts them.
func (p *preparation) reserve(tx *sqldb.Tx, run Run) error {
	var rows [][]any
	for _, d := range p.due {
		if d.Reason != "" {
			continue
		}
		reference := fmt.Sprintf("PAYOUT-%d-%d", run.ID, d.PartnerID)
		rows = append(rows, []any{
			run.ID, d.PartnerID, d.Currency, d.Amount, string(Reserved), reference, d.DetailsID, "", "", p.now, p.now,
		})
		err := p.post(tx, d.PartnerID, func(j *ledger.Journal) error {
			return j.Reserve(reference, d.Amount, d.Currency)
		})
		if err != nil {
			return err
		}
	}
	tx.Insert("payout_lines", []string{
		"run_id", "partner_id", "currency", "amount", "state", "reference", "details_id", "bank_reference", "reason",
		"created_at", "updated_at",
	}, rows)
	return nil
}

// post posts in the journal of a locked partner.
func (p *preparation) post(tx *sqldb.Tx, partnerID int64, act func(*ledger.Journal) error) error {
	at := p.now
	if counters, ok := p.counters[partnerID]; ok {
		at = counters.Stamp(p.now)
		counters.Save(tx)
	}
	journal := ledger.New(tx, partnerID, at)
	if err := act(journal); err != nil {
		return err
	}
	return journal.Save()
}

func subject(runID int64) string { return fmt.Sprintf("payout:%d", runID) }
