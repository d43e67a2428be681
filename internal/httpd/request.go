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

// observe gives each request its id, its RequestLog and its deadline, and at its end
// counts it and writes its log line.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		s.warnUndeclared(r)
		ctx, note := wire.Begin(r.Context(), requestID(r), s.Proxies.Client(r))
		ctx, cancel := wire.Bound(ctx, s.times.Request)
		defer cancel()
		rec := &recorder{ResponseWriter: w, progress: s.times.Progress}
		rec.Header().Set("X-Request-Id", note.ID)
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
		if s.Finished != nil {
			s.Finished(r, note, rec.code())
		}
		if p != nil && (p.abort || rec.cut) {
			// Part of the answer was sent, and must not look like the whole.
			panic(http.ErrAbortHandler)
		}
	})
}

// panicked is what is left of a handler that panicked.
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

// apologize answers a panic as the internal error it is, when nothing was
// answered yet. What the handler had put into the header is dropped.
func apologize(rec *recorder, r *http.Request, err error) {
	if rec.Written() {
		rec.cut = true
		return
	}
	h := rec.Header()
	for name := range h {
		if name != "X-Request-Id" {
			h.Del(name)
		}
	}
	wire.Fail(rec, r, err)
}

// How much of a path the request line shows, and of each part of one that no route
// has.
const (
	longest     = 512
	longestPart = 20
)

// shownPath is the path as the request line shows it. Only a route can say whether
// its path tells a secret. A path without a route may be a link that was copied with
// a full stop behind it, so what is as long as a secret is left out.
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

// line writes the one line of a request. It shows the path and never the query:
// codes, tokens and client secrets travel there.
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

// requestID takes the id that a proxy or client gave, when it is short and
// plain, and makes one otherwise.
func requestID(r *http.Request) string {
	const most = 64
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > most {
		return wire.NewRequestID()
	}
	for i := range len(id) {
		c := id[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
		if !plain {
			return wire.NewRequestID()
		}
	}
	return id
}

// recorder remembers what was answered, and cuts off clients that do not read it.
type recorder struct {
	http.ResponseWriter
	progress time.Duration
	status   int
	bytes    int64
	cut      bool // the answer broke off
}

// WriteHeader remembers the first final status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// piece is how much of a long answer has to be taken at a time.
const piece = 64 << 10

// Write counts. A long answer is written in pieces, each of which the client has to
// take in time: one that reads steadily may take as long as it needs, one that does
// not must not make the answer stay in memory.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	written := 0
	for {
		next := b[written:min(written+piece, len(b))]
		if len(b) > piece {
			// A writer without deadlines, as in tests, has no client that is slow.
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

// Written reports whether the answer has begun; wire.Fail asks it.
func (r *recorder) Written() bool { return r.status != 0 }

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// code is the status answered; a handler that writes nothing answers 200.
func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
