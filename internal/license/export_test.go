package license

// Query returns the statement of a search.
func (f Find) Query(partnerID, low, high int64, n int) (sql string, args []any) {
	return f.query(partnerID, low, high, n)
}

// Waiting returns the number of waiting orders of a partner, and whether a set is being sold.
func (g *Gatherer) Waiting(partnerID int64) (n int, under bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	list, under := g.waiting[partnerID]
	return len(list), under
}

// SuspectsQuery is the query of Suspects.
const SuspectsQuery = suspects
