package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/webhook"
)

// The maximum bytes recorded of a request.
const (
	maxHeader = 16 << 10
	maxURL    = 4 << 10
)

// send posts one delivery and returns the result. It returns nil if the request was cut off or the
// node may no longer send it: that is not an attempt.
func (d *Dispatcher) send(ctx context.Context, it *webhook.Item, to *webhook.Destination, l *lane) (a *answer) {
	at := d.Store.Now()
	body := []byte(it.Body)
	signer := courier.Signer{Brand: to.Brand, UserAgent: d.UserAgent}
	header := signer.Headers(it.EventID, it.Attempts+1, d.signedAt(at), to.Secrets, body)
	ctx, span := d.begin(ctx, it, header)
	defer func() { end(span, a) }()
	a = &answer{lane: l, Attempt: webhook.Attempt{
		Item: it, Claim: l.claim, To: to, At: at, Header: courier.Clean(courier.HeaderText(header), maxHeader),
		URL: courier.Clean(to.URL, maxURL),
	}}
	response, err := d.Client.Send(ctx, courier.Request{
		Method: "POST", URL: to.URL, Header: header, Body: body, Owner: it.PartnerID, Repeatable: true,
		Allowed: func() bool { return d.Store.Node.Valid(l.claim) },
	})
	a.Took = response.Took
	a.Status = response.Status
	a.Timing = response.Timing
	a.CertificateUntil = response.CertificateUntil
	var after time.Duration
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, courier.ErrNotAllowed)):
		return nil
	case err != nil: // possibly after a status
		text, _ := diagnose.Explain(err)
		a.Answer = courier.Clean(text, courier.MaxBody)
		a.Broke = a.Answer
	default:
		a.Answer = courier.Clean(response.Body, courier.MaxBody)
		a.OK, _ = courier.Delivered(response.Status, response.Body, to.Strict)
		a.Refused = !a.OK && webhook.Refuses(response.Status, response.Body)
		after = courier.RetryAfter(response.Header, at)
	}
	if a.OK {
		a.Finished = true
		return a
	}
	a.Diagnosis = diagnose.Attempt(signer, response, err, to.Secrets, to.Strict)
	a.Next, a.Finished = d.next(it, after)
	return a
}

// signedAt returns the time for the signature of a webhook sent at at.
func (d *Dispatcher) signedAt(at time.Time) time.Time {
	if d.SignNow != nil {
		return d.SignNow()
	}
	return at
}

// next returns the time of the next attempt of a failed delivery, and whether none is left. An
// early attempt does not change the schedule.
func (d *Dispatcher) next(it *webhook.Item, after time.Duration) (n webhook.NextAttempt, last bool) {
	now := d.Store.Now()
	if it.Early {
		n.Wait = max(it.DueAt.Sub(now), after, 0)
	} else {
		wait, again := d.Store.Policy.Schedule.Next(it.Attempts-it.Uncounted+1, after, d.Random())
		n.Wait = wait
		last = !again
	}
	n.Due = now.Add(n.Wait)
	if after > 0 {
		n.NotBefore = now.Add(after)
	}
	return n, last
}

// logAttempt logs and counts a recorded attempt.
func (d *Dispatcher) logAttempt(ctx context.Context, a *webhook.Attempt) {
	outcome := word(a)
	d.Metrics.attempt(outcome, a.Took)
	if d.Log.Enabled(ctx, slog.LevelInfo) {
		attrs := append(make([]slog.Attr, 0, 13),
			slog.Int64("event_id", a.EventID), slog.String("event", member(a.Body, "event")),
			slog.Int64("partner_id", a.PartnerID), slog.String("license_key", member(a.Body, "license_key")),
			slog.Int("attempt", a.Attempts+1), slog.Int("of", len(d.Store.Policy.Schedule)+1+a.Uncounted),
			slog.String("outcome", outcome), slog.Int("status", a.Status),
			slog.Float64("duration_ms", float64(a.Took.Microseconds())/1000),
		)
		if a.Early {
			attrs = append(attrs, slog.Bool("early", true))
		}
		if a.Probe {
			attrs = append(attrs, slog.Bool("probe", true))
		}
		if !a.OK {
			attrs = append(attrs, slog.String("cause", a.Cause()))
		}
		if !a.Finished {
			attrs = append(attrs, slog.Duration("next_in", a.Next.Wait), slog.Time("next_at", a.Next.Due))
		}
		d.Log.LogAttrs(ctx, slog.LevelInfo, "webhook attempt", attrs...)
	}
}

// member returns a string member of a body. The service wrote the body, and event names and keys
// contain no escapes.
func member(body, name string) string {
	_, rest, _ := strings.Cut(body, `"`+name+`":"`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// logSuperseded logs and counts a superseded event.
func (d *Dispatcher) logSuperseded(eventID, partnerID int64) {
	d.Log.Info("webhook superseded by a newer event of its license", "event_id", eventID, "partner_id", partnerID)
	d.Metrics.supersede()
}

// word returns the result of an attempt as one word, for the log and the metrics.
func word(a *webhook.Attempt) string {
	switch {
	case a.OK:
		return "delivered"
	case a.Finished:
		return "exhausted"
	case a.Status == 0:
		return "unreachable"
	case a.Broke == "" && a.Status >= 200 && a.Status < 300:
		return "refused" // success: false, or not the answer required of a strict partner
	default:
		return "failed"
	}
}
