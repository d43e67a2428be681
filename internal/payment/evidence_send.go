package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// Limits of evidence.
const (
	evidenceRetry = 10 * time.Minute     // the longest pause between two attempts
	keepEvidence  = 400 * 24 * time.Hour // banks decide within months
)

// KeyRefused is the failure of evidence on its way while the provider refuses the key.
const KeyRefused = "key_refused"

// sendEvidences sends the evidence that operators asked for.
func (b *Store) sendEvidences(ctx context.Context) (int, error) {
	list, err := sqldb.All(
		ctx,
		b.DB,
		scanEvidence,
		`SELECT `+evidenceColumns+` FROM payment_evidence WHERE next_at <> 0 AND next_at <= $1
			ORDER BY next_at LIMIT $2`,
		b.Now(),
		jobBatch,
	)
	if err != nil {
		return 0, fmt.Errorf("find evidence to send: %w", err)
	}
	var errs []error
	for i := range list {
		if err := b.sendEvidence(ctx, &list[i]); err != nil {
			errs = append(errs, err, b.evidenceLater(ctx, &list[i], err))
		}
	}
	return len(list), errors.Join(errs...)
}

// sendEvidence sends evidence in two calls: the texts, and the submission. Each run first asks the
// provider, because an earlier run may have been cut off after it: what was submitted is not sent
// again.
func (b *Store) sendEvidence(ctx context.Context, s *SavedEvidence) error {
	f, err := b.Stripe.dispute(ctx, s.DisputeID)
	if err == nil {
		if done, failure := s.outcome(f, b.Now()); done {
			return b.endEvidence(ctx, s, f, failure)
		}
		_, err = b.Stripe.stageEvidence(ctx, s)
	}
	var after disputeFact
	if err == nil {
		after, err = b.Stripe.submitEvidence(ctx, s)
	}
	if code, refused := finally(err); refused {
		return b.endEvidence(ctx, s, f, cmp.Or(code, "refused"))
	}
	if err != nil {
		return err
	}
	return b.endEvidence(ctx, s, after, "")
}

// outcome reports whether nothing is left to send, and the failure if the evidence was not
// submitted.
func (s *SavedEvidence) outcome(f disputeFact, now time.Time) (done bool, failure string) {
	d := Dispute{earlier: s.before}
	d.apply(f, now)
	switch {
	case d.Submitted():
		return true, ""
	case d.Ended():
		return true, codeDisputeEnded
	case d.overdue(now):
		return true, codeEvidenceOverdue
	}
	return false, ""
}

// endEvidence stores that evidence was submitted, or why it was not, with the provider's state of the
// dispute.
func (b *Store) endEvidence(ctx context.Context, s *SavedEvidence, f disputeFact, failure string) error {
	d, err := b.Dispute(ctx, s.DisputeID)
	if err != nil {
		return err
	}
	state := EvidenceSent
	if failure != "" {
		state = EvidenceRefused
		b.Log.Warn("Stripe did not accept the evidence of a dispute", "dispute", s.DisputeID, "code", failure)
	}
	return b.change(ctx, d.Checkout, func(w *work) error {
		if f.id != "" { // empty: the provider did not even show the dispute
			w.mergeDispute(f)
		}
		sent := time.Time{}
		if state == EvidenceSent {
			sent = w.now
		}
		// Only this intention: the dispute may have become another one meanwhile.
		w.tx.Queue(`UPDATE payment_evidence SET state = $3, failure = $4, sent_at = $5, updated_at = $6, next_at = 0
			WHERE dispute_id = $1 AND round = $2 AND state = `+sqldb.Literal(EvidenceAsked),
			s.DisputeID, s.round, int(state), failure, sent, w.now)
		return nil
	})
}

// evidenceLater schedules another attempt. After an answer of 5xx the next attempt has another
// idempotency key, because the provider would repeat that answer.
func (b *Store) evidenceLater(ctx context.Context, s *SavedEvidence, cause error) error {
	round := s.round
	failure := ""
	if e, ok := errors.AsType[*CallError](cause); ok && e.Status >= 500 {
		round++
	}
	if refusesKey(cause) {
		failure = KeyRefused
	}
	next := b.Now().Add(min(pause(b.Now().Sub(s.AskedAt)), evidenceRetry))
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE payment_evidence SET round = $3, next_at = $4, failure = $5
			WHERE dispute_id = $1 AND round = $2 AND state = `+sqldb.Literal(EvidenceAsked),
			s.DisputeID, s.round, round, next, failure)
		return nil
	})
	if err != nil {
		return fmt.Errorf("postpone the evidence of dispute %s: %w", s.DisputeID, err)
	}
	return nil
}

// key returns the idempotency key of a call.
func (s *SavedEvidence) key(call string) string {
	return fmt.Sprintf("%s %s %d", call, s.DisputeID, s.round)
}

// eraseEvidence empties the evidence about people who were erased, which may have their names.
// Evidence on its way is emptied afterwards.
func (b *Store) eraseEvidence(ctx context.Context) (int, error) {
	type row struct {
		id   string
		user int64
	}
	list, err := sqldb.All(
		ctx,
		b.DB,
		func(r *sqldb.Row, v *row) error { return r.Scan(&v.id, &v.user) },
		`SELECT e.dispute_id, c.user_id FROM payment_evidence AS e
			JOIN payment_disputes AS d ON d.provider_id = e.dispute_id JOIN checkouts AS c ON c.id = d.checkout_id
			WHERE e.erased = FALSE AND e.state <> `+sqldb.Literal(EvidenceAsked),
	)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	ids := make([]int64, len(list))
	for i, v := range list {
		ids[i] = v.user
	}
	users, err := account.ByID(ctx, b.DB, ids)
	if err != nil {
		return 0, err
	}
	var erased []string
	for _, v := range list {
		if u, found := users[v.user]; !found || !u.ErasedAt.IsZero() {
			erased = append(erased, v.id)
		}
	}
	if len(erased) == 0 {
		return 0, nil
	}
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE payment_evidence SET erased = TRUE, `+strings.Join(EvidenceFields, ` = '', `)+` = ''
			WHERE dispute_id = ANY($1) AND state <> `+sqldb.Literal(EvidenceAsked), erased)
		tx.Purge()
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("erase evidence: %w", err)
	}
	return 0, nil
}

// expiringEvidence is the rule for evidence that is no longer needed.
func expiringEvidence() prune.Rule {
	return prune.Rule{Table: "payment_evidence", Key: "dispute_id", At: "updated_at", Keep: keepEvidence}
}
