package httpd

import (
	"cmp"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"claviger/internal/wire"
)

// traced begins a span for each request, as part of the client's trace if it has one.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := s.Tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// describe records the outcome of a request in its span. Paths may contain secrets, so it names
// only the route.
func describe(r *http.Request, note *wire.RequestLog, status int) {
	span := trace.SpanFromContext(r.Context())
	if !span.IsRecording() {
		return
	}
	route := cmp.Or(note.Route, "none")
	span.SetName(r.Method + " " + route)
	span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route),
		attribute.Int("http.response.status_code", status), attribute.String("claviger.request_id", note.ID))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}
