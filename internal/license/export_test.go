package license

// Query is the statement of a search.
func (f Find) Query(partnerID, low, high int64, n int) (sql string, args []any) {
	return f.query(partnerID, low, high, n)
}

// Waiting is how many orders of a partner wait for the set under way, and whether there
// is one.
func (g *Gatherer) Waiting(partnerID int64) (n int, under bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	list, under := g.waiting[partnerID]
	return len(list), under
}
