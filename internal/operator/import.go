package operator

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// Limits of an import.
const (
	maxImportBytes    = 16 << 20
	importBlock       = 1000 // lines that are stored together
	maxImportProblems = 1000 // listed problems; all are counted
)

// importReport is the result of an import on the wire.
type importReport struct {
	Lines     int             `json:"lines"`
	Created   int             `json:"created"`
	Unchanged int             `json:"unchanged"`
	Refused   int             `json:"refused"`
	DryRun    bool            `json:"dry_run"`
	Problems  []importProblem `json:"problems"`
}

// importProblem is the error of a line.
type importProblem struct {
	Line       int    `json:"line"`
	LicenseKey string `json:"license_key"`
	Error      string `json:"error"`
	Field      string `json:"field"`
	Message    string `json:"message"`
}

// importLine is a line on the wire.
type importLine struct {
	LicenseKey string `json:"license_key"`
	PartnerID  int64  `json:"partner_id"`
	Tier       int64  `json:"tier"`
	Status     string `json:"status"`
	Email      string `json:"email"`
	SoldAt     string `json:"sold_at"`
}

// uuidForm matches license keys in any case.
var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// license converts the line for package license.
func (l importLine) license(now time.Time) (license.Import, error) {
	i := license.Import{
		Key:       strings.ToLower(strings.TrimSpace(l.LicenseKey)),
		PartnerID: l.PartnerID,
		Tier:      int(l.Tier),
		Email:     strings.TrimSpace(l.Email),
	}
	if !uuidForm.MatchString(i.Key) {
		return i, fault.Field("license_key", "must be a UUID, such as 3f2c1b4e-8a6d-4c7f-9b0e-5d1a2c3b4f60.")
	}
	status, err := event.ParseStatus(l.Status)
	if err != nil || status == 0 {
		return i, fault.Field("status", "must be inactive, active or deactivated.")
	}
	i.Status = status
	if err := cmp.Or(partnerID(l.PartnerID), number("tier", l.Tier, 1, partner.MaxTier)); err != nil {
		return i, err
	}
	if i.SoldAt, err = time.Parse(time.DateOnly, l.SoldAt); err != nil {
		i.SoldAt, err = wire.ParseTime(l.SoldAt)
	}
	if err != nil || i.SoldAt.After(now) || i.SoldAt.Year() < 1970 {
		return i, fault.Field(
			"sold_at",
			"must be a day of the past, such as 2024-05-31, or a time, such as 2024-05-31T09:30:00Z.",
		)
	}
	return i, nil
}

// importer imports lines, block by block.
type importer struct {
	o       *Operator
	t       account.Token
	options license.ImportOptions
	report  importReport
	block   []license.Import
	numbers []int // of the lines of the block
}

func (o *Operator) importLicenses(w http.ResponseWriter, r *http.Request, t account.Token) error {
	q, err := wire.Query(r, "dry_run", "webhooks")
	if err != nil {
		return err
	}
	i := &importer{o: o, t: t, report: importReport{Problems: []importProblem{}}}
	if i.options.DryRun, err = flag("dry_run", q.Get("dry_run")); err != nil {
		return err
	}
	if i.options.Webhooks, err = flag("webhooks", q.Get("webhooks")); err != nil {
		return err
	}
	if i.report.DryRun = i.options.DryRun; i.options.DryRun {
		i.options.Earlier = map[string]license.Import{}
	}
	body, kind, err := wire.Stream(w, r, maxImportBytes, wire.CSV, wire.NDJSON)
	if err != nil {
		return err
	}
	if err := o.Batches.Acquire(r.Context(), name(t), 1); err != nil {
		return err
	}
	defer o.Batches.Release(name(t), 1)
	read := readImportLines
	if kind == wire.CSV {
		read = readImportTable
	}
	ctx := r.Context()
	add := func(number int, line importLine, err error) error { return i.add(ctx, number, line, err) }
	if err := read(body, add); err != nil {
		return err
	}
	if err := i.store(r.Context()); err != nil {
		return err
	}
	slices.SortFunc(i.report.Problems, func(a, b importProblem) int { return a.Line - b.Line })
	return wire.JSON(w, http.StatusOK, i.report)
}

// flag parses a parameter that is true or false.
func flag(name, value string) (bool, error) {
	switch value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fault.Parameter(name, "must be true or false.")
}

// add adds a line, or the error of reading it.
func (i *importer) add(ctx context.Context, number int, line importLine, err error) error {
	i.report.Lines++
	var one license.Import
	if err == nil {
		one, err = line.license(i.o.Licenses.Now())
	}
	if err != nil {
		return i.refuse(number, line.LicenseKey, err)
	}
	i.block = append(i.block, one)
	i.numbers = append(i.numbers, number)
	if len(i.block) < importBlock {
		return nil
	}
	return i.store(ctx)
}

// refuse reports the error of a line.
func (i *importer) refuse(number int, key string, err error) error {
	f := fault.Of(err)
	if f == nil {
		return err
	}
	i.report.Refused++
	if len(i.report.Problems) < maxImportProblems {
		i.report.Problems = append(
			i.report.Problems,
			importProblem{Line: number, LicenseKey: key, Error: f.Code, Field: f.Field, Message: f.Text},
		)
	}
	return nil
}

// store imports the lines of the block.
func (i *importer) store(ctx context.Context) error {
	results, err := i.o.Licenses.Import(ctx, actor(i.t), i.block, i.options)
	if err != nil {
		return err
	}
	for n, result := range results {
		switch {
		case result.Err != nil:
			if err := i.refuse(i.numbers[n], i.block[n].Key, result.Err); err != nil {
				return err
			}
		case result.New:
			i.report.Created++
		default:
			i.report.Unchanged++
		}
	}
	i.block = i.block[:0]
	i.numbers = i.numbers[:0]
	return nil
}

// isEnd reports whether a body has been read to its end.
func isEnd(err error) bool { return errors.Is(err, io.EOF) }
