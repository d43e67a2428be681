package dispatch

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"claviger/internal/webhook"
)

// begin starts the span of an attempt and adds it to the headers, which are recorded. Without a
// tracer it does nothing.
func (d *Dispatcher) begin(
	ctx context.Context, it *webhook.Item, header map[string][]string,
) (context.Context, trace.Span) {
	if d.Tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx, span := d.Tracer.Start(
		ctx, "webhook", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.Int64("claviger.event_id", it.EventID), attribute.Int64("claviger.partner_id", it.PartnerID),
			attribute.Int("claviger.attempt", it.Attempts+1),
		),
	)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	return ctx, span
}

// end adds the result of the attempt to the span; nil: it was cut off.
func end(span trace.Span, a *answer) {
	if !span.IsRecording() {
		return
	}
	if a != nil {
		span.SetAttributes(
			attribute.Int("http.response.status_code", a.Status),
			attribute.String("claviger.outcome", word(&a.Attempt)),
		)
		if !a.OK {
			span.SetStatus(codes.Error, a.Cause())
		}
		a.span = span.SpanContext()
	}
	span.End()
}
