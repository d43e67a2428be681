package operator

import (
	"context"
	"net/http"
	"net/url"
)

// ImportFormat is the form of a file of licenses.
type ImportFormat string

// The formats: a table with column names in its first row, or an ImportLine on each line.
const (
	ImportCSV    ImportFormat = "text/csv"
	ImportNDJSON ImportFormat = "application/x-ndjson"
)

// ImportOptions are the options of an import.
type ImportOptions struct {
	DryRun   bool // nothing is stored
	Webhooks bool // the event of each license is delivered to its partner
}

// ImportLicenses imports licenses that were sold elsewhere, at most 16 MiB, and returns the results
// of the lines. Repeating it changes nothing: after an error, send the same again.
func (c *Client) ImportLicenses(
	ctx context.Context, format ImportFormat, text []byte, o ImportOptions,
) (ImportReport, error) {
	q := url.Values{}
	if o.DryRun {
		q.Set("dry_run", "true")
	}
	if o.Webhooks {
		q.Set("webhooks", "true")
	}
	var out ImportReport
	_, err := c.rest.Do(ctx, Request{
		Method: http.MethodPost, Path: base + "import", Query: q, Text: text, ContentType: string(format),
		Repeatable: true,
	}, &out)
	return out, err
}
