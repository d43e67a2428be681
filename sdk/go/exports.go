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

// Export returns a whole list as a file: licenses, deliveries, requests, audit or revenue, narrowed
// by the parameters of its list. The caller closes it. The last line of a complete file says so, with the
// number of rows. The HTTP client in Config needs a timeout that suffices for the whole file.
func (c *Client) Export(
	ctx context.Context, list string, format ExportFormat, filter url.Values,
) (io.ReadCloser, error) {
	q := url.Values{"format": {string(format)}}
	for name, values := range filter {
		q[name] = values
	}
	return c.rest.Open(ctx, rest.Request{Method: http.MethodGet, Path: "/v2/exports/" + url.PathEscape(list), Query: q})
}
