package license

import "claviger/internal/paging"

// chunks reads a page of matching rows, newest first, in chunks. Chunks grow while too few rows
// match. It reads at most paging.MaxLooked rows, so that a page costs the same however few of them
// match; the next page continues.
type chunks[T any] struct {
	read  func(high int64, n int) ([]T, error) // reads n rows down from high
	at    func(T) int64                        // the number of a row
	fits  func(T) bool
	high  int64
	limit int

	last T // the last row read
}

// page returns the rows, and the number before which the next page begins; 0: there is none.
// stopped reports that the limit was reached before the page was full.
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
		w.high = w.at(w.last) - 1
		if looked >= paging.MaxLooked {
			return rows, w.at(w.last), true, nil
		}
	}
}
