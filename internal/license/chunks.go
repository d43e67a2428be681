package license

import "claviger/internal/paging"

// chunks reads a page of rows that fit, newest first, in chunks, each larger than the one
// before while too few rows fit. It looks at paging.MaxLooked rows at most, so that a page costs
// the same however few of them fit; the next page goes on.
type chunks[T any] struct {
	read  func(high int64, n int) ([]T, error) // the next rows up to a number, that first
	at    func(T) int64                        // the number of a row
	fits  func(T) bool
	high  int64
	limit int

	last T // the last row that was looked at
}

// page returns the rows, and the number before which the next page begins; 0: there is
// none. stopped says that it gave up before the page was full.
func (w *chunks[T]) page() (rows []T, next int64, stopped bool, err error) {
	rows = make([]T, 0, w.limit+1)
	for looked, chunk := 0, w.limit+1; ; chunk = paging.NextChunk(chunk, looked) {
		list, err := w.read(w.high, chunk)
		if err != nil {
			return nil, 0, false, err
		}
		for _, row := range list {
			if w.fits(row) {
				rows = append(rows, row)
			}
		}
		looked += len(list)
		switch {
		case len(rows) > w.limit:
			rows = rows[:w.limit]
			return rows, w.at(rows[w.limit-1]), false, nil
		case len(list) < chunk:
			return rows, 0, false, nil
		}
		w.last = list[len(list)-1]
		if w.high = w.at(w.last) - 1; looked >= paging.MaxLooked {
			return rows, w.at(w.last), true, nil
		}
	}
}
