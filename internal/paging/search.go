package paging

// MaxLooked bounds a search for rows that no index finds: it looks at so many of them, and
// the next page goes on.
const MaxLooked = 5000

// maxChunk is how many rows such a search reads at once.
const maxChunk = 500

// NextChunk is how many rows a search reads next, when too few of the last chunk fit and it
// has looked at so many in all. It begins with a page and one row more, which is enough
// where most rows fit.
func NextChunk(chunk, looked int) int {
	return min(max(chunk, min(2*chunk, maxChunk)), MaxLooked-looked)
}
