package license

// Query is the statement of a search.
func (f Find) Query(partnerID, low, high int64, n int) (sql string, args []any) {
	return f.query(partnerID, low, high, n)
}
