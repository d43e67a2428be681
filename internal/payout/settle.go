package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of texts, in characters.
const (
	maxReference = 100 // of the bank
	maxReason    = 500
)

// Settlement is the answer of the bank, or a decision, for some lines of a run.
type Settlement struct {
	RunID     int64
	State     LineState // Sent, Paid, LineFailed or Released
	Partners  []int64   // of the lines; nil: all lines that this state can follow
	Reference string    // of the bank, for Paid
	Reason    string    // for LineFailed and Released
}

// check checks the texts.
func (a *Settlement) check() (err error) {
	switch a.State {
	case Sent:
		if a.Reference != "" || a.Reason != "" {
			return fault.Field(
				"state", "is sent, which has neither a reference nor a reason. Send paid with the bank's reference.",
			)
		}
	case Paid:
		if a.Reference == "" {
			return fault.Field("reference", "is missing. Send the reference that the bank gave the payment.")
		}
		a.Reference, err = validate.Line("reference", a.Reference, 1, maxReference)
	case LineFailed, Released:
		if a.Reason == "" {
			return fault.Field("reason", "is missing. Say why nothing was paid; the run shows it.")
		}
		a.Reason, err = validate.Line("reason", a.Reason, 1, maxReason)
	case Reserved:
		fallthrough
	default:
		return fault.Field("state", "must be sent, paid, failed or released.")
	}
	return err
}

// before lists the states that a state can follow. A line at the bank is released only after the bank
// refused it, or the partner could be paid twice.
func before(to LineState) []LineState {
	switch to {
	case Sent:
		return []LineState{Reserved, LineFailed}
	case Paid:
		return []LineState{Reserved, Sent, LineFailed}
	case LineFailed:
		return []LineState{Sent}
	case Released:
		return []LineState{Reserved, LineFailed}
	case Reserved:
	}
	return nil
}

// May reports whether a line can be settled with a state.
func (l Line) May(to LineState) bool { return slices.Contains(before(to), l.State) }

// Settle changes the state of lines, and posts what was paid and what is payable again. The same
// settlement again changes nothing.
func (s *Store) Settle(ctx context.Context, by audit.Actor, a Settlement) (Run, error) {
	if err := a.check(); err != nil {
		return Run{}, err
	}
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error { return s.settle(ctx, tx, by, a) })
	if err != nil {
		return Run{}, fmt.Errorf("settle payout run %d: %w", a.RunID, err)
	}
	return s.Run(ctx, a.RunID)
}

func (s *Store) settle(ctx context.Context, tx *sqldb.Tx, by audit.Actor, a Settlement) error {
	run, err := sqldb.One(ctx, tx, scanRun, `SELECT `+runColumns+` FROM payout_runs
		WHERE id = $1`+tx.ForUpdate, a.RunID)
	if errors.Is(err, sqldb.ErrNone) {
		return unknownRun()
	}
	if err != nil {
		return fmt.Errorf("read a payout run: %w", err)
	}
	lines, err := sqldb.All(ctx, tx, scanLine, `SELECT `+lineColumns+` FROM payout_lines WHERE run_id = $1
		ORDER BY partner_id`, a.RunID)
	if err != nil {
		return fmt.Errorf("read the lines of a run: %w", err)
	}
	chosen, err := a.choose(lines)
	if err != nil || len(chosen) == 0 {
		return err
	}
	partners := make([]int64, len(chosen))
	for i, l := range chosen {
		partners[i] = l.PartnerID
	}
	p := &preparation{now: s.Now(), counters: map[int64]partner.Counters{}}
	if err := p.lock(ctx, tx, partners); err != nil {
		return err
	}
	for _, l := range chosen {
		if err := p.settle(tx, l, a); err != nil {
			return err
		}
		lines[slices.IndexFunc(lines, func(x Line) bool { return x.PartnerID == l.PartnerID })].State = a.State
	}
	state := stateOf(lines)
	tx.Queue(`UPDATE payout_runs SET state = $2, updated_at = $3 WHERE id = $1`, run.ID, string(state), p.now)
	audit.Record(tx, p.now, by, "payout.settle", subject(run.ID), nil, audit.Facts{
		"state": string(a.State), "partners": partners, "reference": a.Reference, "reason": a.Reason,
		"run": string(state),
	})
	return nil
}

