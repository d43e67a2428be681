package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/money"
	"claviger/internal/plural"
	"claviger/internal/sqldb"
)

// ledgerTime is the time for the postings of partners. It is shorter than the timeout of a check:
// postings that there was no time for are no failure.
const ledgerTime = examineTimeout - 2*time.Second

// wrongLedger is the advice for a mistake in the ledger.
const wrongLedger = "Pay no partner by the balances until it is fixed. Make a backup, look for \"the ledger has a " +
	"mistake\" in the log of claviger serve, and report it; see JobFails in docs/runbooks.md."

// ledger checks that the balances sum to zero, and reads the postings of as many partners as its time
// allows.
func (e *examination) ledger(ctx context.Context) {
	const name = "ledger"
	sums, err := ledger.Unbalanced(ctx, e.db)
	var partners []int64
	if err == nil {
		partners, err = ledger.Partners(ctx, e.db)
	}
	if err != nil {
		e.say(name, Failed, again, "%v", err)
		return
	}
	checked, wrong, err := e.ledgersOf(ctx, partners)
	wrong = unbalanced(sums) + wrong
	all := plural.Of(len(partners), "partner was", "partners were")
	part := fmt.Sprintf("%s of %s checked here; claviger serve checks all once a day", plural.Number(checked), all)
	switch {
	case wrong != "":
		e.say(name, Failed, wrongLedger, "%s%s", wrong, part)
	case err != nil:
		e.say(name, Failed, again, "%v", err)
	case len(partners) == 0:
		e.say(name, Passed, "", "nothing is posted yet")
	default:
		e.say(name, Passed, "", "the balances sum to zero; %s", part)
	}
}

// unbalanced returns a sentence about balances that do not sum to zero; "": they do.
func unbalanced(sums []ledger.Sum) string {
	if len(sums) == 0 {
		return ""
	}
	list := make([]string, len(sums))
	for i, s := range sums {
		list[i] = money.Text(s.Amount, s.Currency)
	}
	return "The balances sum to " + strings.Join(list, " and ") + " instead of zero. "
}

// ledgersOf checks the ledgers of partners until its time is used up. It returns the number of partners
// that it checked, and sentences about the first one with a mistake.
func (e *examination) ledgersOf(ctx context.Context, partners []int64) (checked int, wrong string, err error) {
	limited, cancel := context.WithTimeout(ctx, ledgerTime)
	defer cancel()
	for _, id := range partners {
		var found []string
		err := e.db.Read(limited, func(tx *sqldb.Tx) (err error) {
			found, err = ledger.Check(limited, tx, id)
			return err
		})
		switch {
		case limited.Err() != nil:
			return checked, wrong, nil
		case err != nil:
			return checked, wrong, err
		}
		checked++
		if len(found) > 0 && wrong == "" {
			wrong = fmt.Sprintf("The ledger of partner %d has %s: %s ", id, plural.Of(len(found), "mistake"), found[0])
		}
	}
	return checked, wrong, nil
}
