package fakestripe

import (
	"bytes"
	"io"
	"net/http"
)

// RoundTrip answers a call in the same process, for clients that use no network.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context()) // parsing its form would change the caller's request
	if own.Body == nil {
		own.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	s.ServeHTTP(w, own)
	if err := own.Body.Close(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder stores an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header to send.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader stores the status.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write stores a part of the body.
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