// choose returns the lines that change. It refuses lines that cannot.
func (a Settlement) choose(lines []Line) (chosen []Line, err error) {
	for _, id := range a.Partners {
		if !slices.ContainsFunc(lines, func(l Line) bool { return l.PartnerID == id }) {
			return nil, fault.New(fault.Unprocessable, codeUnknownLine,
				"Run %d has no line of partner %d. GET /operator/v1/payouts/%d/lines lists them.",
				a.RunID, id, a.RunID).On("partners")
		}
	}
	same := 0
	var refused error
	for _, l := range lines {
		if a.Partners != nil && !slices.Contains(a.Partners, l.PartnerID) {
			continue
		}
		switch {
		case l.May(a.State):
			chosen = append(chosen, l)
		case a.repeats(l):
			same++
		case a.Partners != nil:
			return nil, a.refuse(l)
		default:
			refused = a.refuse(l)
		}
	}
	if len(chosen) == 0 && same == 0 {
		return nil, refused
	}
	return chosen, nil
}

// repeats reports whether the line is already settled in this way.
func (a Settlement) repeats(l Line) bool {
	return l.State == a.State && (a.State != Paid || l.BankReference == a.Reference)
}

// refuse says why a line cannot be settled in this way.
func (a Settlement) refuse(l Line) error {
	switch {
	case l.State == Paid:
		return fault.New(fault.Conflict, codeAlreadySettled,
			"The payout of partner %d is paid, with the bank's reference %s. To correct its balance, post an "+
				"adjustment.", l.PartnerID, l.BankReference)
	case l.State == Released:
		return fault.New(fault.Conflict, codeAlreadySettled,
			"The payout of partner %d was released: its amount is payable again. Pay it with another run.",
			l.PartnerID)
	case l.State == Sent && a.State == Released:
		return fault.New(fault.Conflict, codeSent,
			"The payout of partner %d was sent to the bank. If the bank refused it, settle it as failed first.",
			l.PartnerID)
	default:
		return fault.New(fault.Conflict, codeNotSent,
			"The payout of partner %d is %s, so it can't be %s. Settle it as sent first.",
			l.PartnerID, l.State, a.State)
	}
}

// settle writes the new state of a line and posts it.
func (p *preparation) settle(tx *sqldb.Tx, l Line, a Settlement) error {
	tx.Queue(`UPDATE payout_lines SET state = $3, bank_reference = $4, reason = $5, updated_at = $6
		WHERE run_id = $1 AND partner_id = $2`, l.RunID, l.PartnerID, string(a.State), a.Reference, a.Reason, p.now)
	switch a.State {
	case Paid:
		return p.post(tx, l.PartnerID, func(j *ledger.Journal) error {
			return j.Pay(l.Reference, l.Amount, l.Currency)
		})
	case Released:
		return p.post(tx, l.PartnerID, func(j *ledger.Journal) error {
			return j.Release(l.Reference, l.Amount, l.Currency)
		})
	case Reserved, Sent, LineFailed:
	}
	return nil
}

// stateOf returns the state of a run with these lines.
func stateOf(lines []Line) RunState {
	final, paid, begun := 0, 0, 0
	for _, l := range lines {
		if l.final() {
			final++
		}
		if l.State == Paid {
			paid++
		}
		if l.State == Paid || l.State == Sent || l.State == LineFailed {
			begun++
		}
	}
	switch {
	case final == len(lines) && paid > 0:
		return Done
	case final == len(lines):
		return Failed
	case begun > 0:
		return Paying
	default:
		return Prepared
	}
}
