package httpd

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// observe gives each request its id, its RequestLog and its deadline. At the end it counts the
// request and writes its log line.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		s.warnUndeclared(r)
		ctx, note := wire.Begin(r.Context(), requestID(r), s.Proxies.Client(r))
		ctx, cancel := wire.Bound(ctx, s.times.Request)
		defer cancel()
		rec := &recorder{ResponseWriter: w, progress: s.times.Progress}
		rec.Header().Set("X-Request-Id", note.ID)
		if s.draining.Load() {
			rec.Header().Set("Connection", "close")
		}
		s.meter.inFlight.Inc()
		defer s.meter.inFlight.Dec()

		p := guarded(rec, r.WithContext(ctx), next)
		if p != nil && !p.abort {
			note.Err = fmt.Errorf("panic: %v", p.value)
			apologize(rec, r.WithContext(ctx), note.Err)
		}
		took := time.Since(start)
		s.meter.observe(note, r.Method, rec.code(), took)
		describe(r, note, rec.code())
		s.line(r, rec, note, took, p)
		s.logCall(r, note, rec.code())
		if p != nil && (p.abort || rec.cut) {
			// A part of the answer was sent, and must not look like the whole.
			panic(http.ErrAbortHandler)
		}
	})
}

// panicked is the error of a handler that panicked.
type panicked struct {
	value any
	stack []byte
	abort bool // it meant to: http.ErrAbortHandler
}

// guarded runs next and catches its panic.
func guarded(w http.ResponseWriter, r *http.Request, next http.Handler) (p *panicked) {
	defer func() {
		if v := recover(); v != nil {
			p = &panicked{value: v, stack: debug.Stack(), abort: v == any(http.ErrAbortHandler)}
		}
	}()
	next.ServeHTTP(w, r)
	return nil
}

// apologize answers a panic as an internal error, if nothing was answered yet. It drops the
// handler's headers.
func apologize(rec *recorder, r *http.Request, err error) {
	if rec.Written() {
		rec.cut = true
		return
	}
	h := rec.Header()
	for name := range h {
		if name != "X-Request-Id" && name != "Connection" {
			h.Del(name)
		}
	}
	wire.Fail(rec, r, err)
}

// Maximum length of a path in the request line, and of each part of a path without a route.
const (
	longest     = 512
	longestPart = 20
)

// shownPath returns the path for the request line. Only a route knows whether its path contains a
// secret. A path without a route may be a copied link with a full stop after it, so anything as
// long as a secret is left out.
func shownPath(path string, note *wire.RequestLog) string {
	switch {
	case note.Secret:
		path = note.Route
	case note.Route == "":
		parts := strings.Split(path, "/")
		for i, part := range parts {
			if len(part) > longestPart {
				parts[i] = "…"
			}
		}
		path = strings.Join(parts, "/")
	}
	if len(path) > longest {
		path = path[:longest] + "…"
	}
	return path
}

// line writes the log line of a request. It shows the path and never the query, which may have
// codes, tokens and client secrets.
func (s *Server) line(r *http.Request, rec *recorder, note *wire.RequestLog, took time.Duration, p *panicked) {
	level := slog.LevelInfo
	switch {
	case isHealth(r.URL.Path) && note.Err == nil:
		level = slog.LevelDebug
	case rec.code() >= http.StatusInternalServerError && fault.Of(note.Err) == nil || p != nil && !p.abort:
		level = slog.LevelError
	}
	ctx := r.Context()
	if !s.Log.Enabled(ctx, level) {
		return
	}
	path := shownPath(r.URL.Path, note)
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("method", r.Method), slog.String("route", note.Route), slog.String("path", path),
		slog.Int("status", rec.code()), slog.Int64("bytes", rec.bytes),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("request_id", note.ID), slog.String("client", note.Client))
	if note.Who != "" {
		attrs = append(attrs, slog.String("who", note.Who))
	}
	if note.Gone {
		attrs = append(attrs, slog.Bool("client_gone", true))
	}
	switch f := fault.Of(note.Err); {
	case f != nil:
		attrs = append(attrs, slog.Any("fault", fault.Logged{Error: f}))
	case note.Err != nil:
		attrs = append(attrs, slog.String("err", note.Err.Error()))
	}
	if p != nil && !p.abort {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	s.Log.LogAttrs(ctx, level, "request", attrs...)
}

// requestID returns the id from a proxy or client if it is short and plain, or else a new one.
func requestID(r *http.Request) string {
	const most = 64
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > most {
		return wire.NewRequestID()
	}
	for i := range len(id) {
		c := id[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' ||
			c == '.'
		if !plain {
			return wire.NewRequestID()
		}
	}
	return id
}

// recorder records the answer, and cuts off clients that do not read it.
type recorder struct {
	http.ResponseWriter
	progress time.Duration
	status   int
	bytes    int64
	cut      bool // the answer broke off
}

// WriteHeader records the first final status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// piece is the part of a long answer that a client must read within a timeout.
const piece = 64 << 10

// Write counts. It writes a long answer in pieces, each with a timeout. A client that reads
// steadily may take as long as it needs; one that does not must not keep the answer in memory.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	written := 0
	for {
		next := b[written:min(written+piece, len(b))]
		if len(b) > piece {
			// A writer without deadlines, as in tests, has no slow client.
			_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.progress))
		}
		n, err := r.ResponseWriter.Write(next)
		r.bytes += int64(n)
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// Written reports whether the answer has begun; wire.Fail calls it.
func (r *recorder) Written() bool { return r.status != 0 }

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// code returns the answered status; a handler that writes nothing answers 200.
func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
