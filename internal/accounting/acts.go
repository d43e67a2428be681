package accounting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/idempotency"
	"claviger/internal/ledger"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// inJournal runs an act on the journal of a partner in its transaction.
func (s *Store) inJournal(
	ctx context.Context, tx *sqldb.Tx, partnerID int64, act func(*ledger.Journal, time.Time) error,
) error {
	lock := partner.Lock(tx, partnerID)
	opening := ledger.Queue(tx, partnerID, s.Defaults)
	counters, err := lock.One(ctx)
	if errors.Is(err, sqldb.ErrNone) {
		return partner.Unknown()
	}
	if err != nil {
		return fmt.Errorf("lock partner %d: %w", partnerID, err)
	}
	now := counters.Stamp(s.Now())
	counters.Save(tx)
	journal, err := opening.Open(ctx, now)
	if err != nil {
		return err
	}
	if err := act(journal, now); err != nil {
		return err
	}
	return journal.Save()
}

// AddTerms adds terms of a partner. Sales since they begin are divided by them; the job divides earlier
// ones that had none.
func (s *Store) AddTerms(
	ctx context.Context, by audit.Actor, partnerID int64, t ledger.Terms,
) (added ledger.Terms, err error) {
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		err := s.inJournal(ctx, tx, partnerID, func(j *ledger.Journal, now time.Time) error {
			if err := j.AddTerms(t); err != nil {
				return err
			}
			audit.Record(tx, now, by, "partner.terms", fmt.Sprintf("partner:%d", partnerID), nil, audit.Facts{
				"share": t.ShareBP, "plans": t.Plans, "fees": string(t.Bears), "payable_after": t.Days,
			})
			return nil
		})
		if err != nil {
			return err
		}
		added, err = ledger.NewestTerms(ctx, tx, partnerID)
		return err
	})
	if err != nil {
		return ledger.Terms{}, fmt.Errorf("add terms of a partner: %w", err)
	}
	return added, nil
}

// Adjustment is a change of a partner's balance by an admin. A positive amount is owed to the partner.
type Adjustment struct {
	PartnerID   int64
	Amount      int64
	Currency    string
	Reason      string
	Idempotency idempotency.Request
}

// adjusted is the outcome of an adjustment.
type adjusted struct{ Source string }

// Adjust posts an adjustment once. A repeat returns the first posting.
func (s *Store) Adjust(ctx context.Context, by audit.Actor, a Adjustment) (ledger.Posting, error) {
	var done adjusted
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		found, err := idempotency.Lookup(ctx, tx, a.Idempotency, &done)
		if err != nil || found {
			return err
		}
		done.Source = "adjustment:" + secret.UUID()
		err = s.inJournal(ctx, tx, a.PartnerID, func(j *ledger.Journal, now time.Time) error {
			if err := j.Adjust(done.Source, a.Amount, a.Currency, a.Reason); err != nil {
				return err
			}
			audit.Record(tx, now, by, "ledger.adjust", fmt.Sprintf("partner:%d", a.PartnerID), nil, audit.Facts{
				"amount": a.Amount, "currency": a.Currency, "source": done.Source,
			})
			return nil
		})
		if err != nil {
			return err
		}
		return idempotency.Store(tx, a.Idempotency, done, s.Now())
	})
	if err != nil {
		return ledger.Posting{}, fmt.Errorf("adjust a balance: %w", err)
	}
	return ledger.BySource(ctx, s.DB, ledger.Adjustment, done.Source)
}

// MoveFrom changes the moment from which sales count in the balances. The job settles the sales by it.
func (s *Store) MoveFrom(ctx context.Context, by audit.Actor, from time.Time) (ledger.Beginning, error) {
	now := s.Now()
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		was, changed, err := ledger.Move(ctx, tx, from, now)
		if err != nil || !changed {
			return err
		}
		audit.Record(tx, now, by, "ledger.from", "ledger", audit.Facts{"from": was.From}, audit.Facts{"from": from})
		return nil
	})
	if err != nil {
		return ledger.Beginning{}, fmt.Errorf("change from when sales count: %w", err)
	}
	return ledger.ReadBeginning(ctx, s.DB)
}
