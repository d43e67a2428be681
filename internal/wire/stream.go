package wire

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"claviger/internal/fault"
)

// CSV is the content type of tables.
const CSV = "text/csv"

// Stream returns a body to read as it arrives, limited to limit bytes. Its content type, kind, must
// be one of kinds.
func Stream(
	w http.ResponseWriter,
	r *http.Request,
	limit int64,
	kinds ...string,
) (body io.Reader, kind string, err error) {
	kind, _, err = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(kinds, kind) || r.Header.Get("Content-Encoding") != "" {
		return nil, "", fault.New(
			fault.Unsupported,
			codeUnsupportedMediaType,
			"This content type is not read here. Send %s, not compressed.",
			strings.Join(kinds, " or "),
		)
	}
	return &streamed{w: w, body: http.MaxBytesReader(w, r.Body, limit), limit: limit}, kind, nil
}

// streamed is a body that returns faults as errors.
type streamed struct {
	w     http.ResponseWriter
	body  io.Reader
	limit int64
}

func (s *streamed) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	switch _, tooLarge := errors.AsType[*http.MaxBytesError](err); {
	case tooLarge:
		s.w.Header().Set("Connection", "close") // the rest is not read
		err = fault.New(
			fault.TooLarge,
			codeBodyTooLarge,
			"The body is larger than %d bytes, the limit. Send the rest in another request.",
			s.limit,
		)
	case err != nil && !errors.Is(err, io.EOF):
		err = invalidBody("The body did not arrive whole. Send it again.")
	}
	return n, err
}
