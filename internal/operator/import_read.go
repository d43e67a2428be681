package operator

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// importColumns are the columns of a table, and the members of a line.
var importColumns = []string{"license_key", "partner_id", "tier", "status", "email", "sold_at"}

// maxImportLine bounds a line.
const maxImportLine = 16 << 10

// readImportLines reads a JSON object on each line.
func readImportLines(body io.Reader, add func(number int, line importLine, err error) error) error {
	decoder := wire.Decoder{JSONOnly: true}
	lines := bufio.NewReaderSize(body, maxImportLine)
	for number := 1; ; number++ {
		text, err := lines.ReadSlice('\n')
		if err != nil && !isEnd(err) {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = fault.New(
					fault.Invalid,
					codeInvalidImport,
					"Line %d is longer than %d bytes. Put one object on each line.",
					number,
					maxImportLine,
				)
			}
			return err
		}
		end := err != nil
		if text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))); len(text) > 0 {
			var line importLine
			bad := decoder.Item(text, &line)
			if err := add(number, line, bad); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// readImportTable reads a table whose first row names the columns, in any order.
func readImportTable(body io.Reader, add func(number int, line importLine, err error) error) error {
	buffered := bufio.NewReader(body)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = buffered.Discard(3) // they were peeked
	}
	table := csv.NewReader(buffered)
	table.FieldsPerRecord = -1
	table.ReuseRecord = true
	head, err := table.Read()
	if isEnd(err) {
		return nil
	}
	if err != nil {
		return badTable(err)
	}
	columns, err := columnsOf(head)
	if err != nil {
		return err
	}
	for {
		row, err := table.Read()
		if isEnd(err) {
			return nil
		}
		if err != nil {
			return badTable(err)
		}
		number, _ := table.FieldPos(0)
		line, err := lineOf(columns, row)
		if err := add(number, line, err); err != nil {
			return err
		}
	}
}

// badTable returns the reason a table cannot be read further.
func badTable(err error) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		return fault.New(
			fault.Invalid,
			codeInvalidImport,
			"Line %d is not CSV: %v. Lines before it were taken; correct it and send the file again.",
			bad.Line,
			bad.Err,
		)
	}
	return err
}

// columnsOf checks the first row.
func columnsOf(head []string) ([]string, error) {
	columns := make([]string, len(head))
	for n, c := range head {
		columns[n] = strings.ToLower(strings.TrimSpace(c))
		if !slices.Contains(importColumns, columns[n]) || slices.Contains(columns[:n], columns[n]) {
			return nil, fault.New(
				fault.Invalid,
				codeInvalidImport,
				"The first row has the column %q, which is unknown or there twice. The columns are %s.",
				c,
				strings.Join(importColumns, ", "),
			)
		}
	}
	for _, c := range importColumns {
		if c != "email" && !slices.Contains(columns, c) {
			return nil, fault.New(
				fault.Invalid,
				codeInvalidImport,
				"The first row has no column %s. The columns are %s; only email may be missing.",
				c,
				strings.Join(importColumns, ", "),
			)
		}
	}
	return columns, nil
}

// lineOf reads a row.
func lineOf(columns, row []string) (line importLine, err error) {
	if len(row) != len(columns) {
		return line, fault.New(
			fault.Invalid,
			codeInvalidImport,
			"This row has %d values and the first row %d columns. Quote values that have commas in them.",
			len(row),
			len(columns),
		)
	}
	for n, c := range columns {
		value := strings.TrimSpace(row[n])
		var bad error
		switch c {
		case "license_key":
			line.LicenseKey = value
		case "partner_id":
			if line.PartnerID, bad = strconv.ParseInt(value, 10, 64); bad != nil {
				err = fault.Field(c, "must be the id of a partner.")
			}
		case "tier":
			if line.Tier, bad = strconv.ParseInt(value, 10, 64); bad != nil {
				err = fault.Field(c, "must be a whole number.")
			}
		case "status":
			line.Status = value
		case "email":
			line.Email = value
		default:
			line.SoldAt = value
		}
	}
	return line, err
}
