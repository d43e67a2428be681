package history

import (
	"context"
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// MaxLooked is the number of deliveries that one page searches.
const MaxLooked = paging.MaxLooked

// Statement is a statement with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// Statements returns the statements of a page of the list.
func Statements(ctx context.Context, tx *sqldb.Tx, partnerID int64, f Filter) ([]Statement, error) {
	w, err := newWalk(ctx, tx, partnerID, f, Key{})
	if err != nil {
		return nil, err
	}
	sql, args := w.query(51)
	return []Statement{{sql, args}, {lastAttempts, []any{[]int64{1, 2, 3}}}}, nil
}

// StatementsOfAll returns the statements of a page of the list of all partners.
func StatementsOfAll(f Filter) []Statement {
	return []Statement{{f.queryOfAll(), []any{int64(1) << 40, 51}}, {nextDelivery, []any{int64(17)}}, {lastAttempts, []any{[]int64{1, 2, 3}}}}
}

// StatementOfCauses returns the statement of Causes with this limit.
func StatementOfCauses(most int) Statement { return Statement{causesOf, []any{int64(1), most}} }

// Indexed is a statement with the indexes that must serve it. Whole lists tables with one row per
// partner that it may read completely.
type Indexed struct {
	Statement
	Indexes []string
	Whole   []string
}

// TroubleStatements returns the outbox statements of the Today page.
func TroubleStatements() map[string]Indexed {
	return map[string]Indexed{
		"what waits":                 {Statement{waitingOf, []any{int64(1), 501}}, []string{"outbox_"}, nil},
		"partners with what is lost": {Statement{givenUpPartners, []any{500}}, []string{"outbox_given_up"}, nil},
		"what was given up":          {Statement{givenUpOf, []any{int64(1), 501}}, []string{"outbox_given_up"}, nil},
		"what is due":                {Statement{oldestDue, []any{time.Unix(1<<31, 0)}}, []string{"outbox_due"}, []string{"endpoints"}},
	}
}

// Query returns the statement of FailingEndpoints.
func (e Endpoints) Query() string { return e.query() }
