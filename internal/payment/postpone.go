package payment

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// NotAnswered is a refund or dispute that is no longer polled, because the provider gave no answer
// for too long.
const NotAnswered ProblemKind = "not_answered"

// maxTries is the number of failed polls in a row before a person is told. At the longest pause
// between two polls it corresponds to giveUpAge.
const maxTries = int(giveUpAge / maxPause)

// question is a row that the provider is polled about until it ends.
type question struct {
	postpone  string // the statement that schedules row $1 for $2
	row       any
	createdAt time.Time
	tries     int // failed polls in a row

	// Facts for the problem that reports a missing answer. Without the provider's id, polling never
	// gives up.
	objectID   string
	checkoutID int64
	amount     int64
	currency   string
}

func (f *Refund) question() question {
	return question{
		postpone: `UPDATE payment_refunds SET tries = tries + 1, next_at = $2 WHERE id = $1
			AND next_at <> 0`, row: f.ID, createdAt: f.CreatedAt, tries: f.Tries,
		objectID: f.ProviderID, checkoutID: f.CheckoutID, amount: f.Amount, currency: f.Currency,
	}
}

func (d *Dispute) question() question {
	return question{
		postpone: `UPDATE payment_disputes SET tries = tries + 1, next_at = $2 WHERE provider_id = $1
			AND next_at <> 0`, row: d.ID, createdAt: d.CreatedAt, tries: d.tries,
		objectID: d.ID, checkoutID: d.CheckoutID, amount: d.Amount, currency: d.Currency,
	}
}

// postpone schedules the next poll of a question, later each time, so it never delays newer ones. A
// question that was refused for good or failed too often ends and becomes a problem.
func (b *Store) postpone(ctx context.Context, q question, cause error) error {
	now := b.Now()
	_, refused := finally(cause)
	if q.objectID != "" && (refused || q.tries+1 >= maxTries) {
		return b.giveUp(ctx, q, now)
	}
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(q.postpone, q.row, now.Add(pause(now.Sub(q.createdAt))))
		return nil
	})
	if err != nil {
		return fmt.Errorf("postpone a question about %v: %w", q.row, err)
	}
	return nil
}

// giveUp ends a question, unless it was answered meanwhile, and adds a problem.
func (b *Store) giveUp(ctx context.Context, q question, now time.Time) error {
	c, _, err := b.find(ctx, `id = $1`, q.checkoutID)
	if err != nil {
		return err
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, q.postpone, q.row, time.Time{})
		if err != nil || n == 0 {
			return err
		}
		// The problem names no payment. Its money may already be back, so it is not refunded from
		// here.
		addProblem(tx, Problem{
			Kind: NotAnswered, ObjectID: q.objectID, CheckoutID: q.checkoutID, PartnerID: c.PartnerID,
			Amount: q.amount, Currency: q.currency, CreatedAt: now,
		})
		tx.Queue(
			`UPDATE payment_problems SET done_at = 0 WHERE kind = $1 AND object_id = $2`,
			string(NotAnswered),
			q.objectID,
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("give up a question about %v: %w", q.row, err)
	}
	return nil
}
