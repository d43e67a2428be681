// Package export writes complete lists as files: CSV for people, NDJSON for programs. It owns the
// content and form of the files, and the table exports with the progress of each export.
//
// A list is read in batches by its key, each in its own short transaction: an export holds neither
// a connection nor a snapshot while the client reads, and its memory does not grow with the list.
// Before each batch it checks again that the requester may have the list. A complete file ends with
// a line that says so and has the number of rows; a file without that line was cut off.
package export

import (
	"context"
	"time"

	"claviger/internal/fault"
)

// Kind is the kind of an exported list.
type Kind string

// The kinds. Operators and partners export some of them each. Payout is the file of one payout run for the
// bank.
const (
	Licenses   Kind = "licenses"
	Purchases  Kind = "purchases"
	Orders     Kind = "orders"
	Events     Kind = "events"
	Audit      Kind = "audit"
	Deliveries Kind = "deliveries"
	Requests   Kind = "requests"
	Payout     Kind = "payout"
	Ledger     Kind = "ledger"
	Revenue    Kind = "revenue"
	Statement  Kind = "statement" // of one month
)

// OperatorKinds are the lists of the marketplace, PartnerKinds those of one partner.
var (
	OperatorKinds = []Kind{Licenses, Purchases, Orders, Events, Audit, Ledger, Revenue}
	PartnerKinds  = []Kind{Licenses, Deliveries, Requests, Audit, Revenue}
)

// Format is the form of a file.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// ParseFormat parses the format of a query; "" is CSV.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case "":
		return CSV, nil
	case CSV, NDJSON:
		return f, nil
	}
	return "", fault.Parameter("format", "must be csv or ndjson.")
}

// ContentType returns the media type of a file.
func (f Format) ContentType() string {
	if f == NDJSON {
		return "application/x-ndjson"
	}
	return "text/csv; charset=utf-8; header=present"
}

// Table is a list to export, from its beginning.
type Table struct {
	Kind      Kind
	PartnerID int64 // 0: of all partners
	Columns   []string

	// About estimates the number of rows.
	About func(ctx context.Context) (Estimate, error)

	// Next returns the next rows, and whether there is more to read. A batch can be empty while
	// there is.
	Next func(ctx context.Context) (rows [][]Cell, more bool, err error)
}

// Estimate is an estimated number of rows.
type Estimate struct {
	Rows int64
	More bool // at least that many
}

// Unknown is the estimate of a list without a counter.
var Unknown = Estimate{Rows: -1}

// Known reports whether there is an estimate.
func (e Estimate) Known() bool { return e.Rows >= 0 }

// FileName returns the name of a table's file.
func FileName(t Table, f Format, now time.Time) string {
	return string(t.Kind) + "-" + now.UTC().Format("2006-01-02-150405") + "." + string(f)
}

// batchSize is the maximum number of rows in a batch; a walk may have its own limits.
const batchSize = 500
