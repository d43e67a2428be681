package export

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"claviger/internal/wire"
)

// Cell is one value of a row.
type Cell struct {
	kind   cellKind
	text   string
	number int64
}

type cellKind int

const (
	emptyCell cellKind = iota
	textCell
	numberCell
	boolCell
	timeCell // its text needs no protection
	jsonCell
)

// Text returns a cell with arbitrary text.
func Text(s string) Cell { return Cell{kind: textCell, text: s} }

// Number returns a cell with a number.
func Number[T ~int | ~int64](n T) Cell { return Cell{kind: numberCell, number: int64(n)} }

// ID returns a cell with an id; 0 is empty.
func ID(n int64) Cell {
	if n == 0 {
		return Cell{}
	}
	return Number(n)
}

// Bool returns a cell with true or false.
func Bool(b bool) Cell {
	if b {
		return Cell{kind: boolCell, number: 1}
	}
	return Cell{kind: boolCell}
}

// Time returns a cell with a time in UTC; the zero time is empty.
func Time(t time.Time) Cell {
	if t.IsZero() {
		return Cell{}
	}
	return Cell{kind: timeCell, text: string(wire.AppendTime(nil, t))}
}

// JSON returns a cell with a JSON value, "" for none.
func JSON(raw string) Cell {
	if raw == "" {
		return Cell{}
	}
	return Cell{kind: jsonCell, text: raw}
}

// encoder appends rows in a format.
type encoder interface {
	header(b []byte, columns []string) []byte
	row(b []byte, cells []Cell) []byte
	end(b []byte, columns int, rows int64) []byte
}

func newEncoder(f Format, columns []string) encoder {
	if f == NDJSON {
		names := make([][]byte, len(columns))
		for i, c := range columns {
			names[i] = appendString(nil, c)
		}
		return ndjson{names}
	}
	return csv{}
}

// csv is RFC 4180 with line feeds, in UTF-8. A text that a spreadsheet would read as a formula gets
// an apostrophe before it. Numbers never do, so that negative ones stay numbers.
type csv struct{}

func (csv) header(b []byte, columns []string) []byte {
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, c...)
	}
	return append(b, '\n')
}

func (csv) row(b []byte, cells []Cell) []byte {
	for i, c := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		switch c.kind {
		case emptyCell:
		case textCell:
			b = appendCSV(b, harmless(c.text))
		case jsonCell:
			b = appendCSV(b, c.text)
		case numberCell:
			b = strconv.AppendInt(b, c.number, 10)
		case boolCell:
			b = strconv.AppendBool(b, c.number != 0)
		case timeCell:
			b = append(b, c.text...)
		}
	}
	return append(b, '\n')
}

// complete is the first cell of the last line of a complete CSV file; the second cell has the
// number of rows.
const complete = "#complete"

func (csv) end(b []byte, columns int, rows int64) []byte {
	b = append(b, complete...)
	b = append(b, ',')
	b = strconv.AppendInt(b, rows, 10)
	for range columns - 2 {
		b = append(b, ',') // as many cells as every line, for strict readers
	}
	return append(b, '\n')
}

// startsFormula contains the characters that begin a formula in some spreadsheet; the full-width
// ones do in East Asian locales.
const startsFormula = "=+-@\t\r＝＋－＠"

// harmless returns a text that no spreadsheet reads as a formula.
func harmless(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size > 0 && strings.ContainsRune(startsFormula, first) {
		return "'" + s
	}
	return s
}

// appendCSV appends a text, quoted if necessary.
func appendCSV(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "\",\r\n") && !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "#") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

// ndjson writes a JSON object per line.
type ndjson struct{ names [][]byte }

func (ndjson) header(b []byte, _ []string) []byte { return b }

func (n ndjson) row(b []byte, cells []Cell) []byte {
	b = append(b, '{')
	for i, c := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, n.names[i]...), ':')
		switch c.kind {
		case emptyCell:
			b = append(b, "null"...)
		case textCell, timeCell:
			b = appendString(b, c.text)
		case jsonCell:
			b = append(b, c.text...)
		case numberCell:
			b = strconv.AppendInt(b, c.number, 10)
		case boolCell:
			b = strconv.AppendBool(b, c.number != 0)
		}
	}
	return append(b, '}', '\n')
}

func (ndjson) end(b []byte, _ int, rows int64) []byte {
	b = append(b, `{"export_complete":true,"rows":`...)
	b = strconv.AppendInt(b, rows, 10)
	return append(b, '}', '\n')
}

// appendString appends a JSON string. It replaces invalid UTF-8.
func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string can be encoded
		return append(b, `""`...)
	}
	return append(b, text...)
}
