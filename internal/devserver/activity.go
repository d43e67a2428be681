package devserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxLines is the number of lines on the control page.
const maxLines = 60

// line is an event in a few words.
type line struct {
	At    time.Time
	Level slog.Level
	Text  string // such as "webhook activate → 200 in 3 ms"
	About string // such as "license …c550"
}

// Failed reports whether the line needs attention.
func (l line) Failed() bool { return l.Level >= slog.LevelWarn }

// String returns the line without its time.
func (l line) String() string {
	text := l.Text
	if l.Failed() {
		text = l.Level.String() + " " + text
	}
	if l.About != "" {
		text += "   " + l.About
	}
	return text
}

// printed returns the line for a terminal.
func (l line) printed(color bool) string {
	at := l.At.Local().Format(time.TimeOnly)
	text := l.String()
	if color {
		at = "\x1b[90m" + at + "\x1b[0m"
		switch {
		case l.Level >= slog.LevelError:
			text = "\x1b[31m" + text + "\x1b[0m"
		case l.Failed():
			text = "\x1b[33m" + text + "\x1b[0m"
		}
	}
	return at + "  " + text + "\n"
}

// activity stores the newest lines and prints them.
type activity struct {
	out   io.Writer // nil: they are not printed
	color bool
	level slog.Level

	mu     sync.Mutex
	newest []line // newest first
	mails  func(id int64) (to, subject string)
}

func (a *activity) add(l line) {
	if l.Level < a.level {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest = slices.Insert(a.newest, 0, l)
	a.newest = a.newest[:min(len(a.newest), maxLines)]
	if a.out != nil {
		_, _ = io.WriteString(a.out, l.printed(a.color)) // a closed terminal ends the program by a signal
	}
}

// lines returns the newest lines, newest first.
func (a *activity) lines() []line {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.newest)
}

// knowMails sets the lookup for sent emails.
func (a *activity) knowMails(mails func(id int64) (to, subject string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mails = mails
}

// handler makes short lines from the log of the service.
type handler struct {
	*activity
	next  slog.Handler // gets the whole records; nil: none
	attrs []slog.Attr
}

// Enabled is called before it is known whether a line reports a failure.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.next != nil && h.next.Enabled(ctx, level)
}

// Handle adds the line of a record, if it is worth one.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if l, ok := h.lineOf(&r); ok {
		h.add(l)
	}
	if h.next != nil && h.next.Enabled(ctx, r.Level) {
		return h.next.Handle(ctx, r)
	}
	return nil
}

// WithAttrs adds attributes to every record.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := &handler{activity: h.activity, next: h.next, attrs: slices.Concat(h.attrs, attrs)}
	if h.next != nil {
		with.next = h.next.WithAttrs(attrs)
	}
	return with
}

// WithGroup affects the next handler; short lines have no groups.
func (h *handler) WithGroup(name string) slog.Handler {
	with := *h
	if h.next != nil {
		with.next = h.next.WithGroup(name)
	}
	return &with
}

// facts are the attributes of a record by their names.
type facts map[string]slog.Value

func (f facts) text(name string) string {
	if v, ok := f[name]; ok {
		return v.String()
	}
	return ""
}

func (f facts) number(name string) int64 {
	if v := f[name]; v.Kind() == slog.KindInt64 {
		return v.Int64()
	}
	return 0
}

// took returns a duration in whole milliseconds, unless it was less than one.
func (f facts) took() string {
	ms := 0.0
	if v := f["duration_ms"]; v.Kind() == slog.KindFloat64 {
		ms = v.Float64()
	}
	if ms < 1 {
		return fmt.Sprintf("in %.1f ms", ms)
	}
	return fmt.Sprintf("in %.0f ms", ms)
}

// lineOf summarizes a record, and reports whether it is worth a line.
func (h *handler) lineOf(r *slog.Record) (line, bool) {
	f := facts{}
	for _, a := range h.attrs {
		f[a.Key] = a.Value
	}
	r.Attrs(func(a slog.Attr) bool {
		f[a.Key] = a.Value
		return true
	})
	l := line{At: r.Time, Level: r.Level}
	switch r.Message {
	case "request":
		return requestLine(l, f)
	case "webhook attempt":
		return webhookLine(l, f), true
	case "mail sent":
		l.Text, l.About = h.mailWords(f.number("mail"))
		return l, true
	case paymentWebhook:
		l.Text = "payment " + f.text("type") + " → " + f.text("result")
		return l, true
	case "serving", "stopped", "brought the database's schema up to date":
		return l, false // the card shows it, and a fresh start migrates everything
	}
	l.Text, l.About = r.Message, f.text("err")
	return l, r.Level >= slog.LevelInfo
}

// mailWords describes a sent email; its subject is known if it was caught here.
func (h *handler) mailWords(id int64) (text, about string) {
	h.mu.Lock()
	mails := h.mails
	h.mu.Unlock()
	if mails != nil {
		if to, subject := mails(id); subject != "" {
			return fmt.Sprintf("mail %q to %s", subject, to), fmt.Sprintf("%s/%d", mailPath, id)
		}
	}
	return fmt.Sprintf("mail %d sent", id), ""
}

// webhookLine describes an attempt to deliver a webhook.
func webhookLine(l line, f facts) line {
	answer := "no answer"
	if status := f.number("status"); status != 0 {
		answer = fmt.Sprint(status)
	}
	l.Text = strings.TrimSpace("webhook "+f.text("event")) + " → " + answer + " " + f.took()
	l.About = aboutLicense(f.text("license_key"))
	if f.text("outcome") == "delivered" {
		if n := f.number("attempt"); n > 1 {
			l.About += fmt.Sprintf("   attempt %d", n)
		}
		return l
	}
	l.Level = max(l.Level, slog.LevelWarn)
	l.About += fmt.Sprintf("   %s   attempt %d of %d", f.text("cause"), f.number("attempt"), f.number("of"))
	if next, ok := f["next_in"]; ok {
		l.About += ", next in " + next.Duration().Round(time.Second).String()
	} else {
		l.About += ", given up"
	}
	return l
}

// aboutLicense names a license by the end of its key.
func aboutLicense(key string) string {
	if len(key) < 4 {
		return ""
	}
	return "license …" + key[len(key)-4:]
}
