package account

import (
	"strings"
	"testing"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestFindReadsFewUsers: the users of a sale are found by the indexes of external ids and addresses
// alone, also as planned for a table that is still small. PostgreSQL keeps that plan.
func TestFindReadsFewUsers(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.WantIndex(t, db, "users_external", nil, findQuery, []string{"7"}, []string{"ann@example.com"})
	if !sqldbtest.Postgres() {
		sqldbtest.WantIndex(t, db, "users_email", nil, findQuery, []string{"7"}, []string{"ann@example.com"})
		return
	}
	var plan []string
	err := db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
		tx.PlanOnce()
		plan, err = sqldb.All(t.Context(), tx, sqldb.Value[string], `EXPLAIN `+findQuery, []string{"7"},
			[]string{"ann@example.com"})
		return err
	})
	text := strings.Join(plan, "\n")
	if err != nil || !strings.Contains(text, "users_email") || strings.Contains(text, "users_pkey") {
		t.Errorf("the plan is %v\n%s", err, text)
	}
}
