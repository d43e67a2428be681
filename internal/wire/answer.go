package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"claviger/internal/paging"
)

// Envelope is the list envelope of the specification. Make it with List, so that an empty list has
// items [] and not null.
type Envelope[T any] struct {
	Size  int `json:"size"`
	Items []T `json:"items"`
}

// List wraps items in an envelope.
func List[T any](items []T) Envelope[T] {
	if items == nil {
		items = []T{}
	}
	return Envelope[T]{Size: len(items), Items: items}
}

// ListOf wraps items in an envelope, each converted to its wire form by conv.
func ListOf[S, T any](items []S, conv func(S) T) Envelope[T] {
	out := make([]T, len(items))
	for i := range items {
		out[i] = conv(items[i])
	}
	return Envelope[T]{Size: len(out), Items: out}
}

// buffers are the pooled buffers of answers. A buffer that grew past maxPooled is left to the
// garbage collector, so one huge answer does not stay in memory.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 256 << 10

// release returns a buffer to the pool, with its grown capacity.
func release(p *[]byte, b []byte) {
	if cap(b) <= maxPooled {
		*p = b[:0]
		buffers.Put(p)
	}
}

// Encode returns v as the APIs write JSON: compact, without HTML escaping and without a trailing
// newline.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := encode(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	b.Truncate(b.Len() - 1)
	return nil
}

// JSON answers v. It encodes before it writes the status, so an encoding error can still be
// answered: return it from the handler.
func JSON(w http.ResponseWriter, status int, v any) error {
	p := buffers.Get().(*[]byte)
	b := bytes.NewBuffer(*p)
	if err := encode(b, v); err != nil {
		return err
	}
	err := Raw(w, status, b.Bytes())
	release(p, b.Bytes())
	return err
}

// Append answers the JSON that write appends to a pooled buffer. It is for frequent lists. write
// must not retain the buffer.
func Append(w http.ResponseWriter, status int, write func([]byte) []byte) error {
	p := buffers.Get().(*[]byte)
	b := write(*p)
	err := Raw(w, status, b)
	release(p, b)
	return err
}

// Raw answers a body that is already JSON.
func Raw(w http.ResponseWriter, status int, body []byte) error {
	return send(w, status, "application/json", body)
}

// NDJSON is the content type of newline-delimited JSON.
const NDJSON = "application/x-ndjson"

// Lines answers newline-delimited JSON as a stream. next returns the next values, and none at the
// end. Values are sent before next is called again.
func Lines[T any](w http.ResponseWriter, next func() []T) error {
	h := w.Header()
	h.Set("Content-Type", NDJSON)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	for list := next(); len(list) > 0; list = next() {
		var b bytes.Buffer
		for _, v := range list {
			if err := encode(&b, v); err != nil {
				return err
			}
			b.WriteByte('\n')
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return &sendError{err}
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return &sendError{err}
		}
	}
	return nil
}

// Text answers plain text.
func Text(w http.ResponseWriter, status int, text string) error {
	return send(w, status, "text/plain; charset=utf-8", []byte(text))
}

// NoContent answers a status without a body.
func NoContent(w http.ResponseWriter) error {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// sendError means that an answer could not be sent, because its client went away.
type sendError struct{ err error }

// Error describes the failure.
func (e *sendError) Error() string { return "send the answer: " + e.err.Error() }

// Unwrap returns the error of the connection.
func (e *sendError) Unwrap() error { return e.err }

func send(w http.ResponseWriter, status int, contentType string, body []byte) error {
	if a, ok := w.(*answering); ok {
		if err := a.reserve(len(body)); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return &sendError{err}
	}
	return nil
}

// PageHeaders sets Link and, if total is known (not negative), X-Total-Count. more reports whether
// there is a next page if total is not known.
func PageHeaders(w http.ResponseWriter, r *http.Request, p paging.Page, total int64, more bool) {
	h := w.Header()
	h.Set("Link", p.Links(r.URL, total, more))
	if total >= 0 {
		h.Set("X-Total-Count", strconv.FormatInt(total, 10))
	}
}

// CursorHeaders sets Link for a list with cursors; next is "" on the last page.
func CursorHeaders(w http.ResponseWriter, r *http.Request, p paging.Page, next string) {
	w.Header().Set("Link", p.CursorLinks(r.URL, next))
}
