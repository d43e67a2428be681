package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// otlpEndpoint parses the receiver of traces. Without a path it uses the default path of
// collectors.
func otlpEndpoint(c *Config, v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New(
			"must be the URL of an OTLP collector over HTTP, such as http://127.0.0.1:4318; credentials go into " +
				"OTEL_EXPORTER_OTLP_HEADERS",
		)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	c.OTLPEndpoint = u.String()
	return nil
}

// startTracing creates the trace exporter, or nothing if tracing is off. The sampling and the
// headers follow OpenTelemetry's variables, such as OTEL_TRACES_SAMPLER.
func (a *App) startTracing(ctx context.Context) error {
	if a.cfg.OTLPEndpoint == "" {
		return nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(a.cfg.OTLPEndpoint))
	if err != nil {
		return fmt.Errorf("make the exporter of traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		a.log.Warn("traces could not be sent and are lost; is the collector there? (otlp-endpoint)", "err", err)
	}))
	a.tracing = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "claviger"), attribute.String("service.version", ThisBuild().Version))))
	return nil
}

// tracer returns the tracer, or nil without tracing.
func (a *App) tracer() trace.Tracer {
	if a.tracing == nil {
		return nil
	}
	return a.tracing.Tracer("claviger")
}

// endTracing sends the remaining traces.
func (a *App) endTracing(ctx context.Context) error {
	if a.tracing == nil {
		return nil
	}
	if err := a.tracing.Shutdown(ctx); err != nil {
		a.log.Warn("the last traces could not be sent", "err", err) // not a reason to fail
	}
	return nil
}

// traceHandler adds the trace of its context to a log line.
type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		r.AddAttrs(slog.String("trace_id", s.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
