// Package export writes whole lists as files: CSV for people, NDJSON for programs. It owns
// what the files have in them, their form, and the table exports, which says how far an
// export is.
//
// A list is read in batches by its key, each in a short transaction of its own: an export
// holds neither a connection nor a snapshot while the client reads, and its memory does
// not grow with the list. Before each batch it is checked again that whoever asked may
// have the list. A file that is whole ends with a line that says so and has the number of
// its rows; one without that line was cut off.
package export

import (
	"context"
	"time"

	"claviger/internal/fault"
)

// Kind is which list is exported.
type Kind string

// The kinds. Operators export the first four, partners Licenses, Deliveries, Requests and
// History.
const (
	Licenses   Kind = "licenses"
	Purchases  Kind = "purchases"
	Events     Kind = "events"
	Audit      Kind = "audit"
	Deliveries Kind = "deliveries"
	Requests   Kind = "requests"
)

// OperatorKinds are the lists of the marketplace, PartnerKinds those of one partner.
var (
	OperatorKinds = []Kind{Licenses, Purchases, Events, Audit}
	PartnerKinds  = []Kind{Licenses, Deliveries, Requests, Audit}
)

// Format is the form of a file.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// ParseFormat reads the format of a query; "" is CSV.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case "":
		return CSV, nil
	case CSV, NDJSON:
		return f, nil
	}
	return "", fault.Parameter("format", "must be csv or ndjson.")
}

// ContentType is the media type of a file.
func (f Format) ContentType() string {
	if f == NDJSON {
		return "application/x-ndjson"
	}
	return "text/csv; charset=utf-8; header=present"
}

// Table is a list that can be exported, from its beginning.
type Table struct {
	Kind      Kind
	PartnerID int64 // 0: of all partners
	Columns   []string

	// About is about how many rows there are.
	About func(ctx context.Context) (Estimate, error)

	// Next returns the next rows, and whether there is more to look at. A batch can be
	// empty while there is.
	Next func(ctx context.Context) (rows [][]Cell, more bool, err error)
}

// Estimate is about how many rows a table has.
type Estimate struct {
	Rows int64
	More bool // at least that many
}

// Unknown is the estimate of a list that no counter knows.
var Unknown = Estimate{Rows: -1}

// Known reports whether there is an estimate.
func (e Estimate) Known() bool { return e.Rows >= 0 }

// FileName is what the file of a table is called.
func FileName(t Table, f Format, now time.Time) string {
	return string(t.Kind) + "-" + now.UTC().Format("2006-01-02-150405") + "." + string(f)
}

// batchSize is how many rows a batch has at most; a walk may have bounds of its own.
const batchSize = 500
