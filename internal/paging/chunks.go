package paging

// Chunks reads a page of matching rows, newest first, in chunks. Chunks grow while too few rows
// match. It reads at most MaxLooked rows, so that a page costs the same however few of them match;
// the next page continues.
type Chunks[T any] struct {
	Read  func(high int64, n int) ([]T, error) // reads n rows down from high
	At    func(T) int64                        // the number of a row
	Fits  func(T) bool
	High  int64
	Limit int

	Last T // the last row read
}

// Page returns the rows, and the number before which the next page begins; 0: there is none.
// stopped reports that the limit was reached before the page was full.
func (w *Chunks[T]) Page() (rows []T, next int64, stopped bool, err error) {
	rows = make([]T, 0, w.Limit+1)
	for looked, chunk := 0, w.Limit+1; ; chunk = NextChunk(chunk, looked) {
		list, err := w.Read(w.High, chunk)
		if err != nil {
			return nil, 0, false, err
		}
		for _, row := range list {
			if w.Fits(row) {
				rows = append(rows, row)
			}
		}
		looked += len(list)
		switch {
		case len(rows) > w.Limit:
			rows = rows[:w.Limit]
			return rows, w.At(rows[w.Limit-1]), false, nil
		case len(list) < chunk:
			return rows, 0, false, nil
		}
		w.Last = list[len(list)-1]
		w.High = w.At(w.Last) - 1
		if looked >= MaxLooked {
			return rows, w.At(w.Last), true, nil
		}
	}
}
