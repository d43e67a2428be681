package claviger

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"claviger/sdk/go/internal/rest"
)

// ExportFormat is the form of an exported file.
type ExportFormat string

// The formats.
const (
	ExportCSV    ExportFormat = "csv"
	ExportNDJSON ExportFormat = "ndjson"
)

// Export returns a whole list as a file: licenses, deliveries, requests or audit, narrowed
// by the parameters of its list. The caller closes it. A file that is whole says so in its
// last line, with the number of its rows. The Config must have an HTTP client whose timeout
// suffices for the whole file.
func (c *Client) Export(ctx context.Context, list string, format ExportFormat, filter url.Values) (io.ReadCloser, error) {
	q := url.Values{"format": {string(format)}}
	for name, values := range filter {
		q[name] = values
	}
	return c.rest.Open(ctx, rest.Request{Method: http.MethodGet, Path: "/v2/exports/" + url.PathEscape(list), Query: q})
}
