package payment

// StaleOrders is the statement that finds orders whose state may be outdated.
const StaleOrders = staleOrders

// Statement is a statement of a list, for tests of its plan.
type Statement struct {
	Text string
	Args []any
}

// Statements returns the statements of a list and of its totals.
func (f FindOrders) Statements() []Statement {
	page, args := f.query(checkoutColumns, 1, 1<<40, 51)
	totals, more := f.totals(1, 1<<40)
	return []Statement{{page, args}, {totals, more}}
}
