package paging

// MaxLooked limits a search without an index: it reads at most this many rows, and the next page
// continues.
const MaxLooked = 5000

// maxChunk is the maximum number of rows that such a search reads in one query.
const maxChunk = 500

// NextChunk returns the number of rows to read next, if the last chunk had too few matches and
// looked rows were read in all. A search begins with a page plus one row, which is enough if most
// rows match.
func NextChunk(chunk, looked int) int {
	return min(max(chunk, min(2*chunk, maxChunk)), MaxLooked-looked)
}
