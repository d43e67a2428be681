package webhook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"claviger/internal/courier"
)

const (
	maxAnswer = courier.MaxBody // of an answer that is recorded
	maxHeader = 16 << 10        // of what was sent
	maxURL    = 4 << 10
	gone      = 410 // the endpoint asks to be left alone
)

// result is what came of one attempt.
type result struct {
	*Item
	lane   *lane
	to     destination // as it was known when it was sent
	at     time.Time   // when the request was made
	took   time.Duration
	header string // as sent
	url    string
	outcome
	next nextAttempt
	recording
}

// outcome is how an endpoint answered.
type outcome struct {
	status    int // 0: no HTTP answer
	answer    string
	broke     string // why there was no whole answer; "": there was
	diagnosis string // the likely mistake, when it failed
	ok        bool
	gone      bool // 410
	refused   bool // the endpoint answered that it does not want this event; see refuses
}

// nextAttempt is when a failed delivery is tried again.
type nextAttempt struct {
	wait      time.Duration
	due       time.Time
	notBefore time.Time // the endpoint asked to wait until then
}

// recording is how far the record of an attempt has come.
type recording struct {
	finished bool // delivered, or no attempt is left
	logged   bool // the attempt is on record, and what it changes is not
	dropped  int  // how much of it the database would not take; see dropDetails
}

// send posts one delivery and says what came of it, or nil when it was cut off or may not
// be sent by this node any more: that is no attempt.
func (d *Dispatcher) send(ctx context.Context, it *Item, to destination, l *lane) *result {
	at, body := d.Now(), []byte(it.body)
	signer := courier.Signer{Brand: to.Brand, UserAgent: d.UserAgent}
	header := signer.Headers(it.eventID, it.attempts+1, at, to.Secrets, body)
	r := &result{Item: it, lane: l, to: to, at: at, header: courier.Clean(courier.HeaderText(header), maxHeader), url: courier.Clean(to.URL, maxURL)}
	answer, err := d.Client.Send(ctx, courier.Request{
		Method: "POST", URL: to.URL, Header: header, Body: body, Owner: it.partnerID, Repeatable: true,
		Allowed: func() bool { return d.Node.Valid(l.claim) },
	})
	r.took = answer.Took
	var after time.Duration
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, courier.ErrNotAllowed)):
		return nil
	case err != nil: // maybe after a status
		r.status, r.answer = answer.Status, courier.Clean(courier.Explain(err), maxAnswer)
		r.broke = r.answer
	default:
		r.status, r.answer = answer.Status, courier.Clean(answer.Body, maxAnswer)
		r.ok, _ = courier.Delivered(answer.Status, answer.Body, to.Strict)
		r.gone = answer.Status == gone
		r.refused = !r.ok && refuses(answer.Status, answer.Body)
		after = courier.RetryAfter(answer.Header, at)
	}
	if r.ok {
		r.finished = true
		return r
	}
	r.diagnosis = signer.Diagnose(answer, err, to.Secrets, to.Strict)
	wait, again := d.Policy.Schedule.next(it.attempts+1, after, d.Random())
	now := d.Now()
	r.next, r.finished = nextAttempt{wait: wait, due: now.Add(wait)}, !again
	if after > 0 {
		r.next.notBefore = now.Add(after)
	}
	return r
}

// logAttempt writes the line of an attempt that is on record, and counts it.
func (d *Dispatcher) logAttempt(ctx context.Context, r *result) {
	outcome := r.word()
	d.Metrics.attempt(outcome, r.took)
	if d.Log.Enabled(ctx, slog.LevelInfo) {
		attrs := make([]slog.Attr, 0, 12)
		attrs = append(attrs,
			slog.Int64("event_id", r.eventID), slog.Int64("partner_id", r.partnerID), slog.String("license_key", r.licenseKey),
			slog.Int("attempt", r.attempts+1), slog.Int("of", len(d.Policy.Schedule)+1), slog.String("outcome", outcome),
			slog.Int("status", r.status), slog.Float64("duration_ms", float64(r.took.Microseconds())/1000))
		if r.probe {
			attrs = append(attrs, slog.Bool("probe", true))
		}
		if !r.ok {
			attrs = append(attrs, slog.String("cause", r.cause()))
		}
		if !r.finished {
			attrs = append(attrs, slog.Duration("next_in", r.next.wait), slog.Time("next_at", r.next.due))
		}
		d.Log.LogAttrs(ctx, slog.LevelInfo, "webhook attempt", attrs...)
	}
}

// word is the attempt in one word, for the line and the metrics.
func (r *result) word() string {
	switch {
	case r.ok:
		return "delivered"
	case r.finished:
		return "exhausted"
	case r.status == 0:
		return "unreachable"
	case r.broke == "" && r.status >= 200 && r.status < 300:
		return "refused" // success: false, or not what a strict partner must say
	default:
		return "failed"
	}
}

// cause says in words what a failed attempt met; it quotes nothing of an answer.
func (r *result) cause() string {
	_, why := courier.Delivered(r.status, "", false)
	switch {
	case r.broke != "":
		return r.broke
	case why == "":
		return "it answered with a 2xx that does not say success"
	}
	return why
}
